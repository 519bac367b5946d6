"""Find phrases that make a reader stop, in all files that git tracks.

The phrases come from three habits: a clause without a noun ("that which it has"), an object before
its verb ("So begins a page"), and the passive "told". A finding is `file:line: phrase: text`.
A line that needs such a phrase has a comment `prose: REASON`.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PHRASES = {
    "of late": "lately",
    "but for": "except",
    r"(?<!\) )(is|are|was|were|be|been|being) told": "the reply says; the caller learns",
    r"tells? of": "name; report",
    "that which|that of which|of which there": "a noun",
    "of what|from what|with what|by what": "a noun",
    "shall": "must; will",
    "nor (is|are|does|do|has|have)": "and ... not",
    r"So (begins?|ends?|long|many|much|is|are|it is|does|do|has|have|far)": "subject first",
    "[Nn]othing but": "only",
    "and be it": "even",
    "also where": "even if",
    r"(Had|, had) (it|they|one)": "if",
    r'^\s*r?"""(As|Of|So|Such|That|Those|Why)': "a noun first",
}
"""Regular expressions of the phrases, each with a plainer wording."""
FILES = ("*.py", "*.el", "*.org", "*.md", "*.toml", "*.yml", "Makefile", ".ci/*", "dev/*")
"""Patterns of the files to read, for `git ls-files`."""
_PHRASE = re.compile("|".join(rf"(?:(?<!\w){phrase}(?!\w))" for phrase in PHRASES))


def findings(path: Path) -> Iterator[str]:
    """Yield a line for each phrase in the file `path`."""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        found = _PHRASE.search(line)
        if found and "prose:" not in line:
            yield f"{path}:{number}: {found[0].strip()}: {line.strip()[:120]}"


def main() -> int:
    """Print the findings; return the exit status."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", *FILES]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")  # noqa: S603
    files = [ROOT / name for name in listed if name and "fixtures" not in name]
    found = [line for file in files if "lint_prose" not in file.name for line in findings(file)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

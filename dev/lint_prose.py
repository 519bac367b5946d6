"""Find phrases that make a reader stop, in docstrings, comments and messages.

    python3 dev/lint_prose.py [PATH ...]

They come from three habits: a clause without a noun ("what it has"), an object before its verb
("So begins a page"), and the passive "told". Each line of output is `file:line: phrase: text`. A
line that needs such a phrase has a comment `prose: REASON`. `FIXED` has the texts of contracts.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

PHRASES = {
    "of late": "lately",
    "but for": "except",
    r"(is|are|was|were|be|been|being) told": "the reply says; the caller learns",
    r"tells? of": "name; report",
    "that which|that of which|of which there": "a noun",
    "of what|from what|with what|by what": "a noun",
    "in words": "in a sentence",
    "shall": "must; will",
    "nor (is|are|does|do|has|have)": "and ... not",
    r"So (begins?|ends?|long|many|much|is|are|it is|does|do|has|have|far)": "subject first",
    "[Nn]othing but": "only",
    "and be it": "even",
    "also where": "even if",
    r"(Had|, had) (it|they|one)": "if",
}
"""Regular expressions of the phrases, each with a plainer wording."""

WHAT = r"(?<![`'])\b[Ww]hat\b(?![`'])(?![^.!]*\?)"
"""A "what" that asks nothing and is no name. It is allowed in messages: "say what to do"."""
CLAUSE = r'^r?"""(As|Of|So|Such|That|Those|Why) '
"""A docstring that begins as a clause, such as "Why the file is skipped." It lacks a noun."""

FIXED = ("Returns current git branch",)
"""Beginnings of texts that a contract prescribes word for word."""

STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
"""Types of tokens with text. Python 3.12 and newer split an f-string into several tokens."""

FILES = ("*.py", "*.el", "*.org", "*.md", "*.toml", "*.yml", "Makefile", ".ci/*", "dev/*")
"""Patterns of the files to read, for `git ls-files`."""
QUOTING = ("lint_prose.py", "test_lint_prose.py")
"""Files that quote the phrases."""

_PHRASE = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in PHRASES))
_PROSE = re.compile(f"{WHAT}|{CLAUSE}")


def python_texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the number, the text and `is_prose` of each line of docstrings, comments and strings.

    `is_prose` is False for strings, which may be messages.
    """
    docstrings = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                docstrings.add(statement.value.lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, True
        elif token.type in STRINGS:
            is_prose = token.start[0] in docstrings
            for number, line in enumerate(token.string.split("\n"), token.start[0]):
                yield number, line, is_prose


def lisp_texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the number, the text and `is_prose` of each line with a comment or a string."""
    in_string = False
    for number, line in enumerate(source.split("\n"), 1):
        starts_inside, quotes = in_string, len(re.findall(r'(?<!\\)"', line.replace(r"\\", "")))
        is_comment = not in_string and line.lstrip().startswith(";")
        if not is_comment and quotes % 2:
            in_string = not in_string
        if is_comment or starts_inside or quotes:
            yield number, line, is_comment or starts_inside
        elif ";" in line:
            yield number, line[line.index(";") :], True


def findings(path: Path) -> Iterator[str]:
    """Yield a line for each phrase in the file `path`."""
    source = path.read_text(encoding="utf-8")
    lines = source.split("\n")
    if path.suffix == ".py":
        texts: Iterable[tuple[int, str, bool]] = python_texts(source)
    elif path.suffix == ".el":
        texts = lisp_texts(source)
    else:
        texts = ((number, line, False) for number, line in enumerate(lines, 1))
    for number, text, is_prose in texts:
        if "prose:" in lines[number - 1] or any(fixed in text for fixed in FIXED):
            continue
        found = _PHRASE.search(text) or (is_prose and _PROSE.search(text))
        if found:
            yield f"{path}:{number}: {found[0]}: {text.strip()[:120]}"


def main(paths: list[str]) -> int:
    """Print the findings in `paths` (default: all that git tracks); return the exit status."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", *FILES]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")  # noqa: S603
    files = [ROOT / name for name in listed if name and "fixtures" not in name]
    if paths:
        wanted = [Path(path).resolve() for path in paths]
        files = [file for file in files if any(file.is_relative_to(path) for path in wanted)]
    found = [line for file in files if file.name not in QUOTING for line in findings(file)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"prose: {len(found)} found" if found else "prose: nothing found", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

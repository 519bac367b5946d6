"""How well the right file is found: the mean reciprocal rank (MRR), by kind of query.

    python -m dev.bench.find [--commits 200] [--only backstaff] [--save FILE] [CLONE ...]

Each CLONE is a git work tree; the default is this repository. The project is searched as it stood
before its latest commits. The files that these touch are the right files, and no engine can know
them yet. For each such file, queries are made as agents and people type them: from its name
(`queries`), from a symbol that it defines, and from the subject of the commit. The random numbers
are seeded, so the same history gives the same queries.

The rank is that of the file in the answer. For words of a subject it is that of the first file of
the commit. 1 / rank is 0 beyond `MOST`. Peers are fzf, and Emacs's `project-find-file` with the
default completion styles, if they are installed. Both get the same list of files.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backstaff.registry import discover
from backstaff.server import Server
from backstaff.settings import Settings
from dev.bench.history import Commit, clone_before, commits, files, git

COMMITS = 200
SAMPLED = 100
"""Maximum number of commits for queries, spread evenly."""
MOST_FILES = 5
"""Skip commits of more files: they say little about any of them."""
MOST_TIMES = 3
"""Maximum number of queries for which a file is the right one."""
MOST = 100
HERE = Path(__file__).resolve().parents[2]
LISP = Path(__file__).parent / "emacs" / "bench-find.el"
SHORTEST_STEM = 5
SHORTEST_CUT = 3
"""Minimum number of letters of a word that is cut."""

_NO_SOURCE = re.compile(
    r"\.(lock|sum|svg|png|snap|ya?ml|toml|json)$|(^|/)(\.|changelog|news)", re.IGNORECASE
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_]+")
_TYPE = re.compile(r"\b(?:class|struct|enum|trait|interface|type|protocol|record) +([A-Z]\w{2,})")
_COMMON = frozenset(
    ("with", "from", "this", "that", "when", "into", "merge", "make", "only", "also")
)


@dataclass(frozen=True, slots=True)
class Question:
    """A query of a kind, and the right files."""

    kind: str
    query: str
    meant: frozenset[str]


Engine = Callable[[Path, Sequence[str], Sequence[Question]], Iterator[Sequence[str]]]
"""Returns the answers to questions about the files of a project, the best `MOST` paths each."""


def main() -> None:
    """Print a table for the clones that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="*", type=Path, default=[HERE], metavar="CLONE")
    parser.add_argument("--commits", type=int, default=COMMITS)
    parser.add_argument("--only", nargs="*", default=None, metavar="ENGINE")
    parser.add_argument("--save", type=Path, help="write all ranks to this file", metavar="FILE")
    asked = parser.parse_args()
    ranks: dict[str, dict[str, list[float]]] = {}
    rows: list[tuple[str, Question, dict[str, float]]] = []
    for clone in asked.clones:
        rows += _measured(clone.resolve(), asked.commits, asked.only)
    for _, question, shares in rows:
        for engine, share in shares.items():
            ranks.setdefault(question.kind, defaultdict(list))[engine].append(share)
            ranks.setdefault("all", defaultdict(list))[engine].append(share)
    if asked.save:
        told = [(name, one.kind, one.query, min(one.meant), got) for name, one, got in rows]
        asked.save.write_text(json.dumps(told, indent=0))
    print("\n".join(table(ranks)))


def table(ranks: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    """Return the mean reciprocal rank of each engine, a row for each kind of query."""
    engines = list(next(iter(ranks.values()), {}))
    lines = ["find the file, MRR".ljust(34) + "".join(f"{engine:>20}" for engine in engines)]
    for kind, found in ranks.items():
        count = len(next(iter(found.values())))
        cells = "".join(f"{sum(found[engine]) / count:>20.3f}" for engine in engines)
        lines.append(f"{kind + ' (' + str(count) + ')':<34}{cells}")
    return lines


def _measured(
    clone: Path, late: int, only: Sequence[str] | None
) -> list[tuple[str, Question, dict[str, float]]]:
    """Return all questions about `clone`: its name, the question, and 1 / rank by engine."""
    history = commits(clone, "--first-parent", "--format=%H")
    late = min(late, len(history) - 1)
    with tempfile.TemporaryDirectory(prefix="backstaff-bench-") as folder:
        before = clone_before(clone, late, Path(folder))
        paths = sorted(files(before))
        latest = commits(clone, "--no-merges", f"HEAD~{late}..HEAD")
        asked = list(questions(before, latest, paths))
        shares: list[dict[str, float]] = [{} for _ in asked]
        for name, (there, engine) in ENGINES.items():
            if there() and (only is None or name in only):
                for got, one, answer in zip(
                    shares, asked, engine(before, paths, asked), strict=True
                ):
                    ranks = [n for n, path in enumerate(answer[:MOST], 1) if path in one.meant]
                    got[name] = 1 / ranks[0] if ranks else 0.0
    return [(clone.name, *pair) for pair in zip(asked, shares, strict=True)]


# ---------------------------------------------------------------------------- questions


def questions(before: Path, latest: Sequence[Commit], paths: Sequence[str]) -> Iterator[Question]:
    """Yield questions about the files in `before` that the `latest` commits touch."""
    there, times = set(paths), defaultdict[str, int](int)
    sources = [
        (commit.subject, meant)
        for commit in latest
        if 0 < len(commit.files) <= MOST_FILES
        and (
            meant := [
                path for path in commit.files if path in there and not _NO_SOURCE.search(path)
            ]
        )
    ]
    for subject, meant in sources[:: max(1, len(sources) // SAMPLED)][:SAMPLED]:
        chance = random.Random(f"{subject} {meant}")  # noqa: S311 - no secret
        path = chance.choice(meant)
        times[path] += 1
        if times[path] > MOST_TIMES:
            continue
        text = git(before, "show", f"HEAD:./{path}") if path.endswith(_TYPED) else ""
        for kind, query in queries(path, text, sorted(there), chance):
            yield Question(kind, query, frozenset((path,)))
        words = list(
            dict.fromkeys(
                word.lower()
                for word in re.findall(r"[A-Za-z][a-z_]{3,}", subject)
                if word.lower() not in _COMMON
            )
        )
        for kind, count in (
            ("one subject word", 1),
            ("two subject words", 2),
            ("four subject words", 4),
        ):
            if len(words) >= count:
                chosen = sorted(chance.sample(words, count), key=words.index)
                yield Question(kind, " ".join(chosen), frozenset(meant))


_TYPED = (
    ".py",
    ".rs",
    ".go",
    ".ts",
    ".tsx",
    ".js",
    ".java",
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".rb",
    ".ex",
)


def queries(
    path: str, text: str, paths: Sequence[str], chance: random.Random
) -> Iterator[tuple[str, str]]:
    """Yield queries, with their kinds, for `path`, a file with this `text`, among `paths`."""
    parent, _, name = path.rpartition("/")
    stem = name.lstrip(".").partition(".")[0] or name
    folder = parent.rpartition("/")[2]
    words = [word.lower() for word in _WORDS.findall(stem)]
    letters = "".join(words)
    yield "name", name
    yield "stem", stem.lower()
    if folder:
        yield "folder/name", f"{folder}/{name}"
        others = sorted({one.rpartition("/")[0].rpartition("/")[2] for one in paths} - {"", folder})
        if others:
            yield "wrong folder/name", f"{chance.choice(others)}/{name}"
        yield "glued", folder[:3].lower() + stem[:5].lower()
        start = chance.randrange(max(1, len(letters) - 3))
        yield (
            "two fragments",
            f"{stem.lower()[start:][:5].strip('-_.') or letters} {folder[:4].lower()}",
        )
    if len(words) >= 3:  # noqa: PLR2004 - two letters are no query
        yield "initials", "".join(word[0] for word in words)
    elif len(words) == 2:  # noqa: PLR2004
        yield "initials", words[0][:2] + words[1][:2]
    if len(letters) >= SHORTEST_STEM:
        gone = chance.sample(range(1, len(letters)), 1 + len(letters) // 10)
        yield "letters dropped", "".join(c for n, c in enumerate(letters) if n not in gone)
        yield "misspelt", _misspelt(stem.lower(), chance)
    there = {*words, *(word.lower() for word in _WORDS.findall(folder))}
    akin = [
        symbol
        for symbol in dict.fromkeys(_TYPE.findall(text))
        if (parts := [word.lower() for word in _WORDS.findall(symbol)])
        and 2 * sum(part in there for part in parts) >= len(parts)
    ]
    if akin:
        yield "symbol akin to the name", akin[0]
    yield from _abbreviated(parent, stem, random.Random(path))  # noqa: S311 - no secret


def _abbreviated(parent: str, stem: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield a query of two or three words of a path, at least one of them from its `stem`.

    Each word is cut to its beginning, such as `fast` for `fastcgi`, or loses its vowels, such as
    `hdr` for `header`.
    """
    long = [[w.lower() for w in _WORDS.findall(s) if len(w) > SHORTEST_CUT] for s in (parent, stem)]
    others, named = (list(dict.fromkeys(words)) for words in long)
    if not named or len({*others, *named}) < 2:  # noqa: PLR2004 - one word is no such query
        return
    last = chance.choice(named)
    rest = [word for word in dict.fromkeys((*others, *named)) if word != last]
    chosen = chance.sample(rest, min(len(rest), chance.choice((1, 2))))
    in_order = sorted((*chosen, last), key=[*others, *named].index)
    cut = []
    for word in in_order:
        bare = word[0] + re.sub("[aeiou]", "", word[1:])
        if chance.random() < 0.5 and SHORTEST_CUT <= len(bare) < len(word):  # noqa: PLR2004
            cut.append(bare)
        else:
            cut.append(word[: chance.randrange(SHORTEST_CUT, len(word))])
    yield "abbreviated words", " ".join(cut)


def _misspelt(stem: str, chance: random.Random) -> str:
    """Return `stem` with one edit: a letter missing, added or changed, or two letters swapped."""
    while True:
        at, letter = chance.randrange(1, len(stem) - 1), chance.choice("abcdefghijklmnopqrstuvwxyz")
        edited = chance.choice(
            (
                stem[:at] + stem[at + 1 :],
                stem[:at] + letter + stem[at:],
                stem[:at] + letter + stem[at + 1 :],
                stem[:at] + stem[at + 1] + stem[at] + stem[at + 2 :],
            )
        )
        if edited != stem:
            return edited


# ---------------------------------------------------------------------------- engines


def _backstaff(
    project: Path, _paths: Sequence[str], asked: Sequence[Question]
) -> Iterator[Sequence[str]]:
    server = Server(discover(), Settings(), str(project))
    for one in asked:
        arguments: dict[str, object] = {"query": one.query, "max_results": MOST}
        reply = server.call("workspace/search_files", arguments, {"json": True})
        found = (reply.data or {}).get("files", [])
        yield found if isinstance(found, list) else []


def _fzf(
    _project: Path, paths: Sequence[str], asked: Sequence[Question]
) -> Iterator[Sequence[str]]:
    listed = "\n".join(paths).encode("utf-8", "surrogateescape")
    for one in asked:
        command = ["fzf", "--scheme=path", "--filter", one.query]
        # It ends with an error if nothing matches.
        answer = subprocess.run(command, input=listed, capture_output=True, check=False)  # noqa: S603
        yield answer.stdout.decode("utf-8", "surrogateescape").splitlines()[:MOST]


def _project_find_file(
    project: Path, paths: Sequence[str], asked: Sequence[Question]
) -> Iterator[Sequence[str]]:
    given = project.parent / "find.json"
    given.write_text(json.dumps({"paths": list(paths), "queries": [one.query for one in asked]}))
    command = ["emacs", "-Q", "--batch", "-l", str(LISP), "-f", "bench-find-batch", str(given)]
    answer = subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    yield from json.loads(answer.stdout)


ENGINES: Mapping[str, tuple[Callable[[], bool], Engine]] = {
    "backstaff": (lambda: True, _backstaff),
    "fzf": (lambda: shutil.which("fzf") is not None, _fzf),
    "project-find-file": (lambda: shutil.which("emacs") is not None, _project_find_file),
}

if __name__ == "__main__":
    main()

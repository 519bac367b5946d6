"""The share of a project that an overview shows, compared with other texts of as many tokens.

    python -m dev.bench.overview [--tokens 300 500 1000] [CLONE ...]

Each CLONE is a git work tree; the default is this repository. Every text is about the project as it
stood before its last 30 commits. Two sets of files are looked for. "edited": the 50 files that the
1,000 commits before touched most often; the overview knows them. "next": the files that the last 30
commits touched; no text can know them. For each set the table has the share of files whose
directory is named, and of files that are named themselves. "top" is the share of the top
directories.

The other texts are cut to as many tokens by the same estimate: a tree indented by two blanks, depth
first; the JSON of workspace/tree; and the directories with the most edits, one a line, which is the
upper limit for a text that shows nothing else.
"""

import argparse
import re
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backstaff.registry import discover
from backstaff.render.lines import fitting
from backstaff.render.tokens import tokens as estimated
from backstaff.server import Server
from backstaff.settings import Settings
from dev.bench.history import clone_before, commits, files

MOST_EDITED = 50
COMMITS, NEXT_COMMITS = 1000, 30
HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Shown:
    """The directories ("" for the root) and files that an answer names, and its tokens."""

    directories: frozenset[str]
    files: frozenset[str]
    tokens: float

    def shares(self, wanted: Sequence[str]) -> tuple[float, float]:
        """Return how many `wanted` files have their directory named, and how many are named."""
        if not wanted:
            return 0.0, 0.0
        directories = sum(_parent(path) in self.directories for path in wanted)
        files = sum(path in self.files for path in wanted)
        return directories / len(wanted), files / len(wanted)

    def top(self, there: set[str]) -> float:
        """Return the share of the top directories that is named, of a project with these files."""
        tops = {path.partition("/")[0] for path in there if "/" in path}
        return len(tops & {path.partition("/")[0] for path in self.directories}) / (len(tops) or 1)


Shares = tuple[float, ...]
"""Tokens; shares of the top, of directories and files of "edited", and of those of "next"."""
Form = Callable[[Path, int], Shown]
"""Returns an answer about a project in that many tokens."""


def main() -> None:
    """Print a table for the clones that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="*", type=Path, default=[HERE], metavar="CLONE")
    parser.add_argument("--tokens", nargs="+", type=int, default=[300, 500, 1000, 2000])
    asked = parser.parse_args()
    rows: list[tuple[str, int, str, Shares]] = []
    for clone in asked.clones:
        rows += _measured(clone.resolve(), asked.tokens)
    print(f"{'project':<16}{'tokens':>7}  {'form':<25}{'used':>6}   top  edited: dir file  next")
    for project, tokens, form, shares in rows:
        print(f"{project:<16}{tokens:>7}  {form:<25}{_cells(shares)}")
    for tokens in asked.tokens:
        for form in FORMS:
            found = [shares for _, t, f, shares in rows if (t, f) == (tokens, form)]
            mean = [sum(column) / len(found) for column in zip(*found, strict=True)]
            print(f"{f'mean of {len(found)}':<16}{tokens:>7}  {form:<25}{_cells(mean)}")


def _cells(shares: Sequence[float]) -> str:
    used, *others = shares
    return f"{used:>6.0f}" + "".join(f"{share:>6.2f}" for share in others)


def _measured(clone: Path, sizes: Sequence[int]) -> list[tuple[str, int, str, Shares]]:
    """Return a row for each size and form: the project, the tokens, the form, the shares."""
    late = commits(clone, "--first-parent", "-m", f"-n{NEXT_COMMITS + 1}")[:-1]
    rows: list[tuple[str, int, str, Shares]] = []
    with tempfile.TemporaryDirectory(prefix="backstaff-bench-") as folder:
        before = clone_before(clone, len(late), Path(folder))
        there = files(before)
        touched = Counter(path for one in commits(before, f"-n{COMMITS}") for path in one.files)
        edited = sorted(touched.keys() & there, key=lambda path: (-touched[path], path))
        coming = sorted({path for commit in late for path in commit.files} & there)
        for tokens in sizes:
            for name, form in FORMS.items():
                shown = form(before, tokens)
                shares = (*shown.shares(edited[:MOST_EDITED]), *shown.shares(coming))
                rows.append((clone.name, tokens, name, (shown.tokens, shown.top(there), *shares)))
    return rows


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


# ---------------------------------------------------------------------------- forms


def _call(tool: str, arguments: dict[str, object], root: Path) -> Any:  # noqa: ANN401
    server = Server(discover(), Settings(), str(root))
    reply = server.call(tool, arguments, {"json": True})
    if not reply.ok:
        raise SystemExit(f"{root}: {reply.text}")
    return reply


def _overview(root: Path, tokens: int) -> Shown:
    reply = _call("workspace/project_overview", {"max_tokens": tokens}, root)
    if estimated(reply.text) > tokens:
        raise SystemExit(f"{root}: the overview passes its budget of {tokens} tokens")
    lines = reply.data["map"]
    opened = {_relative(line["path"]) for line in lines}
    collapsed = {one for line in lines for path in line["collapsed"] for one in _upwards(path)}
    files = {
        name if line["path"] == "." else f"{line['path']}/{name}"
        for line in lines
        for name in line["names"]
    }
    # The head also names files. Its words are those of the lines above the map.
    words = set(reply.text.partition("\n./")[0].split())
    heads = {path for key in ("read_first", "build", "start", "edited") for path in reply.data[key]}
    files |= {path for path in heads if path in words}
    directories = opened | collapsed | {_parent(path) for path in heads if path in words}
    return Shown(frozenset(directories), frozenset(files), estimated(reply.text))


def _upwards(path: str) -> Iterator[str]:
    """Yield `path` and the directories above it, which its label names, too."""
    while path:
        yield path
        path = _parent(path)


def _relative(path: str) -> str:
    return "" if path == "." else path


def _tree(root: Path, tokens: int) -> Shown:
    """Return a tree of the tracked files: directories first, indented by two, whole lines."""
    taken, rows = 0.0, []
    for path, is_directory in _depth_first(files(root)):
        name = path.rpartition("/")[2] + ("/" if is_directory else "")
        cost = estimated("  " * path.count("/") + name + "\n")
        if taken + cost > tokens:
            break
        taken += cost
        rows.append((path, is_directory))
    return Shown(
        frozenset({""} | {path for path, is_directory in rows if is_directory}),
        frozenset(path for path, is_directory in rows if not is_directory),
        taken,
    )


def _depth_first(paths: set[str]) -> list[tuple[str, bool]]:
    """Return each directory and file of `paths` in tree order, and True for a directory."""
    directories = {
        "/".join(path.split("/")[:n]) for path in paths for n in range(1, path.count("/") + 1)
    }
    rows = [(path, True) for path in directories] + [(path, False) for path in paths]

    def order(row: tuple[str, bool]) -> list[tuple[bool, str]]:
        *above, last = row[0].split("/")
        return [(False, name) for name in above] + [(not row[1], last)]

    return sorted(rows, key=order)


def _json(root: Path, tokens: int) -> Shown:
    """Return the JSON of workspace/tree, as much as one call gives, cut."""
    asked = {"path": ".", "entry_kind": "all", "max_depth": 12, "max_entries": 1000}
    whole = _call("workspace/tree", asked | {"include_hidden": True}, root).json
    # A longer beginning never has a lower estimate.
    length = bisect_right(
        range(1, len(whole) + 1), float(tokens), key=lambda n: estimated(whole[:n])
    )
    paths = re.findall(r'"path":"((?:[^"\\]|\\.)*)","depth":\d+,"kind":"(\w+)"', whole[:length])
    return Shown(
        frozenset(_relative(path) for path, kind in paths if kind == "directory"),
        frozenset(path for path, kind in paths if kind != "directory"),
        estimated(whole[:length]),
    )


def _hottest(root: Path, tokens: int) -> Shown:
    """Return the directories whose own files the latest commits touched most often, one a line."""
    there = files(root)
    touched = Counter(
        _parent(path)
        for one in commits(root, f"-n{COMMITS}")
        for path in one.files
        if path in there
    )
    ordered = sorted(touched, key=lambda path: (-touched[path], path))
    costs = [estimated(f"{path or '.'}\n") for path in ordered]
    shown = fitting(costs, tokens)
    return Shown(frozenset(ordered[:shown]), frozenset(), sum(costs[:shown]))


FORMS: dict[str, Form] = {
    "project_overview": _overview,
    "two-space tree, cut": _tree,
    "workspace/tree JSON, cut": _json,
    "hottest directories": _hottest,
}

if __name__ == "__main__":
    main()

"""How much of a project an overview shows, beside a plain tree and beside JSON of the same bytes.

    python -m dev.bench.overview [--tokens 300 500 1000] [CLONE ...]

Each CLONE is a work tree of git; without any, this repository is measured. Two sets of files are
looked for. "edited": the 50 files that the whole history touched most often; the overview knows
that history. "next": the files that the last 30 commits touched, looked for in the project as it
stood before them, so that nothing knew them. For each set the share of files is told of which the
directory is named, and of which the file itself is. The others are cut to as many bytes as the
overview may take: a tree indented by two blanks, depth first, and the JSON of workspace/tree.
"""

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backstaff.registry import discover
from backstaff.render.tokens import tokens as estimated
from backstaff.server import Server
from backstaff.settings import Settings
from dev.bench.history import clone_before, commits, files

MOST_EDITED = 50
NEXT_COMMITS = 30
BYTES_A_TOKEN = 2.5
HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Shown:
    """The directories ("" for the root) and files that an answer names."""

    directories: frozenset[str]
    files: frozenset[str]

    def shares(self, wanted: Sequence[str]) -> tuple[float, float]:
        """Of how many WANTED files the directory is named, and of how many the file itself."""
        if not wanted:
            return 0.0, 0.0
        directories = sum(_parent(path) in self.directories for path in wanted)
        files = sum(path in self.files for path in wanted)
        return directories / len(wanted), files / len(wanted)


Shares = list[tuple[float, float]]
"""Shares of directories and of files, for "edited" and for "next"."""
Form = Callable[[Path, int], Shown]
"""What an answer about a project shows in so many tokens."""


def main() -> None:
    """Print a table for the clones that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="*", type=Path, default=[HERE], metavar="CLONE")
    parser.add_argument("--tokens", nargs="+", type=int, default=[300, 500, 1000, 2000])
    asked = parser.parse_args()
    rows: list[tuple[str, int, str, Shares]] = []
    for clone in asked.clones:
        rows += _measured(clone.resolve(), asked.tokens)
    print(
        f"{'project':<16}{'tokens':>7}  {'form':<22}{'edited: dir/file':>18}{'next: dir/file':>18}"
    )
    for project, tokens, form, shares in rows:
        cells = "".join(f"{a:>12.2f} /{b:>4.2f}" for a, b in shares)
        print(f"{project:<16}{tokens:>7}  {form:<22}{cells}")
    for tokens in asked.tokens:
        for form in FORMS:
            found = [shares for _, t, f, shares in rows if (t, f) == (tokens, form)]
            cells = "".join(
                f"{a:>12.2f} /{b:>4.2f}" for a, b in map(_mean, zip(*found, strict=True))
            )
            print(f"{'mean of ' + str(len(found)):<16}{tokens:>7}  {form:<22}{cells}")


def _mean(shares: Iterable[tuple[float, float]]) -> tuple[float, float]:
    firsts, seconds = zip(*shares, strict=True)
    return sum(firsts) / len(firsts), sum(seconds) / len(seconds)


def _measured(clone: Path, sizes: Sequence[int]) -> list[tuple[str, int, str, Shares]]:
    """A row for each size and form: the project, the tokens, the form, its two pairs of shares."""
    late = commits(clone, "--first-parent", "-m", f"-n{NEXT_COMMITS + 1}")[:-1]
    there = files(clone)
    touched = Counter(path for commit in commits(clone) for path in commit.files if path in there)
    edited = sorted(touched, key=lambda path: (-touched[path], path))[:MOST_EDITED]
    with tempfile.TemporaryDirectory(prefix="backstaff-bench-") as folder:
        before = clone_before(clone, len(late), Path(folder))
        known = files(before)
        coming = sorted({path for commit in late for path in commit.files if path in known})
        return [
            (
                clone.name,
                tokens,
                name,
                [form(clone, tokens).shares(edited), form(before, tokens).shares(coming)],
            )
            for tokens in sizes
            for name, form in FORMS.items()
        ]


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
    collapsed = {one["path"] for line in lines for one in line["collapsed"]}
    files = {_joined(line["path"], name) for line in lines for name in line["names"]}
    return Shown(frozenset(opened | collapsed), frozenset(files))


def _relative(path: str) -> str:
    return "" if path == "." else path


def _joined(path: str, name: str) -> str:
    return name if path == "." else f"{path}/{name}"


def _tree(root: Path, tokens: int) -> Shown:
    """A tree of what is tracked, directories first, two blanks a level, cut to whole lines."""
    taken, rows = 0.0, []
    for path, is_directory in _depth_first(files(root)):
        name = path.rpartition("/")[2] + ("/" if is_directory else "")
        taken += estimated("  " * path.count("/") + name + "\n")
        if taken > tokens:
            break
        rows.append((path, is_directory))
    return Shown(
        frozenset({""} | {path for path, is_directory in rows if is_directory}),
        frozenset(path for path, is_directory in rows if not is_directory),
    )


def _depth_first(paths: set[str]) -> list[tuple[str, bool]]:
    """Every directory and file of PATHS with whether it is a directory, in the order of a tree."""
    directories = {
        "/".join(path.split("/")[:n]) for path in paths for n in range(1, path.count("/") + 1)
    }
    rows = [(path, True) for path in directories] + [(path, False) for path in paths]

    def order(row: tuple[str, bool]) -> list[tuple[bool, str]]:
        *above, last = row[0].split("/")
        return [(False, name) for name in above] + [(not row[1], last)]

    return sorted(rows, key=order)


def _json(root: Path, tokens: int) -> Shown:
    """The JSON of workspace/tree, as much as one call gives, cut to so many bytes."""
    asked = {"path": ".", "entry_kind": "all", "max_depth": 12, "max_entries": 1000}
    whole = _call("workspace/tree", asked | {"include_hidden": True}, root).json
    cut = whole.encode()[: int(tokens * BYTES_A_TOKEN)].decode(errors="ignore")
    paths = re.findall(r'"path":"((?:[^"\\]|\\.)*)","depth":\d+,"kind":"(\w+)"', cut)
    return Shown(
        frozenset(_relative(path) for path, kind in paths if kind == "directory"),
        frozenset(path for path, kind in paths if kind != "directory"),
    )


FORMS: dict[str, Form] = {
    "project_overview": _overview,
    "two-space tree, cut": _tree,
    "workspace/tree JSON, cut": _json,
}

if __name__ == "__main__":
    main()

"""The history of a work tree: the files of its commits, and the project before them."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """Return the output of git in `folder`."""
    command = ["git", "-C", str(folder), *words]
    answer = subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own words
    return answer.stdout.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Commit:
    """The subject of a commit, and the files that it touched."""

    subject: str
    files: list[str]


def commits(clone: Path, *options: str) -> list[Commit]:
    """Return the commits of `clone`, the latest first. `options` are those of `git log`."""
    log = git(clone, "log", *options, "--name-only", "--no-renames", "--format=%x01%s", "-z")
    found: list[Commit] = []
    for text in log.split("\1")[1:]:
        subject, *paths = text.split("\0")
        found.append(Commit(subject, [path.strip("\n") for path in paths if path.strip("\n")]))
    return found


def files(clone: Path) -> set[str]:
    """Return the tracked files of `clone`."""
    return set(git(clone, "ls-files", "-z").split("\0")) - {""}


def clone_before(clone: Path, late: int, folder: Path) -> Path:
    """Make a work tree in `folder` as `clone` stood before its `late` last commits.

    All files are empty, because only names are measured. A commit of a merged branch counts with
    its merge.
    """
    before = folder / clone.name
    git(clone, "clone", "-q", "--shared", "--no-checkout", ".", str(before))
    git(before, "reset", "-q", f"HEAD~{late}")
    for path in files(before):
        file = before / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return before

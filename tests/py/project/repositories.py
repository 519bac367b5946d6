"""Git repositories for tests, made by chance, and git's own answers about them."""

import os
import random
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

NAMES = (
    *("a", "b", "c", "A", "ab", "abc", "a-b", "bfoo", "bx", "foo", "foo.o", "bar.c", "x.log"),
    *("build", "lib", "doc", "é", "z z", "t ", "[a]", "#x", "!y", "*", "B.C", "d1", "na\udce9"),
)
ORDINARY = (
    *("a", "b", "x", "d1", "foo", "abc", "build", "doc", "lib", "*", "?", "*.o", "*.c", "*.log"),
    *("b*", "ab*", "*a*", "f?o", "[ab]", "[a-c]*", "[!a]"),
)
EXOTIC = (
    *("**", "***", "a**", "**b", "b**", "*b*o*", "[[:alpha:]]", "[^[:digit:]]*", "[[:upper:]]*"),
    *("[[:foo:]]", "[]a]", "[a-", "[z-a]", "[a-c-e]", "[--0]", "a[-]b", "*[*]*", "[\\]a]", "[!/]"),
    *("[\\[]a]", "x[/]y", "\\#x", "\\!y", "\\*", "\\[a\\]", "a\\", "*\\", "z\\ z", "t\\ ", "é"),
    *("?\udca9", "\udcc3*", "[\udcc3]*", "na?"),
)
ENDS = (" ", "  ", "\t", "\\ ", "\\  ", "\r", "\0zz")
ODD_LINES = ("", "!", "/", "//", "!/", "\\", "# no rule", " a", "\ufeffa")
MAX_LEVELS = 4


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Only the settings of git below `home` count."""
    home.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
        yield


def git(root: Path, *words: str) -> str:
    """Run git in `root` and return its output."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(  # noqa: S603
        ["git", *identity, *words],  # noqa: S607
        cwd=root,
        check=True,
        capture_output=True,
    )
    return os.fsdecode(done.stdout)


def committed(root: Path) -> Path:
    """Return `root`, now a git repository whose only commit has all of its files."""
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "All")
    return root


def commit_each(root: Path, commits: Sequence[Sequence[str]]) -> None:
    """Make a history of `commits` on main, each of which writes some files, and check it out."""
    stream = [
        f"commit refs/heads/main\ncommitter A <a@example.org> {time} +0000\ndata 0\n"
        + "".join(f"M 644 inline {path}\ndata <<.\n{time}\n.\n" for path in paths)
        for time, paths in enumerate(commits)
    ]
    subprocess.run(
        ["git", "fast-import", "--quiet", "--force"],  # noqa: S607
        cwd=root,
        input="".join(stream).encode(),
        check=True,
    )
    git(root, "reset", "-q", "--hard")


def by_git(root: Path) -> set[str]:
    """Return the paths below `root` that git does not ignore, without tracked ones that are gone.

    A repository within, or a submodule, ends with a slash.
    """
    listed = git(root, "ls-files", "-co", "--exclude-standard", "-z").split("\0")[:-1]
    there = {path for path in listed if os.path.lexists(root / path)}
    return {f"{path.rstrip('/')}/" if is_directory(root / path) else path for path in there}


def is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


@dataclass
class RandomRepository:
    """A repository at `root`, by `seed`; `exotic` ones have rules that nobody writes."""

    root: Path
    seed: int
    exotic: bool
    files: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)

    def make(self) -> None:
        """Make it."""
        self.chance = random.Random(self.seed)  # noqa: S311
        self.root.mkdir()
        self._fill(self.root, 0)
        git(self.root, "init", "-q")
        if self._happens(0.4):
            (self.root / ".git/info/exclude").write_bytes(self.rules())
        if self._happens(0.3):
            (self.root / ".git/mine").write_bytes(self.rules())
            own = self.chance.choice([".git/mine", str(self.root / ".git/mine")])
            git(self.root, "config", "core.excludesFile", own)
        if self._happens(0.6) and (some := [one for one in self.files if self._happens(0.2)]):
            ours = [str(one) for one in some if not self._is_inner(one)]
            git(self.root, "--literal-pathspecs", "add", "-f", "--", *ours)
        for one in self.files:
            if self._happens(0.02):
                one.unlink()
        for folder in self.folders:
            if self._happens(0.08):
                with suppress(subprocess.CalledProcessError):  # git refuses some
                    self.confuse(folder)

    def confuse(self, folder: Path) -> None:
        """Let index and disk disagree about `folder`, or put something odd in place of a `.git`."""
        dot_git = folder / ".git"
        inside = str(folder.relative_to(self.root))
        kind = self.chance.randrange(7)
        if kind < 5 and os.path.lexists(dot_git):
            return
        match kind:
            case 0:  # a repository, maybe with files in it that are tracked by the one around it
                git(folder, "init", "-q")
            case 1:  # a work tree that was moved or pruned
                dot_git.write_text(
                    self.chance.choice(["gitdir: /nowhere\n", "gitdir: ", "else", ""])
                )
            case 2:  # a repository without HEAD is none
                # Without objects or references it is one for us, and for git it is none.
                git(folder, "init", "-q")
                (dot_git / "HEAD").rename(dot_git / "lost")
                if self._happens(0.5):
                    (dot_git / "HEAD").touch()
            case 3:
                git(folder, "init", "-q")
                dot_git.rename(folder / "here")
                dot_git.symlink_to(self.chance.choice(["here", "nowhere"]))
            case 4:  # a work tree of a repository elsewhere
                git(
                    self.root,
                    "init",
                    "-q",
                    "--separate-git-dir",
                    f"{self.root}-{folder.name}",
                    inside,
                )
            case 5:
                git(
                    self.root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{inside}"
                )
            case _:  # rules that a sparse checkout leaves out
                rules = folder / ".gitignore"
                if not os.path.lexists(rules):
                    rules.write_bytes(self.rules())
                git(self.root, "--literal-pathspecs", "add", "-f", "--", str(rules))
                name = f"{inside}/.gitignore"
                git(self.root, "update-index", "--skip-worktree", "--", name)
                rules.unlink()

    def _happens(self, likely: float) -> bool:
        return self.chance.random() < likely

    def _is_inner(self, file: Path) -> bool:
        """Whether `file` is in a repository within."""
        above = file.parents[: len(file.relative_to(self.root).parts) - 1]
        return any((folder / ".git/HEAD").exists() for folder in above)

    def _fill(self, folder: Path, level: int) -> None:
        for name in self.chance.sample(NAMES, self.chance.randint(2, 9)):
            self._put(folder / name, level)
        if level == 0 or self._happens(0.4):
            (folder / ".gitignore").write_bytes(self.rules())
        elif self._happens(0.05):
            (folder / ".gitignore").symlink_to("a")
        if level and self._happens(0.03):
            (folder / ".git").mkdir()  # which makes no repository

    def _put(self, path: Path, level: int) -> None:
        if level < MAX_LEVELS and self._happens(0.4):
            path.mkdir()
            self.folders.append(path)
            self._fill(path, level + 1)
            if self._happens(0.03) and not (path / ".git").exists():
                git(path, "init", "-q")
        elif self._happens(0.1):
            path.symlink_to(self.chance.choice(["a", "/etc", "nowhere", "."]))
        elif self._happens(0.02):
            os.mkfifo(path)
        else:
            path.touch()
            self.files.append(path)

    def rules(self) -> bytes:
        """The content of a file with rules."""
        lines = [self._line() for _ in range(self.chance.randint(1, 6))]
        end = "\r\n" if self.exotic and self._happens(0.1) else "\n"
        text = end.join(lines) + (end if self._happens(0.8) else "")
        mark = "\ufeff" if self.exotic and self._happens(0.1) else ""
        return os.fsencode(mark + text)

    def _line(self) -> str:
        if self.exotic and self._happens(0.05):
            return self.chance.choice(ODD_LINES)
        count = self.chance.choice([1, 1, 1, 2, 2, 3])
        line = "/".join(self._segment(alone=count == 1) for _ in range(count))
        line = "/" * self._happens(0.25) + line + "/" * self._happens(0.25)
        end = self.chance.choice(ENDS) if self.exotic and self._happens(0.12) else ""
        return "!" * self._happens(0.25) + line + end

    def _segment(self, *, alone: bool) -> str:
        if not alone and self._happens(0.2):
            return "**"
        exotic = self.exotic and self._happens(0.5)
        return self.chance.choice(EXOTIC if exotic else ORDINARY)

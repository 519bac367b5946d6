"""Repositories in random states, and git's own status of them."""

import os
import random
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

ME = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
NAMES = (
    *(
        "a",
        "b.txt",
        "c.py",
        "dd",
        "x y",
        "é",
        'q"t',
        "t\tb",
        "Ü.md",
        "A",
        "long-name.c",
        "na\udce9",
    ),
    *("sub/a", "sub/b.txt", "sub/deep/c.py", "other/a", "other/b.txt", "z/z/z", "-x", " lead"),
)
WORDS = ("alpha", "beta", "gamma", "", "}", "    return x", "def f():", "class C:", "$Id$", "é")
SETTINGS = (
    ("status.renames", ("true", "false", "copies", "Copy", "0")),
    ("diff.renames", ("true", "no", "copies", "copy")),
    ("status.renameLimit", ("1", "2", "100", "0")),
    ("diff.renameLimit", ("1", "3", "100")),
    ("core.symlinks", ("false", "true")),
    ("core.filemode", ("false", "true")),
    ("core.checkStat", ("minimal", "default")),
    ("core.trustctime", ("false", "true")),
    ("core.ignorecase", ("true", "false")),
    ("core.eol", ("crlf", "lf")),
    ("status.showUntrackedFiles", ("all", "no", "normal")),
)
"""Settings of git with their values."""
ATTRIBUTES = (
    *(
        "* text=auto\n",
        "*.txt text\n",
        "*.py eol=crlf\n",
        "*.md -text\n",
        "* ident\n",
        "*.c -diff\n",
    ),
    *(
        "*.txt binary\n",
        "sub/* eol=lf\n",
        "*.py text=auto eol=lf\n",
        "/a !text\n",
        "b* crlf=input\n",
    ),
)


def git(root: Path, *words: str, fine: bool = False) -> bytes:
    """The output of git in `root`; with `fine` it may fail."""
    done = subprocess.run(  # noqa: S603
        ["git", *ME, *words],  # noqa: S607
        cwd=root,
        check=not fine,
        capture_output=True,
    )
    return done.stdout


class State:
    """A repository in the directory ROOT, changed step by step by chance."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.random = root, random.Random(seed)  # noqa: S311
        self.own = random.Random(seed + 0.5)  # noqa: S311  # the other choices stay as they were
        root.mkdir(parents=True)
        self.hash = self.own.choice(("sha1",) * 9 + ("sha256",))
        git(root, "init", "-q", "-b", "main", f"--object-format={self.hash}")
        if self.random.random() < 0.3:
            autocrlf = self.random.choice(("true", "input"))
            git(root, "config", "core.autocrlf", autocrlf)
            git(root, "config", "core.safecrlf", "false")
        for _ in range(self.random.randrange(3, 14)):
            self.write()
        if self.random.random() < 0.4:
            self.attributes()
        if self.random.random() < 0.4:
            (root / ".gitignore").write_text(self.random.choice(("*.txt\n", "sub/\n", "b*\n")))
        if self.random.random() < 0.9:
            git(root, "add", "-A", fine=True)
            git(root, "commit", "-qm", "one", fine=True)
        steps = (
            *(self.write,) * 6,
            *(self.add, self.delete, self.mode, self.rename, self.stage_rename) * 2,
            *(self.untrack, self.link, self.intend, self.attributes, self.touch, self.directory),
            *(self.commit, self.detach, self.conflict, self.submodule, self.sparse, self.skip),
            *(self.typechange, self.upstream, self.index_format, self.cacheinfo, self.nested),
        )
        for _ in range(self.random.randrange(1, 12)):
            with suppress(OSError):
                self.random.choice(steps)()
        for likely, step in (
            (0.5, self.settings),
            (0.15, self.copy),
            (0.03, self.move_many),
            (0.08, self.shallow),
            (0.2, self.racy),
        ):
            if self.own.random() < likely:
                with suppress(OSError):
                    step()

    def settings(self) -> None:
        """Set some of the settings that decide which files count as changed."""
        for _ in range(self.own.randrange(1, 4)):
            key, values = self.own.choice(SETTINGS)
            git(self.root, "config", key, self.own.choice(values))

    def copy(self) -> None:
        """Copy a file, and change both a little, so that only copies are looked for here."""
        path = self.root / self.own.choice(self.tracked() or ["none"])
        text = path.read_bytes()
        path.with_name("copy").write_bytes(text + b"one line more\n")
        if self.own.random() < 0.8:
            path.write_bytes(text + b"another line\n")
        git(self.root, "add", *self.own.choice((["-A"], ["-N", "--", "copy"])), fine=True)

    def move_many(self) -> None:
        """Move 200 files at once, with a line edited in each."""
        (self.root / "many").mkdir()
        for number in range(200):
            text = "".join(f"{number} {line}\n" for line in range(20))
            (self.root / f"many/{number}.c").write_text(text)
        git(self.root, "add", "-A", fine=True)
        git(self.root, "commit", "-qm", "many", fine=True)
        git(self.root, "mv", "many", "moved", fine=True)
        for path in (self.root / "moved").iterdir():
            path.write_text(path.read_text() + "edited\n")
        if self.own.random() < 0.7:
            git(self.root, "add", "-A", fine=True)

    def shallow(self) -> None:
        """Go on in a shallow clone."""
        clone = self.root.with_name("shallow")
        git(self.root.parent, "clone", "-q", "--depth=1", f"file://{self.root}", str(clone))
        shutil.rmtree(self.root)
        clone.rename(self.root)
        self.write()

    def racy(self) -> None:
        """Change a file, but neither its size nor the seconds of its time."""
        path = self.root / self.own.choice(self.tracked() or ["none"])
        text, status = path.read_bytes(), path.stat()
        path.write_bytes(bytes(reversed(text)))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns // 10**9 * 10**9))

    def tracked(self) -> list[str]:
        """The paths in the index."""
        return os.fsdecode(git(self.root, "ls-files", "-z", fine=True)).split("\0")[:-1]

    def some(self) -> str:
        """A path, more often than not one that is tracked."""
        tracked = self.tracked()
        return self.random.choice(tracked if tracked and self.random.random() < 0.8 else NAMES)

    def text(self) -> bytes:
        """A content of a few lines."""
        ends = self.random.choice(("\n", "\n", "\n", "\r\n", "\n\n"))
        count = self.random.choice((0, 1, 3, 8, 20, 60))
        lines = [f"{self.random.choice(WORDS)} {self.random.randrange(9)}" for _ in range(count)]
        tail = self.random.choice(("", ends))
        odd = self.random.choice((b"",) * 12 + (b"\0", b"\r", b"\x1a", b"\xe9"))
        return (ends.join(lines) + tail).encode() + odd

    def write(self) -> None:
        path = self.root / self.some()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and not path.is_symlink() and self.random.random() < 0.7:
            lines = path.read_bytes().splitlines(keepends=True)
            for _ in range(self.random.randrange(1, 4)):
                at = self.random.randrange(len(lines) + 1)
                lines[at : at + self.random.randrange(3)] = [
                    b"new %d\n" % self.random.randrange(99)
                ]
            path.write_bytes(b"".join(lines))
        else:
            path.write_bytes(self.text())

    def add(self) -> None:
        git(self.root, "add", "--", self.some(), fine=True)

    def delete(self) -> None:
        (self.root / self.some()).unlink()

    def mode(self) -> None:
        path = self.root / self.some()
        path.chmod(path.stat().st_mode ^ 0o111)

    def rename(self) -> None:
        target = self.root / self.random.choice(NAMES)
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.root / self.some()).rename(target)
        if self.random.random() < 0.5:
            git(self.root, "add", "-N", "--", str(target.relative_to(self.root)), fine=True)

    def stage_rename(self) -> None:
        target = self.random.choice(NAMES)
        (self.root / target).parent.mkdir(parents=True, exist_ok=True)
        git(self.root, "mv", "--", self.some(), target, fine=True)

    def untrack(self) -> None:
        git(self.root, "rm", "-q", "--cached", "--", self.some(), fine=True)

    def link(self) -> None:
        path = self.root / self.some()
        path.unlink(missing_ok=True)
        path.symlink_to(self.random.choice(NAMES))

    def typechange(self) -> None:
        path = self.root / self.some()
        path.unlink()
        path.mkdir()
        (path / "in").write_text("x")

    def intend(self) -> None:
        self.write()
        git(self.root, "add", "-N", "--", self.random.choice(NAMES), fine=True)

    def attributes(self) -> None:
        count = self.random.randrange(1, 4)
        where = self.random.choice((".gitattributes", "sub/.gitattributes", ".git/info/attributes"))
        path = self.root / where
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(self.random.sample(ATTRIBUTES, count)))

    def touch(self) -> None:
        os.utime(self.root / self.some(), (10**9, self.random.randrange(10**9)))

    def directory(self) -> None:
        (self.root / "empty/inner").mkdir(parents=True, exist_ok=True)
        if self.random.random() < 0.5:
            (self.root / "empty/inner" / self.random.choice(("f", ".#f"))).symlink_to("x")

    def commit(self) -> None:
        git(self.root, "commit", "-qam", "more", fine=True)

    def detach(self) -> None:
        git(self.root, "checkout", "-q", "--detach", fine=True)

    def conflict(self) -> None:
        git(self.root, "stash", "-q", fine=True)
        git(self.root, "checkout", "-q", "-b", f"other{self.random.randrange(99)}", fine=True)
        for _ in range(3):
            self.write()
        self.random.choice((self.delete, self.write))()
        git(self.root, "add", "-A", fine=True)
        git(self.root, "commit", "-qm", "theirs", fine=True)
        git(self.root, "checkout", "-q", "main", fine=True)
        for _ in range(3):
            self.write()
        git(self.root, "add", "-A", fine=True)
        git(self.root, "commit", "-qm", "ours", fine=True)
        git(self.root, "merge", "-q", "other", fine=True)
        git(self.root, "merge", "-q", "-", fine=True)
        git(self.root, "stash", "pop", "-q", fine=True)

    def submodule(self) -> None:
        inner = self.root.parent / f"{self.root.name}-inner"
        if not inner.exists():
            inner.mkdir()
            git(inner, "init", "-q", "-b", "main", f"--object-format={self.hash}")
            (inner / "f").write_text("1")
            git(inner, "add", "f")
            git(inner, "commit", "-qm", "one")
            git(self.root, "submodule", "add", "-q", str(inner), "mod", fine=True)
        change = self.random.choice(("none", "commit", "edit", "untracked", "gone"))
        module = self.root / "mod"
        ignored = self.own.choice(("",) * 6 + ("none", "untracked", "dirty", "all"))
        if ignored:
            file = self.own.choice((".git/config", ".gitmodules"))
            words = self.own.choice(("submodule.mod.ignore",) * 3 + ("diff.ignoreSubmodules",))
            git(self.root, "config", "--file", file, words, ignored, fine=True)
        if change == "commit":
            git(module, "commit", "-qm", "two", "--allow-empty", fine=True)
        elif change == "gone":
            shutil.rmtree(module)
        elif change != "none" and (module / "f").exists():
            (module / ("f" if change == "edit" else "g")).write_text("2")

    def nested(self) -> None:
        inner = self.root / "nested/repo"
        inner.mkdir(parents=True)
        git(inner, "init", "-q")
        if self.random.random() < 0.5:
            (inner / "f").write_text("1")

    def sparse(self) -> None:
        git(
            self.root,
            "sparse-checkout",
            "set",
            *self.random.choice((["sub"], ["other"])),
            fine=True,
        )
        if self.random.random() < 0.3:
            git(self.root, "sparse-checkout", "reapply", "--sparse-index", fine=True)

    def skip(self) -> None:
        flag = self.random.choice(("--assume-unchanged", "--skip-worktree"))
        git(self.root, "update-index", flag, "--", self.some(), fine=True)

    def upstream(self) -> None:
        git(self.root, "update-ref", "refs/remotes/origin/main", "HEAD", fine=True)
        git(self.root, "config", "remote.origin.url", "x")
        git(self.root, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
        git(self.root, "config", "branch.main.remote", "origin")
        git(self.root, "config", "branch.main.merge", "refs/heads/main")
        self.random.choice((self.commit, lambda: None))()

    def index_format(self) -> None:
        version = self.random.choice(("2", "3", "4"))
        git(self.root, "update-index", "--index-version", version, fine=True)
        if self.random.random() < 0.5:
            git(self.root, "update-index", "--split-index", fine=True)

    def cacheinfo(self) -> None:
        path = self.some()
        mode = self.random.choice(("+x", "-x"))
        git(self.root, "update-index", f"--chmod={mode}", "--", path, fine=True)


def told_of(root: Path, *words: str) -> str:
    """The output of git's own status in `root`; "" if it fails itself."""
    ours = ("-c", "core.quotePath=false", "status", "--porcelain=v1", "--branch")
    return os.fsdecode(git(root, "--no-optional-locks", *ours, *words, fine=True))

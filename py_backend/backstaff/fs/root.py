"""The sandbox: every path an agent names is resolved here, component by component.

Theory of operation. A `Root` holds the project directory open. `Root.resolve` splits the path
itself and opens one component after the other relative to the descriptor before it, never
following a link: a link is read and its target takes the link's place among the components.
`..` pops a stack of descriptors. So nothing is checked first and used later: the caller gets the
open descriptor itself, and a directory that is swapped for a link meanwhile leads nowhere else.

Above the root, components are only compared with the names of the root's own ancestors. In that way
`../project/src` and absolute paths come back in. Nothing out there is opened, listed or statted, so
a path only ever arrives through the root's own descriptor. Every other name is outside. An error
says "outside" before it says "missing", so that no answer shows whether something exists out there.
"""

import errno
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Self

from backstaff import errors
from backstaff.fs import file
from backstaff.fs.entry import Kind, kind_of, lstat, lstat_or_none
from backstaff.fs.handles import HANDLES, MOVED, OpenDirectory
from backstaff.fs.secrets import OPEN, Guard

MAX_PATH_BYTES, MAX_LINKS, MAX_STEPS = 4096, 40, 4096  # bytes, links, components (links' too)
MAX_RETRIES = 64  # times that something is looked at again, because it changed meanwhile

_NOT_A_PLAIN_DIRECTORY = {errno.ENOTDIR, errno.ELOOP, errno.EMLINK}
_NOT_THERE = {errno.ENOENT, errno.ENAMETOOLONG}
_OUTSIDE = "it is outside the project root"


@dataclass(slots=True)
class _Held:
    """Something that is held open. Use it as a context manager."""

    _open: list[int]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every descriptor."""
        while self._open:
            HANDLES.close(self._open.pop())


@dataclass(slots=True)
class Place(_Held):
    """A file or directory inside the root, held open. Use it as a context manager."""

    root: "Root"
    given: str
    path: str  # absolute and real
    relative: str  # the same from the root on, "." for the root
    name: str
    directory: int  # descriptor of the place if it is a directory, else of its parent
    status: os.stat_result
    through_link: bool  # the last component of the path as it was `given` was a symbolic link

    @property
    def kind(self) -> Kind:
        """The kind of the place."""
        return kind_of(self.status)

    @property
    def prefix(self) -> str:
        """The text before a name in this directory in a path from the root: `src/`, or "" there."""
        return "" if self.relative == "." else f"{self.relative}/"

    @property
    def path_as_directory(self) -> str:
        """The absolute path with a slash at its end: `/home/me/project/src/`."""
        return self.path.rstrip("/") + "/"

    def listing(self) -> int:
        """Open the directory for reading its names; the place closes it. Raises `PathError`."""
        try:
            return self.keep_open(HANDLES.reopen_to_list(self.directory))
        except OSError as error:
            raise errors.path_error(error) from error

    def keep_open(self, descriptor: int) -> int:
        """Return `descriptor`, which the place closes with its own."""
        self._open.append(descriptor)
        return descriptor

    def hold(self, path: str) -> OpenDirectory:
        """Open the directory at the absolute `path`, inside the root or not. Raises `OSError`."""
        os.stat(path)  # the system follows 40 links at most, and `realpath` any number
        real = os.path.realpath(path)
        held = OpenDirectory(self.keep_open(HANDLES.root(real)), real)
        if not held.is_in_place():
            raise OSError(errno.ESTALE, MOVED)
        return held

    def opened(self) -> AbstractContextManager[file.Opened]:
        """A descriptor that reads the regular file, and its status. Raises `PathError`."""
        if self.kind is not Kind.FILE:
            raise errors.NotAFile(self.kind)
        self.root.judge(self.relative, self.given)
        return file.opened(self.name, self.directory)

    def hides(self, path: str) -> bool:
        """Whether the file `path` below this directory may hold secrets: no search reads it."""
        return self.root.guard.hides(self.prefix + path)

    def accessible(self, mode: int) -> bool:
        """Whether access(2) grants `mode` (`os.R_OK`, `os.W_OK`) to this user."""
        name = "." if self.kind is Kind.DIRECTORY else self.name
        with suppress(OSError):  # something else has this name by now
            return HANDLES.accessible(name, self.directory, mode)
        return False


class Root(_Held):
    """The project directory, held open. Tools look at nothing outside of it.

    Absolute paths may name it by its real path or by the path that it was opened with. Each call
    makes its own `Root`, so a project that was renamed or replaced is found by the next call.
    """

    def __init__(self, given: str, guard: Guard = OPEN) -> None:
        """Open the directory `given` (absolute). Raises `PathError` with a message for the user."""
        self.guard = guard
        real, descriptor = _open_root(given)
        super().__init__([descriptor])
        self.components = components(real)
        self.path = "/" + "/".join(self.components)
        self._aliases = [self.components, components(given)]

    def resolve(self, text: str) -> Place:
        """Find the file or directory `text` inside this root. Raises `PathError`.

        `text` is relative to the root or absolute, and literal: no `~`, `$VAR` or glob is
        expanded. "" and "." are the root. Links count as long as they stay inside.
        """
        text = _checked(text)
        try:
            descriptor = HANDLES.duplicate(self._open[0])
            resolution = _Resolution(self, text, [descriptor], [*self.components])
            with _Held(resolution.stack):
                return resolution.run()
        except OSError as error:
            raise errors.path_error(error) from error

    def directory(self, text: str) -> Place:
        """Find the directory that `text` names, as `resolve` does. Raises `PathError`."""
        place = self.resolve(text)
        if place.kind is not Kind.DIRECTORY:
            with place:
                raise errors.NotADirectory("it is not a directory", last=True)
        return place

    def present(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield those of the sorted `paths` from the root that are there, and behind no link."""
        for parent, group in groupby(paths, lambda path: path.rstrip("/").rpartition("/")[0]):
            with suppress(errors.PathError), self.directory(parent or ".") as place:
                for path in group if place.relative == (parent or ".") else ():
                    if lstat_or_none(path.rstrip("/").rpartition("/")[2] or ".", place.directory):
                        yield path

    def judge(self, relative: str, given: str) -> None:
        """Raise `Secret` if the file `relative`, asked for as `given`, may not be read."""
        words = components(given)
        if given.startswith("/"):
            words = self.within(words) or []
        named = os.path.normpath("/".join(words))
        if self.guard.refuses(relative, named):
            raise errors.Secret(relative, linked=named != relative)

    def within(self, names: list[str]) -> list[str] | None:
        """The `names` of an absolute path from the root on; None if the path is outside."""
        return next((names[len(one) :] for one in self._aliases if names[: len(one)] == one), None)


@dataclass(slots=True)
class _Resolution:
    """The state of resolving one path."""

    root: Root
    text: str
    stack: list[int]  # inside the root: open descriptors of it and of each directory on the way
    position: list[str]  # the components of the absolute path that is reached
    pending: deque[str] = field(default_factory=deque)  # the components ahead
    links: int = 0
    retries: int = 0
    must_be_directory: bool = False
    through_link: bool = False

    def run(self) -> Place:
        self._take(self.text)
        if self._is_inside() and self._leads_out(self.pending):
            raise errors.OutsideRoot(_OUTSIDE)
        leaf = None
        for _ in range(MAX_STEPS):
            if not self.pending:
                break
            name = self.pending.popleft()
            if name == "..":
                if len(self.stack) > 1:
                    HANDLES.close(self.stack.pop())
                del self.position[-1:]  # "/.." is "/"
            elif self._is_inside():
                leaf = self._step_into(name)
            elif name == self.root.components[len(self.position)]:
                self.position.append(name)
            else:
                raise errors.OutsideRoot(_OUTSIDE)
        else:
            raise errors.PathError("the path has too many components")
        if not self._is_inside():
            raise errors.OutsideRoot(_OUTSIDE)
        if leaf:
            self.position.append(name)
        below = self.position[len(self.root.components) :] or ["."]
        return Place(
            status=leaf or HANDLES.status(self.stack[-1]),
            root=self.root,
            given=self.text,
            path="/" + "/".join(self.position),
            relative="/".join(below),
            name=below[-1],
            directory=(descriptor := self.stack.pop()),
            through_link=self.through_link,
            _open=[descriptor],
        )

    def _is_inside(self) -> bool:
        return len(self.position) >= len(self.root.components)

    def _leads_out(self, words: Iterable[str]) -> bool:
        names = components(os.path.normpath("/".join(["", *self.position, *words])))
        return names[: len(self.root.components)] != self.root.components

    def _take(self, text: str) -> None:
        """Put the components of `text`, an argument or a link's target, before the pending ones."""
        if self.links > MAX_LINKS:
            raise errors.PathError("too many levels of symbolic links")
        self.links += 1  # the argument counts as one, too
        words = components(text)
        self.must_be_directory |= not self.pending and text.endswith(("/", "/.", "/.."))
        if text.startswith("/"):
            while len(self.stack) > 1:
                HANDLES.close(self.stack.pop())
            inside = self.root.within(words)
            self.position = [] if inside is None else [*self.root.components]
            words = words if inside is None else inside
        self.pending.extendleft(reversed(words))

    def _step_into(self, name: str) -> os.stat_result | None:
        """Enter `name`; or expand it if it is a link; or return its status if it is a leaf."""
        try:
            self.stack.append(HANDLES.enter(name, self.stack[-1]))
        except OSError as error:
            if error.errno not in _NOT_A_PLAIN_DIRECTORY:
                raise self._missing(name, error) from error
        else:
            self.position.append(name)
            return None
        try:
            status = lstat(name, self.stack[-1])
            if stat.S_ISLNK(status.st_mode):
                target = HANDLES.readlink(name, self.stack[-1])
                self.through_link |= not self.pending
                self._take(target)
                return None
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise self._missing(name, error) from error
            status = None
        if status is None or stat.S_ISDIR(status.st_mode):
            # It was one thing when opened and another when looked at: look at it again.
            self.retries += 1
            if self.retries > MAX_RETRIES:
                raise errors.PathError("it changed while it was looked at")
            self.pending.appendleft(name)
            return None
        if self.pending or self.must_be_directory:
            raise errors.NotADirectory("it is not a directory", last=not self.pending)
        return status

    def _missing(self, name: str, error: OSError) -> Exception:
        if error.errno not in _NOT_THERE:
            return errors.path_error(error)
        if self._leads_out([name, *self.pending]):
            return errors.OutsideRoot(_OUTSIDE)
        below = *self.position[len(self.root.components) :], name, *self.pending
        relative = "" if self.must_be_directory or ".." in self.pending else "/".join(below)
        return errors.NotFound("it does not exist", dangling=self.through_link, relative=relative)


def components(text: str) -> list[str]:
    """The names in the path `text`. Empty ones and `.` do not count."""
    return [part for part in text.split("/") if part not in ("", ".")]


def is_within(path: str, *directories: str) -> bool:
    """Whether the absolute `path` is one of the `directories` or lies below it."""
    return any(os.path.commonpath((path, one)) == one for one in directories)


def _checked(text: str) -> str:
    """Return `text` in the spelling of the operating system. Raises `InvalidPath`."""
    try:
        name = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise errors.InvalidPath("the path holds a character that no file name can hold") from error
    if b"\0" in name:
        raise errors.InvalidPath("the path holds a NUL character")
    if len(name) > MAX_PATH_BYTES:
        raise errors.InvalidPath(f"the path is longer than {MAX_PATH_BYTES} bytes")
    return os.fsdecode(name)


def _open_root(given: str) -> tuple[str, int]:
    """The real path of `given`, and a descriptor of the directory at that path."""
    given = _checked(given)
    if not given.startswith("/"):
        raise errors.InvalidPath("the project root must be an absolute path")
    for _ in range(MAX_RETRIES):
        try:
            path = os.path.realpath(given, strict=True)
            descriptor = HANDLES.root(path)
        except FileNotFoundError as error:
            raise errors.NotFound(f"the project root {given!r} does not exist") from error
        except NotADirectoryError as error:
            raise errors.NotADirectory(f"the project root {given!r} is not a directory") from error
        except OSError as error:
            raise errors.path_error(error) from error
        with suppress(OSError):  # it is still there
            if os.path.samestat(os.stat(path), HANDLES.status(descriptor)):
                return path, descriptor
        HANDLES.close(descriptor)
    raise errors.PathError("the project root changed while it was opened")

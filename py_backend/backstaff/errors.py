"""Failures as values with a code.

A `ToolError` is an expected failure. Its message is for the caller: it names the problem and the
remedy, and never holds a traceback or a path that the caller did not name. Any other exception is
a bug, and the caller learns only that there was one. `reason_of` reads the complaints of git.
"""

import re
from enum import StrEnum


class ErrorCode(StrEnum):
    """The server's own error codes; some contracts have others."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    SANDBOX_VIOLATION = "SANDBOX_VIOLATION"
    NOT_FOUND = "NOT_FOUND"
    NOT_DIRECTORY = "NOT_DIRECTORY"
    NOT_FILE = "NOT_FILE"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    IO_ERROR = "IO_ERROR"
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    UNSAVED_NEEDED = "UNSAVED_NEEDED"
    POLICY_DENIED = "POLICY_DENIED"
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED"
    CANCELLED = "CANCELLED"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    BUSY = "BUSY"
    SERVER_STUCK = "SERVER_STUCK"
    REPLY_TOO_LARGE = "REPLY_TOO_LARGE"
    INTERNAL = "INTERNAL"


class ToolError(Exception):
    """An expected failure of a call.

    `code` is one of `ErrorCode` or a contract's own word; `message` is one sentence without the
    leading "Error: "; `details` are JSON-like facts for programs, with snake_case keys.
    """

    def __init__(self, code: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.code, self.message, self.details = str(code), message, details


class Fault(StrEnum):
    """The faults of a path that contracts tell apart, for the table in `render.refusals`."""

    OUTSIDE = "outside"
    NOT_DIRECTORY = "not a directory"
    DANGLING = "a link without a target"
    MISSING = "missing"
    INVALID = "invalid"
    DENIED = "denied"
    NOT_FILE = "not a file"
    OTHER = "other"


class PathError(ToolError):
    """A path that cannot be used: without a subclass, the operating system failed."""

    CODE, fault = ErrorCode.IO_ERROR, Fault.OTHER

    def __init_subclass__(cls, code: ErrorCode, fault: Fault = Fault.OTHER) -> None:
        cls.CODE, cls.fault = code, fault

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(self.CODE, message, **details)


class InvalidPath(PathError, code=ErrorCode.INVALID_ARGUMENT, fault=Fault.INVALID):
    """A text that is no path: it holds NUL, cannot be encoded, or is too long."""


class OutsideRoot(PathError, code=ErrorCode.SANDBOX_VIOLATION, fault=Fault.OUTSIDE):
    """A path that leaves the root, as written or through a link; something may be there or not."""


class NotFound(PathError, code=ErrorCode.NOT_FOUND):
    """Nothing is there, or a `dangling` link; a new file would be at `relative` from the root."""

    def __init__(self, message: str, *, dangling: bool = False, relative: str = "") -> None:
        super().__init__(message)
        self.fault = Fault.DANGLING if dangling else Fault.MISSING
        self.relative = relative


class NotADirectory(PathError, code=ErrorCode.NOT_DIRECTORY):
    """A directory was needed and something else is there, at the end of the path if `last`."""

    def __init__(self, message: str, *, last: bool = False) -> None:
        super().__init__(message)
        self.fault = Fault.NOT_DIRECTORY if last else Fault.MISSING


class NotAFile(PathError, code=ErrorCode.NOT_FILE, fault=Fault.NOT_FILE):
    """A regular file was needed and something of another `kind` is there."""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(message or f"it is a {kind.replace('-', ' ')}")
        self.kind = kind


class PermissionRefused(PathError, code=ErrorCode.PERMISSION_DENIED, fault=Fault.DENIED):
    """The operating system refuses to let this user look."""


class Secret(PathError, code=ErrorCode.APPROVAL_REQUIRED):
    """A file that may hold secrets, at `relative` from the root, and no person has allowed it."""

    def __init__(self, relative: str, *, linked: bool) -> None:
        which = f"its target {relative!a}" if linked else "it"
        remedy = "allow it in Emacs, or change secrets below [policy] in backstaff's config.toml"
        super().__init__(f"{which} may hold secrets; the user can {remedy}", secret=relative)


def path_error(error: OSError) -> PathError:
    """The `PathError` for an error of the operating system."""
    if isinstance(error, FileNotFoundError):
        return NotFound("it does not exist")
    if isinstance(error, PermissionError):
        return PermissionRefused("permission denied")
    return PathError((error.strerror or "input/output error").lower())


class SettingsError(Exception):
    """A configuration file that cannot be used: the message names file, line, key and values."""


class DeadlineExceeded(ToolError):
    """The time was up, and the part that was read is no answer."""

    def __init__(self, message: str = "Timed out before everything was read") -> None:
        super().__init__(ErrorCode.DEADLINE_EXCEEDED, message)


class Cancelled(ToolError):
    """The client took the call back."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.CANCELLED, "The call was cancelled")


class NoGit(StrEnum):
    """The reasons why git does not answer, each as the end of a sentence."""

    ABSENT = "git is not installed"
    NO_WORK_TREE = "it is not in a git work tree"
    ELSEWHERE = (
        "a part of its git directory lies outside the project, and does not name this work tree;"
        " `git config core.worktree` there can name it, or give a root that has both"
    )
    SLOW = "git had not answered"
    TOO_MUCH = "git had answered too much, or taken too much memory"


class Unanswered(Exception):
    """Git did not answer. `why` is a `NoGit`, or git's own words about what it cannot read."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


_MEANINGS = (  # of git's words: a reason, or a remedy
    ("not a git repository|in a work tree|cannot use bare repository", NoGit.NO_WORK_TREE),
    ("out of memory|memory exhausted|mmap failed|cannot allocate|to allocate", NoGit.TOO_MUCH),
    ("unknown repository extension|expected git repo version", "a newer git reads it"),
    (r"bad (config|numeric|boolean)|invalid (mode|value)", "mend the configuration"),
    (
        "unable to read|bad object|could not|missing|unable to find|cannot (obtain|read)|fetch",
        "an object is not here: a partial clone leaves some out, and nothing is fetched",
    ),
)


def reason_of(complaint: bytes) -> str:
    """The reason in git's `complaint`, with a remedy where one is known."""
    text = re.sub(r"[^\x21-\x7e]+", " ", complaint.decode("ascii", "replace"))
    text = text.strip().removeprefix("fatal: ").removeprefix("error: ")[:300]
    # Git cuts what follows a long path.
    text = re.sub(r"[^ ]*/{9}.*|/proc/self/fd/\d+: .*", "the index cannot be read", text)
    # A link of the repository can lead to any hash or branch.
    text = re.sub("[0-9a-f]{40,}|branch '.*'", "...", text)
    meaning = next((its for words, its in _MEANINGS if re.search(f"(?i){words}", text)), "")
    if isinstance(meaning, NoGit):
        return meaning
    return f"git says: {text}{f' ({meaning})' * bool(meaning)}" if text else "git failed"

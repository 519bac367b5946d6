"""The refusals of a path by the tools of each contract: one table of codes and sentences."""

from backstaff.errors import ErrorCode, Fault, PathError, ToolError
from backstaff.render.names import quote

Refusals = dict[Fault, str | tuple[str, str]]
"""The sentence for each fault, with a code before it if that is not the error's own.

A sentence can have `{path}` as it was given, the system's `{error}`, and the words of the caller.
"""
_GENERAL = {  # the fault whose sentence stands for one that a contract does not tell apart
    Fault.NOT_DIRECTORY: Fault.MISSING,  # `f/x` does not exist where f is a file
    Fault.DANGLING: Fault.MISSING,
    Fault.DENIED: Fault.OTHER,
    Fault.NOT_FILE: Fault.OTHER,
}


def _agent_q(noun: str) -> Refusals:
    # The contracts leave some errors open: there the words of the system follow.
    return {
        Fault.OUTSIDE: "Path {path} is outside project root",
        Fault.MISSING: f"{noun} {{path}} not found",
        Fault.INVALID: "Argument 'path' is no path: {error}",
        Fault.DENIED: f"Cannot read {noun.lower()} {{path}}",
        Fault.OTHER: f"Cannot read {noun.lower()} {{path}}: {{error}}",
    }


AGENT_Q_FILE = _agent_q("File")
AGENT_Q_DIRECTORY: Refusals = {
    **_agent_q("Directory"),
    Fault.NOT_DIRECTORY: "{path} is a file, not a directory",
}
_MISSING = "Path {path} does not exist{near}"
_UNREADABLE = "Path {path} cannot be read: {error}"
WORKSPACE: Refusals = {
    Fault.OUTSIDE: "Path {path} is outside the workspace",
    Fault.NOT_DIRECTORY: "Path {path} is not a directory: give the directory that it is in",
    Fault.DANGLING: "Path {path} is a link whose target does not exist",
    Fault.MISSING: _MISSING,
    Fault.INVALID: "Path {path} cannot be used: {error}",
    Fault.OTHER: _UNREADABLE,
}
TREE: Refusals = {
    **WORKSPACE,
    Fault.NOT_DIRECTORY: (ErrorCode.NOT_DIRECTORY, "Path {path} is not a directory"),
    Fault.DANGLING: (ErrorCode.NOT_DIRECTORY, "Path {path} is not a directory"),
    Fault.MISSING: (ErrorCode.NOT_FOUND, _MISSING),
    Fault.OTHER: (ErrorCode.INTERNAL, _UNREADABLE),
}
READ_FILE: Refusals = {
    **WORKSPACE,
    Fault.NOT_FILE: (ErrorCode.NOT_FILE, "Path {path} {kind}"),
    Fault.NOT_DIRECTORY: (
        ErrorCode.NOT_FILE,
        "Path {path} has a slash at its end, but it is a file: leave the slash out",
    ),
    Fault.MISSING: (ErrorCode.NOT_FOUND, _MISSING),
}
FORGE: Refusals = {  # the SRD's errors (FR-LD-VAL-08, FR-LD-ERR-02, -03)
    Fault.OUTSIDE: ("SandboxViolation", "path leads outside the sandbox"),
    Fault.NOT_DIRECTORY: ("ExecutionFailed", "path is not a directory"),
    Fault.MISSING: ("ExecutionFailed", "path does not exist"),
    Fault.INVALID: ("BadArgs", "{error}"),
    Fault.OTHER: ("ExecutionFailed", "path cannot be read: {error}"),
}
COMMANDS: Refusals = {
    Fault.OUTSIDE: "{path} is outside the project: if that is meant, write it as an absolute path",
    Fault.NOT_DIRECTORY: "{path} is not a directory",
    Fault.MISSING: "{path} does not exist",
    Fault.OTHER: "{path} cannot be read: {error}",
}


def refused(error: PathError, path: str, refusals: Refusals, **words: str) -> ToolError:
    """Return the tool's error for `error`, met on the way to `path`, in the words of `refusals`."""
    entry = refusals.get(error.fault) or refusals[_GENERAL.get(error.fault, Fault.OTHER)]
    code, sentence = (error.code, entry) if isinstance(entry, str) else entry
    message = sentence.format(path=quote(path), error=error.message, **words)
    return ToolError(code, message, **error.details)

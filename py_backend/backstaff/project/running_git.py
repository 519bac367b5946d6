"""Starting git so that nothing of a repository runs.

A repository can be hostile: its configuration names programs, and git may fetch missing objects. So
git is run from outside the project, in an environment of our own, where it finds no other program.
"""

import os
from collections.abc import Iterable, Mapping

# Git's options for all that compares: no program of the repository, and no git in a submodule.
QUIET = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
# Variables that say where the user's own configuration is. No other variable reaches git.
_KEPT = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # else a look at the index may write it
    "GIT_INDEX_FILE": "/dev/no-index",  # only some questions are about the index
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # A git from before 2024 does not know the line above. It starts a `git fetch`, which writes the
    # configuration and runs a command that the repository names. So git can find no other program:
    # no program for a transport or a password. GIT_ALLOW_PROTOCOL overrides `protocol.*.allow`.
    "GIT_EXEC_PATH": "/dev/null",
    "PATH": "/dev/null",
    "GIT_ALLOW_PROTOCOL": "none",
    # A small object can be made of a huge one, and git holds both in memory.
    "GIT_ALLOC_LIMIT": "256m",
    "MALLOC_ARENA_MAX": "2",  # else each thread reserves 64 MiB of the limit
    "LC_ALL": "C",  # `reason_of` reads git's messages
}
_OVERRIDES = (
    *("core.fsmonitor=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null"),
    *("core.untrackedCache=false", "core.packedGitWindowSize=32m", "core.packedGitLimit=256m"),
    *("core.quotePath=false", "core.safecrlf=false", "log.mailmap=false"),
    "safe.bareRepository=explicit",
)


def hardened(
    program: str, words: Iterable[str], environment: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The command and the whole environment of a git with `words` and these variables."""
    options = (word for one in _OVERRIDES for word in ("-c", one))
    kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
    return [program, "--no-pager", *options, *words], {**kept, **_ENVIRONMENT, **environment}

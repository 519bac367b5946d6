"""The settings of git that decide which files count, and which count as changed."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

QUESTION = ("config", "-z", "--show-scope", "--list")
_HANDED_ON = (
    *("filemode", "autocrlf", "eol", "ignorecase", "symlinks", "trustctime", "checkstat"),
    *("precomposeunicode", "sparsecheckout", "sparsecheckoutcone"),
)
"""The settings in `core` that a git in the clean repository has, too."""
_FALSE = re.compile(r"|false|no|off|\s*[-+]?(0x)?0+[kmg]?", re.IGNORECASE)
_OF_THE_USER = ("global", "system")


@dataclass(frozen=True, slots=True)
class Configuration:
    """`values` are the settings, the last of each name.

    `excludes_file` (core.excludesFile) is absolute or relative to the top of the work tree, or
    empty; `attributes_file` is absolute. A project may name a file of its own for the first one,
    and no other file of the user's.
    """

    values: Mapping[str, str]
    excludes_file: str
    attributes_file: str

    @classmethod
    def read(cls, printed: bytes, top: str) -> "Configuration":
        """Read the answer that git has `printed` to `QUESTION` in the work tree at `top`."""
        values = {}
        excludes, attributes = default_file("ignore"), default_file("attributes")
        parts = iter(os.fsdecode(printed).split("\0")[:-1])
        for scope, setting in zip(parts, parts, strict=False):  # "global", "core.worktree\n/a"
            key, is_valued, value = setting.partition("\n")
            values[key] = value if is_valued else "true"
            file = os.path.expanduser(value)
            is_users = scope in _OF_THE_USER
            if key == "core.excludesfile":
                if is_users or is_within(os.path.realpath(os.path.join(top, file)), top):
                    excludes = file
            elif key == "core.attributesfile" and is_users:
                attributes = file
        return cls(values, excludes, attributes)

    @property
    def object_format(self) -> str:
        """The kind of hashes, "sha1" or "sha256"."""
        return self.values.get("extensions.objectformat", "sha1").lower()

    def handed_on(self) -> list[str]:
        """The options that give these settings to a git in the clean repository."""
        keys = (f"core.{name}" for name in _HANDED_ON)
        settings = [f"{key}={self.values[key]}" for key in keys if key in self.values]
        settings.append(f"core.attributesFile={self.attributes_file or os.devnull}")
        return [word for setting in settings for word in ("-c", setting)]

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Whether the setting `key` is on: any value that git does not read as false."""
        value = self.values.get(key)
        return default if value is None else not _FALSE.fullmatch(value)


def default_file(name: str) -> str:
    """The user's own file `name` for git, such as "ignore", if no setting names another one."""
    home, configuration = os.environ.get("HOME"), os.environ.get("XDG_CONFIG_HOME")
    if configuration:
        return f"{configuration}/git/{name}"
    return f"{home}/.config/git/{name}" if home else ""


def is_within(path: str, project: str) -> bool:
    """Whether the absolute `path` is `project` or lies below it."""
    return os.path.commonpath((path, project)) == project

"""Git's settings that decide what counts as changed, and who may name files and programs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

QUESTION = (
    *("config", "-z", "--show-scope", "--get-regexp"),
    r"^(core|status|diff|filter|extensions|branch|remote)\.",
)
_TRUE, _FALSE = ("", "true", "yes", "on", "1"), ("false", "no", "off", "0")
_OF_THE_USER = ("global", "system")
_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Settings:
    """`values` are all settings that were asked for, the last of each name."""

    values: Mapping[str, str]
    users_attributes: str

    @classmethod
    def read(cls, told: bytes) -> "Settings":
        """The settings in `told`, git's answer to `QUESTION`."""
        values = {}
        home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        users = f"{home}/git/attributes"
        parts = iter(os.fsdecode(told).split("\0"))
        for scope, setting in zip(parts, parts, strict=False):
            key, _, value = setting.partition("\n")
            values[key] = value
            # A project may not name a file of the user's.
            if key == "core.attributesfile" and scope in _OF_THE_USER:
                users = os.path.expanduser(value)
        return cls(values, users)

    def flag(self, key: str, *, default: bool) -> bool:
        """Whether the setting `key` is on."""
        value = self.values.get(key)
        return default if value is None else value.lower() in _TRUE

    @property
    def autocrlf(self) -> str:
        """Whether git guesses about line ends: "true", "input" or "false"."""
        value = self.values.get("core.autocrlf", "false").lower()
        return "true" if value in _TRUE else value

    @property
    def filters(self) -> frozenset[str]:
        """The names of the filters that have a program."""
        ends = (".clean", ".process")
        return frozenset(
            key[len("filter.") :].rpartition(".")[0]
            for key, value in self.values.items()
            if key.startswith("filter.") and key.endswith(ends) and value
        )

    @property
    def oid_bytes(self) -> int:
        """The length of a hash."""
        return 32 if self.values.get("extensions.objectformat") == "sha256" else 20

    @property
    def renames(self) -> bool:
        """Whether a status tells renamed files."""
        value = self.values.get("status.renames", self.values.get("diff.renames", "true"))
        return value.lower() not in _FALSE

    @property
    def untracked(self) -> str:
        """Which untracked files a status tells: "normal", "all" or "no"."""
        value = self.values.get("status.showuntrackedfiles", "normal").lower()
        return "no" if value in _FALSE else "normal" if value in _TRUE else value

    def upstream(self, branch: str) -> str:
        """The name of the branch that `branch` follows, such as `origin/main`, or ""."""
        remote = self.values.get(f"branch.{branch}.remote", "")
        merge = self.values.get(f"branch.{branch}.merge", "")
        source, _, target = self.values.get(f"remote.{remote}.fetch", "").lstrip("+").partition(":")
        if remote == ".":
            return merge.removeprefix(_HEADS)
        start, star, end = source.partition("*")
        if not merge or not target or not merge.startswith(start) or not merge.endswith(end):
            return ""
        tracked = target.replace("*", merge[len(start) : len(merge) - len(end)]) if star else target
        return tracked.removeprefix("refs/remotes/").removeprefix(_HEADS)

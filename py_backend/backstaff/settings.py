"""Settings: the user's TOML file, read once at the start, frozen and typed.

The file is `--config FILE`, else `$XDG_CONFIG_HOME/backstaff/config.toml`. A file inside the root
of a call may be the project's and not the user's: that call uses only its policy, which can only
forbid. A missing file is fine. Another that cannot be read stops the start: no policy would hold.

Each tool has a table of its own, `[tools.NAME]` or `[tools."toolset/name"]`, whose fields and
defaults are those of the tool's settings dataclass. A field's metadata are facts of a `Parameter`,
and a value is checked like an argument. An unknown key or a value that does not fit refuses the
whole file, naming file, line, key and the expected value: half-applied limits would be worse.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from backstaff.arguments import ParameterType, checked, parameter_of
from backstaff.errors import SettingsError, ToolError
from backstaff.fs.secrets import SECRETS, UNSUPPORTED

MAX_FILE_BYTES = 64 << 10


class Verdict(StrEnum):
    """The policy's decision on a tool."""

    ALLOW = "allow"
    DENY = "deny"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class Policy:
    """`[policy]`: globs over tool ids (SRD FR-LD-DEF-05), such as `deny = ["agent-q/*"]`.

    `deny` goes before `prompt`, and `prompt` before `allow`. Unless `allow` is empty, a tool that
    no list names is denied. A model reads no file that `secrets` matches without a person's yes.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    prompt: tuple[str, ...] = ()
    secrets: tuple[str, ...] = SECRETS

    def verdict(self, tool_id: str) -> Verdict:
        """Return whether the tool may be called, and whether a person has to agree."""
        for verdict in (Verdict.DENY, Verdict.PROMPT, Verdict.ALLOW):
            if any(fnmatchcase(tool_id, glob) for glob in getattr(self, verdict)):
                return verdict
        return Verdict.DENY if self.allow else Verdict.ALLOW


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of each table of a file, its policy, and its real path, if there is a file."""

    tables: Mapping[str, Any] = field(default_factory=dict)
    policy: Policy = Policy()
    source: str = field(default="", compare=False)


AnyPath = str | os.PathLike[str]
Tables = Mapping[str, Callable[..., Any]]  # the settings dataclass of each


def default_file() -> str | None:
    """Return the user's configuration file, readable or not; None if there is none."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(home):  # the XDG specification says to ignore the variable then
        home = os.path.expanduser("~/.config")
    path = os.path.join(home, "backstaff", "config.toml")
    if not os.path.isabs(path):  # there is no home
        return None
    try:
        os.lstat(path)
    except OSError as error:  # `load` reports any other problem
        return None if isinstance(error, FileNotFoundError) else path
    return path


def load(path: AnyPath, tables: Tables, tool_ids: Collection[str] | None = None) -> Settings:
    """Read the settings in the file `path`. Raises `SettingsError`."""
    try:
        # A fifo would wait for a writer.
        with open(path, "rb", opener=lambda *one: os.open(one[0], one[1] | os.O_NONBLOCK)) as file:
            status, problem = os.fstat(file.fileno()), ""
            danger = "who could change what is allowed"
            if not stat.S_ISREG(status.st_mode):
                problem = "is not a regular file"
            elif status.st_uid not in (os.getuid(), 0):
                problem = f"belongs to another user, {danger}"
            elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                remedy = "take that right away (chmod go-w) and look at what it says"
                problem = f"can be written by other users, {danger}; {remedy}"
            elif status.st_size > MAX_FILE_BYTES:
                problem = f"the file is larger than {MAX_FILE_BYTES} bytes"
            if problem:
                raise SettingsError(f"{path}: {problem}")
            data = file.read(MAX_FILE_BYTES)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    return replace(parse(path, data, tables, tool_ids), source=os.path.realpath(path))


def parse(
    path: AnyPath, data: bytes, tables: Tables, tool_ids: Collection[str] | None = None
) -> Settings:
    """Read the settings in `data`; messages name the file `path`. Raises as `load` does."""
    import tomllib  # here, as most starts have no file to read and the import costs more than one

    try:
        text = data.decode()
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: is not TOML: {error}") from error
    document = _Document(path, text)
    document.mapping(values, "", ("policy", "tools"))
    table = document.table
    policy = table("policy", values.get("policy", {}), Policy)
    for verdict in Verdict:
        for glob in getattr(policy, verdict):  # a misspelt denial would deny nothing
            if tool_ids is not None and not any(fnmatchcase(tool, glob) for tool in tool_ids):
                problem = f"has {glob!r}, which fits no tool; there are: {', '.join(tool_ids)}"
                raise document.refusal(f"policy.{verdict}", problem)
    for glob in filter(UNSUPPORTED.search, policy.secrets):
        form = "a glob is names and slashes with * and ?, and matches anywhere: .env or *.pem"
        raise document.refusal("policy.secrets", f"has {glob!r}: {form}")
    given = document.mapping(values.get("tools", {}), "tools", tables)
    made = {key: table(f"tools.{key}", given.get(key, {}), make) for key, make in tables.items()}
    return Settings(MappingProxyType(made), policy)


@dataclass(frozen=True, slots=True)
class _Document:
    """The text of a file, to name the line of a problem."""

    path: AnyPath
    text: str

    def mapping(self, value: object, name: str, known: Collection[str]) -> dict[str, Any]:
        """Return `value`, the table `name`, which has only `known` keys."""
        if not isinstance(value, dict):
            raise self.refusal(name, "must be a table")
        for key in value:
            if key not in known:
                problem = f"is not known; known here: {', '.join(known) or 'none'}"
                raise self.refusal(f"{name}.{key}" if name else key, problem)
        return value

    def table(self, name: str, values: object, make: Callable[..., Any]) -> Any:  # noqa: ANN401  # of `make`
        """Return the settings that `make` makes of the table `name` with these `values`."""
        known = {field.name: field for field in fields(make)}  # type: ignore[arg-type]  # a dataclass
        fits = {}
        for key, one in self.mapping(values, name, known).items():
            if known[key].type is int and isinstance(one, float):  # TOML distinguishes 1.0 and 1
                raise self.refusal(f"{name}.{key}", "must be a whole number, not a float")
            parameter = parameter_of(known[key])
            # One word stands for a list of it.
            is_alone = isinstance(one, str) and parameter.type is ParameterType.ARRAY
            try:
                fits[key] = checked(parameter, [one] if is_alone else one, "")
            except ToolError as error:
                raise self.refusal(f"{name}.{key}", error.message.strip()) from error
        return make(**fits)

    def refusal(self, name: str, problem: str) -> SettingsError:
        """Return the error for the dotted `name`, with its line, which tomllib does not give."""
        table, _, key = name.rpartition(".")
        whole = r"(?<![\w/-])%s(?![\w/-])"  # no part of another name
        opening = r"^[ \t]*\[[^#\n]*" + whole % re.escape(table.removeprefix("tools."))
        header = re.search(opening, self.text, re.MULTILINE) if table else None
        start = header.start() if header else 0
        given = re.compile(rf"^[^#\n]*?{whole % re.escape(key)}[\"']?[ \t]*[]=.]", re.MULTILINE)
        found = given.search(self.text, start)
        line = self.text.count("\n", 0, found.start() if found else start) + 1
        return SettingsError(f"{self.path}:{line}: {name} {problem}")

"""Settings: one TOML file of the user's, read once at start, frozen and typed.

The file is `--config FILE`, else `$XDG_CONFIG_HOME/backstaff/config.toml`; never one inside the
project being browsed. Each tool has a table of its own, `[tools.NAME]` or `[tools."toolset/name"]`,
whose fields and defaults are those of the tool's settings dataclass. A file that holds anything
unknown or of the wrong type is refused as a whole, naming file, line, key and what was expected:
half-applied limits would be worse than none.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from backstaff.errors import SettingsError

MAX_FILE_BYTES = 64 * 1024
MAX_LINE_BYTES = 1024  # a dotted key of 40 KB costs the TOML reader seconds

_TYPES: Mapping[object, tuple[type, str]] = {
    bool: (bool, "true or false"),
    int: (int, "a whole number"),
    str: (str, "a string"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of every tool, by the name of its table."""

    tables: Mapping[str, Any]


Tables = Mapping[str, Callable[..., Any]]
"""The settings dataclass of each table."""


def defaults(tables: Tables) -> Settings:
    """The built-in settings."""
    return Settings(MappingProxyType({name: make() for name, make in tables.items()}))


def default_file() -> Path | None:
    """The user's configuration file, if there is one."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    path = Path(home, "backstaff", "config.toml")
    return path if path.is_absolute() and path.is_file() else None


def load(path: Path, tables: Tables) -> Settings:
    """The settings in the file PATH. Raises `SettingsError`."""
    text = _text(path)
    document = _Document(path, text, _parsed(path, text))
    tools = document.section("tools")
    document.refuse_unknown(document.values, ("tools",), "")
    document.refuse_unknown(tools, tables, "tools")
    built = {name: document.table(name, tools.get(name, {}), kind) for name, kind in tables.items()}
    return Settings(MappingProxyType(built))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise SettingsError(f"{path}: the file is larger than {MAX_FILE_BYTES} bytes")
        text = path.read_text("utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not UTF-8 at byte {error.start}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_LINE_BYTES:
            raise SettingsError(f"{path}:{number}: the line is longer than {MAX_LINE_BYTES}")
    return text


def _parsed(path: Path, text: str) -> dict[str, Any]:
    import tomllib  # here, as most starts have no file to read and the import costs more than one

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: is not TOML: {error}") from error


@dataclass(frozen=True, slots=True)
class _Document:
    path: Path
    text: str
    values: dict[str, Any]

    def section(self, name: str) -> dict[str, Any]:
        value = self.values.get(name, {})
        if not isinstance(value, dict):
            raise self.refusal(name, "", "must be a table")
        return value

    def table(self, name: str, values: object, kind: Callable[..., Any]) -> Any:  # noqa: ANN401  # the class is KIND
        if not isinstance(values, dict):
            raise self.refusal(name, "tools", "must be a table")
        known: dict[str, Field[Any]] = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
        where = f"tools.{name}"
        self.refuse_unknown(values, known, where)
        return kind(
            **{key: self.checked(known[key], value, where) for key, value in values.items()}
        )

    def checked(self, field: Field[Any], value: object, where: str) -> object:
        kind, words = _TYPES[field.type]
        low, high = (field.metadata.get(limit) for limit in ("minimum", "maximum"))
        choices = field.metadata.get("choices", ())
        if low is not None:
            words += f" from {low} to {high}"
        if choices:
            words = "one of " + ", ".join(f'"{choice}"' for choice in choices)
        fits = type(value) is kind and (not choices or value in choices)
        if fits and low is not None:
            fits = low <= value <= high  # type: ignore[operator]  # an int, as just seen
        if not fits:
            raise self.refusal(field.name, where, f"must be {words}")
        return value

    def refuse_unknown(self, values: Mapping[str, Any], known: Any, where: str) -> None:  # noqa: ANN401
        for key in values:
            if key not in known:
                raise self.refusal(key, where, f"is not known here; known: {', '.join(known)}")

    def refusal(self, key: str, where: str, problem: str) -> SettingsError:
        name = f"{where}.{key}" if where else key
        return SettingsError(f"{self.path}:{self.line_of(key)}: {name} {problem}")

    def line_of(self, key: str) -> int:
        """The line on which KEY first stands (tomllib tells none)."""
        pattern = re.compile(rf'^\s*\[?.*?"?{re.escape(key)}"?\s*[=\].]', re.MULTILINE)
        match = pattern.search(self.text)
        return self.text.count("\n", 0, match.start()) + 1 if match else 1

"""Settings: a good file applies, a bad one is refused with file, line and key."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from backstaff.errors import SettingsError
from backstaff.registry import discover
from backstaff.settings import (
    MAX_FILE_BYTES,
    Policy,
    Settings,
    Verdict,
    default_file,
    load,
)
from tests.py.processes import NOBODY, as_nobody, as_root


@dataclass(frozen=True)
class Limits:
    most: int = field(default=200, metadata={"limits": (1, 1000)})
    quick: bool = False
    order: str = field(default="name", metadata={"choices": ("name", "size")})
    folder: str = "."


TABLES = {"test/probe": Limits, "other": Limits}
DEFAULTS = Settings({name: make() for name, make in TABLES.items()})
HEAD = '[tools."test/probe"]\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def refusal(config: Path, text: str | bytes) -> str:
    """Return the message that refuses a file of `text`."""
    config.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SettingsError) as caught:
        load(config, TABLES)
    return str(caught.value)


def test_good_file_applies(config: Path) -> None:
    config.write_text(
        f'# mine\n{HEAD}most = 7\nquick = true\n\n[tools.other]\norder = "size"\nfolder = "é"\n'
    )
    assert load(config, TABLES).tables == {
        "test/probe": Limits(most=7, quick=True),
        "other": Limits(order="size", folder="é"),
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "[tools]\n", HEAD])
def test_file_that_sets_nothing_leaves_the_defaults(config: Path, text: str) -> None:
    config.write_text(text)
    assert load(config, TABLES) == DEFAULTS


def test_policy_applies(config: Path) -> None:
    config.write_text('[policy]\nallow = ["a/*"]\ndeny = ["a/no"]\nprompt = ["a/ask"]\n')
    policy = load(config, TABLES).policy
    verdicts = {name: str(policy.verdict(name)) for name in ("a/yes", "a/no", "a/ask", "b/x")}
    assert verdicts == {"a/yes": "allow", "a/no": "deny", "a/ask": "prompt", "b/x": "deny"}


def test_strictest_list_of_the_policy_counts() -> None:
    both = Policy(allow=("*",), deny=("a/x",), prompt=("a/*",))
    assert both.verdict("a/x") is Verdict.DENY
    assert both.verdict("a/y") is Verdict.PROMPT
    assert both.verdict("b/x") is Verdict.ALLOW
    assert Policy().verdict("a/x") is Verdict.ALLOW
    assert Policy(deny=("A/*",)).verdict("a/x") is Verdict.ALLOW


def test_settings_cannot_be_changed(config: Path) -> None:
    config.write_text(HEAD)
    with pytest.raises(TypeError):
        load(config, TABLES).tables["other"] = Limits()  # type: ignore[index]  # that is the point


@pytest.mark.check(46)
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("tools = 3\n", 1, "tools must be a table"),
        ("policy = 3\n", 1, "policy must be a table"),
        ("[policy]\nallow = []\nprompt = [1]\n", 3, "policy.prompt must be a list of strings"),
        ("[policy]\nforbid = []\n", 2, "policy.forbid is not known; known here: allow, deny"),
        ("\ntools = [1]\n", 2, "tools must be a table"),
        ("[[tools]]\n", 1, "tools must be a table"),
        ("x = 1\n", 1, "x is not known; known here: "),
        ("\n\n[policies]\n", 3, "policies is not known; known here: "),
        ("[tools.nothing]\n", 1, "tools.nothing is not known; known here: test/probe, other"),
        ('[tools]\n"test/probe" = 3\n', 2, "tools.test/probe must be a table"),
        ('[[tools."test/probe"]]\n', 1, "tools.test/probe must be a table"),
        (f"{HEAD}\nnumerous = 7\n", 3, "tools.test/probe.numerous is not known; known here: most"),
        (f"{HEAD}most = true\n", 2, "tools.test/probe.most must be a whole number, not true"),
        (f"{HEAD}most = 1.0\n", 2, "must be a whole number"),
        (f"{HEAD}most = nan\n", 2, "must be a whole number"),
        (f"{HEAD}most = 1e22\n", 2, "must be a whole number"),
        (f'{HEAD}most = "200"\n', 2, "must be a whole number"),
        (f"{HEAD}most = [[1]]\n", 2, "must be a whole number"),
        (f"{HEAD}most = 1979-05-27\n", 2, "must be a whole number"),
        (f"{HEAD}most = 0\n", 2, "from 1 to 1000"),
        (f"{HEAD}most = -5\n", 2, "from 1 to 1000"),
        (f"{HEAD}most = 1001\n", 2, "from 1 to 1000"),
        (f"{HEAD}most.x = 1\n", 2, "must be a whole number"),
        (f"{HEAD}quick = 1\n", 2, "tools.test/probe.quick must be true or false"),
        (f'{HEAD}quick = "true"\n', 2, "must be true or false"),
        (f"{HEAD}folder = 1\n", 2, "tools.test/probe.folder must be a string"),
        (f'{HEAD}order = "Size"\n', 2, "tools.test/probe.order must be one of 'name', 'size'"),
        (f"{HEAD}order = 1\n", 2, "must be a string, not the number 1"),
        ("[tools.other]\nmost = 7\n\n[tools.more]\n", 4, "tools.more is not known; known here: "),
    ],
)
def test_misfit_is_refused_with_file_line_and_key(
    config: Path, text: str, line: int, words: str
) -> None:
    told = refusal(config, text)
    assert told.startswith(f"{config}:{line}: "), told
    assert words in told


@pytest.mark.check(46)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("most = \n", "is not TOML: Invalid value (at line 1, column 8)"),
        ("\n[tools\n", "is not TOML: Expected ']' at the end of a table declaration (at line 2"),
        (f"{HEAD}most = 1\nmost = 2\n", "is not TOML: Cannot overwrite a value (at line 3"),
        ("a = " + "[" * 1000 + "\n", "is not TOML"),
        (b'# \xff\nfolder = "x"\n', "can't decode byte 0xff in position 2"),
        (b"\xff\xfea\x00", "can't decode byte 0xff"),
        ("x" * (MAX_FILE_BYTES + 1), "is larger than"),
        ("a." * 50_000, "is larger than"),
    ],
)
def test_unreadable_file_is_refused(config: Path, text: str | bytes, words: str) -> None:
    told = refusal(config, text)
    assert told.startswith(str(config))
    assert words in told


def test_missing_file_is_refused(config: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load(config, TABLES)
    with pytest.raises(SettingsError, match="Is a directory"):
        load(config.parent, TABLES)


@pytest.mark.check(46)
def test_fifo_is_refused_and_not_waited_for(config: Path) -> None:
    os.mkfifo(config)
    with pytest.raises(SettingsError, match="is not a regular file"):
        load(config, TABLES)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o664])
def test_file_that_others_can_write_is_refused(config: Path, mode: int) -> None:
    config.write_text("")
    config.chmod(mode)
    with pytest.raises(SettingsError, match=r"written by other users.*chmod go-w") as caught:
        load(config, TABLES)
    assert str(caught.value).startswith(f"{config}: ")
    config.chmod(mode & ~0o022)
    assert load(config, TABLES) == DEFAULTS


@as_root
def test_file_of_another_user_is_refused_and_root_s_is_taken(folder: Path) -> None:
    config = folder / "config.toml"
    config.write_text("")
    assert as_nobody(lambda: load(config, TABLES) == DEFAULTS)
    os.chown(config, NOBODY, -1)
    assert as_nobody(lambda: load(config, TABLES) == DEFAULTS)
    with pytest.raises(SettingsError, match="belongs to another user"):
        load(config, TABLES)
    os.chown(config, NOBODY - 1, -1)
    assert "belongs to another user" in as_nobody(lambda: told(config))


def told(config: Path) -> str:
    """Return the message about the file `config`."""
    try:
        load(config, TABLES)
    except SettingsError as error:
        return str(error)
    return ""


def test_file_swapped_for_one_of_others_meanwhile_is_refused(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text("")
    real = os.open

    def open_after_a_swap(path: str, flags: int) -> int:
        config.chmod(0o666)
        return real(path, flags)

    monkeypatch.setattr(os, "open", open_after_a_swap)
    with pytest.raises(SettingsError, match="written by other users"):
        load(config, TABLES)


def test_file_of_the_user_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert default_file() is None
    mine = tmp_path / "xdg" / "backstaff" / "config.toml"
    mine.parent.mkdir(parents=True)
    assert default_file() is None
    mine.write_text("")
    assert default_file() == str(mine)


def test_file_of_the_user_stands_below_home_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    mine = tmp_path / ".config" / "backstaff" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    assert default_file() == str(mine)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert default_file() == str(mine)


def test_relative_folder_of_configurations_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / ".config" / "backstaff" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text("")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    assert default_file() == str(mine)


@pytest.mark.parametrize("home", [".", "", "config"])
def test_file_in_the_project_is_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", home)
    for name in ("config.toml", "backstaff.toml", ".backstaff.toml", "pyproject.toml"):
        for parent in (Path("backstaff"), Path("config/backstaff"), Path(".config/backstaff")):
            parent.mkdir(parents=True, exist_ok=True)
            (parent / name).write_text("broken")
        Path(name).write_text("broken")
    assert default_file() is None


def test_every_setting_of_every_tool_can_be_set(config: Path) -> None:
    tables = discover().settings_tables()
    built = {name: make() for name, make in tables.items()}
    lines = []
    for name, settings in built.items():
        lines.append(f'[tools."{name}"]')
        keys = settings.__dataclass_fields__
        lines += [f"{key} = {json.dumps(getattr(settings, key))}" for key in keys]
    config.write_text("\n".join(lines))
    assert load(config, tables).tables == built

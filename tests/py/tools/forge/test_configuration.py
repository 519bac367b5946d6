"""forge/list_directory: the values that a configuration sets and caps.

Each test names the requirements (FR-, NFR-, CFG-LD-...) and scenarios (T-LD-...) that it shows.
"""

from pathlib import Path

import pytest

from backstaff.errors import SettingsError
from backstaff.tools.forge.list_directory import Settings
from tests.py.tools.forge.calls import BUILT_IN, error_of, listed, output, paths, with_config
from tests.py.trees import Plant

FLAGS = [key for key in BUILT_IN if key.startswith("include_")]
KINDS = {
    "include_hidden": ".h",
    "include_files": "f",
    "include_dirs": "d",
    "include_symlinks": "l",
    "include_other": "p",
}


@pytest.fixture
def one_of_each(tree: Plant) -> Path:
    return tree({".h": "", "f": "", "d/": None, "l": {"link": "f"}, "p": {"fifo": True}})


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("argument", [True, False, None])
@pytest.mark.parametrize("configured", [True, False, None])
def test_flag_is_the_argument_else_the_configured_else_the_built_in_one(
    one_of_each: Path, tmp_path: Path, flag: str, *, argument: bool | None, configured: bool | None
) -> None:
    """FR-LD-VAL-06a, CFG-LD-01, -04, -05."""
    line = "" if configured is None else f"{flag}_default = {str(configured).lower()}\n"
    server = with_config(tmp_path, f"[tools.list_directory]\n{line}")
    given = {} if argument is None else {flag: argument}
    effective = next(v for v in (argument, configured, BUILT_IN[flag]) if v is not None)
    found = paths(listed(one_of_each, None, server, **given))
    assert (KINDS[flag] in found) == effective


@pytest.mark.parametrize("configured", [None, 2, 500])
@pytest.mark.parametrize("argument", [None, 1, 2, 3, 200, 201, 500, 501])
def test_configured_max_entries_is_default_and_cap(
    tree: Plant, tmp_path: Path, configured: int | None, argument: int | None
) -> None:
    """FR-LD-VAL-04, -06a, CFG-LD-01, -02, -05."""
    table = "" if configured is None else f"[tools.list_directory]\nmax_entries = {configured}\n"
    cap = configured or 200
    given = {} if argument is None else {"max_entries": argument}
    reply = listed(tree({"a": "", "b": ""}), None, with_config(tmp_path, table), **given)
    if argument and argument > cap:
        said = f"max_entries must be at most {cap}, but it is {argument}"
        assert error_of(reply) == ("BadArgs", said)
    else:
        assert output(reply)["max_entries"] == (argument or cap)


@pytest.mark.parametrize("configured", [None, 1, 6])
@pytest.mark.parametrize("argument", [None, 1, 2, 4, 5, 6, 7])
def test_configured_max_depth_is_default_and_cap(
    tree: Plant, tmp_path: Path, configured: int | None, argument: int | None
) -> None:
    """FR-LD-VAL-03, -06a, -06b, CFG-LD-01, -03, -05."""
    table = "" if configured is None else f"[tools.list_directory]\nmax_depth = {configured}\n"
    cap = configured or 4
    given = {} if argument is None else {"max_depth": argument}
    root = tree({"d/" * 9 + "f": ""})
    reply = listed(root, None, with_config(tmp_path, table), recursive=True, **given)
    if argument and argument > cap:
        said = f"max_depth must be at most {cap}, but it is {argument}"
        assert error_of(reply) == ("BadArgs", said)
    else:
        assert len(paths(reply)) == (argument or cap)


def test_the_contracts_example_is_a_valid_configuration(tmp_path: Path) -> None:
    """CFG-LD-01, -05: and it documents the built-in defaults."""
    example = """
[tools.list_directory]
max_entries = 200
max_depth = 4
include_hidden_default = false
include_symlinks_default = true
include_files_default = true
include_dirs_default = true
include_other_default = false
"""
    configured = with_config(tmp_path, example).settings.tables["list_directory"]
    assert configured == Settings()


@pytest.mark.parametrize(
    "line",
    [
        *("max_entries = 0", "max_entries = true", 'max_entries = "200"', "max_entries = 1.0"),
        *("max_entries = 100001", "max_depth = 0", "max_depth = 65", "max_depth = -5"),
        *("include_hidden_default = 1", 'include_files_default = "yes"', "include_hidden = true"),
        *("recursive = true", "max_depth = 1e22", "max_depth = nan", "max_depth = [4]"),
    ],
)
def test_bad_configuration_is_refused_naming_file_line_and_key(tmp_path: Path, line: str) -> None:
    """CFG-LD-01."""
    with pytest.raises(SettingsError) as caught:
        with_config(tmp_path, f"[tools.list_directory]\n\n{line}\n")
    key = line.partition(" ")[0]
    place = f"{tmp_path / 'config.toml'}:3: tools.list_directory.{key} "
    assert str(caught.value).startswith(place)


def test_configuration_inside_the_project_is_never_read(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CFG-LD-01: a project must not lift the limits that hold for it."""
    toml = "[tools.list_directory]\nmax_entries = 1\n"
    root = tree(dict.fromkeys(("config.toml", "backstaff/config.toml"), toml))
    monkeypatch.chdir(root)
    assert output(listed(root))["max_entries"] == 200

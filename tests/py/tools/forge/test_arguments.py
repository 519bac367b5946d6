"""forge/list_directory: which arguments it takes, and which paths.

Each test names the requirements (FR-, NFR-, CFG-LD-...) and scenarios (T-LD-...) that it shows.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backstaff.errors import ToolError
from backstaff.tools.forge.list_directory import normalized
from tests.py.processes import unprivileged
from tests.py.tools.forge.calls import ID, SERVER, error_of, listed, output, paths
from tests.py.tools.random_trees import OUTSIDE
from tests.py.trees import Plant

# ---------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": ""}, "path must not be empty"),
        ({"path": " \t\n"}, "path must not be empty"),
        ({"path": None}, "path"),
        ({"path": 5}, "path"),
        ({"path": "a\x00b"}, "control"),
        ({"path": "a\nb"}, "control"),
        ({"path": "a\x1b[2Jb"}, "control"),
        ({"path": "a\x7fb"}, "control"),
        ({"path": "a\x9bb"}, "control"),
        ({"path": "\ud800"}, "no file name"),
        ({"path": "x/" * 2049}, "longer than"),
        ({"recursive": "true"}, "recursive"),
        ({"recursive": 1}, "recursive"),
        ({"max_depth": 2}, "max_depth must be absent or 1 when recursive is false"),
        ({"max_depth": 2, "recursive": False}, "max_depth must be absent or 1"),
        ({"max_depth": 5, "recursive": True}, "max_depth must be at most 4, but it is 5"),
        ({"max_depth": 0, "recursive": True}, "max_depth"),
        ({"max_depth": -1}, "max_depth"),
        ({"max_depth": 1.5, "recursive": True}, "max_depth"),
        ({"max_depth": "1"}, "max_depth"),
        ({"max_entries": 201}, "max_entries must be at most 200, but it is 201"),
        ({"max_entries": 0}, "max_entries"),
        ({"max_entries": True}, "max_entries"),
        ({"max_entries": 1e300}, "max_entries"),
        (
            {"include_files": False, "include_dirs": False, "include_symlinks": False},
            "one of include_files, include_dirs and include_symlinks must be true",
        ),
        (
            {
                "include_files": False,
                "include_dirs": False,
                "include_symlinks": False,
                "include_other": True,
            },
            "one of include_files",
        ),
    ],
)
def test_refusal_of_bad_arguments_names_the_remedy(
    tree: Plant, arguments: dict[str, object], said: str
) -> None:
    """FR-LD-VAL-01, -02, -04, -05, -06b, FR-LD-ERR-01."""
    code, message = error_of(listed(tree({"a": ""}), **arguments))
    assert code == "BadArgs"
    assert said in str(message)


def test_missing_path_is_a_bad_argument(tree: Plant) -> None:
    """FR-LD-VAL-01."""
    reply = SERVER.call(ID, {}, {"root": str(tree({}))})
    assert error_of(reply)[0] == "BadArgs"


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_depth": 1},
        {"max_depth": 1.0, "max_entries": 200.0},
        {"max_depth": None, "max_entries": None, "recursive": None, "include_files": None},
        {"include_files": False, "include_dirs": False},
        {"recursive": True, "max_depth": 4, "max_entries": 200},
    ],
)
def test_arguments_at_their_limits_are_taken(tree: Plant, arguments: dict[str, object]) -> None:
    """FR-LD-VAL-02, -04, -05, -06b."""
    assert listed(tree({"a": ""}), **arguments).ok


def test_recursive_without_max_depth_goes_to_the_configured_depth(tree: Plant) -> None:
    """FR-LD-VAL-03."""
    root = tree({"a/b/c/d/e/f": ""})
    assert paths(listed(root, recursive=True))[-1] == "a/b/c/d"


def test_other_entries_are_those_that_are_nothing_else(tree: Plant) -> None:
    """FR-LD-VAL-06."""
    root = tree({"p": {"fifo": True}, "f": "", "d/": None, "l": {"link": "p"}})
    assert paths(listed(root)) == ["d", "f", "l"]
    entries = output(listed(root, include_other=True))["entries"]
    assert {e["path"]: e["type"] for e in entries} == {
        "d": "dir",
        "f": "file",
        "l": "symlink",
        "p": "other",
    }
    assert next(e for e in entries if e["path"] == "p")["size_bytes"] is None


# ---------------------------------------------------------------------------- paths


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (".", "."),
        ("./", "."),
        (".//.", "."),
        ("a", "a"),
        ("  a  ", "a"),
        ("./a/", "a"),
        ("a//b///c", "a/b/c"),
        ("a\\b\\.\\c\\", "a/b/c"),
        ("a/./b/.", "a/b"),
        ("A/b", "A/b"),
        ("...", "..."),
        ("a..b", "a..b"),
        ("~", "~"),
        ("$HOME/*", "$HOME/*"),
        ("C:x", "C:x"),
        ("é/\U0001f600", "é/\U0001f600"),
    ],
)
def test_path_is_normalized(path: str, shown: str) -> None:
    """FR-LD-VAL-10, NFR-LD-PORT-01."""
    assert normalized(path) == shown


@pytest.mark.parametrize("path", ["\x1f.", "\x1c.\x1d", ".\x1e", "\x1f", " \x1c d "])
def test_control_character_at_an_end_is_no_white_space(project: Path, path: str) -> None:
    """FR-LD-VAL-01, -10: only white space is trimmed."""
    code, message = error_of(listed(project, path=path))
    assert (code, message) == ("BadArgs", "path must not hold control characters")


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\r\n", "\x0b", "\x85", "\u3000"])
def test_white_space_around_a_path_is_trimmed(blank: str) -> None:
    """FR-LD-VAL-10."""
    assert normalized(f"{blank}d{blank}") == "d"


WORDS = st.sampled_from(("/", "\\", ".", "..", " ", "a", "b", "C:", "é", "\u3000", "\t", "\udcff"))


def outcome(path: str) -> str:
    """Return `path` normalized, or the code with which it is refused."""
    try:
        return normalized(path)
    except ToolError as error:
        return error.code


@given(st.lists(WORDS, max_size=9).map("".join))
@example("./C:/x")
@example(" /a")
@example("a /")
def test_normalized_path_is_relative_stays_below_and_stays_as_it_is(path: str) -> None:
    """FR-LD-VAL-07, -10: idempotent, except for a name that begins or ends with a blank."""
    shown = outcome(path)
    if shown in ("BadArgs", "SandboxViolation"):
        return
    assert not re.match(r"/|[A-Za-z]:(/|\Z)", shown)
    assert not {"", ".."} & set(shown.split("/"))
    assert shown == "." or "." not in shown.split("/")
    assert "\\" not in shown
    if shown == shown.strip():
        assert normalized(shown) == shown


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../", "../outside", "d/../..", "d/..", "../R", "d\\..\\..\\x", " .. "),
        *("/", "/etc", "//etc", "\\", "\\etc", "C:", "C:/", "c:\\x", "./C:/x", "\\\\server\\share"),
        *("out", "out/", "up", "up/outside", f"out/{OUTSIDE}", "out/missing", "in/../../x"),
    ],
)
def test_path_outside_the_sandbox_is_a_violation(project: Path, path: str) -> None:
    """T-LD-03, FR-LD-VAL-07, FR-LD-ERR-02, NFR-LD-SEC-01."""
    code, message = error_of(listed(project, path=path))
    assert code == "SandboxViolation"
    assert str(project) not in str(message)


def test_missing_and_existing_outside_paths_are_answered_alike(project: Path) -> None:
    """FR-LD-ERR-02: no answer shows anything of the outside."""
    there, missing = (listed(project, path=f"out/{name}") for name in (OUTSIDE, "missing"))
    assert there.text == missing.text


def test_sandbox_is_asked_before_the_file_system(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FR-LD-VAL-07, NFR-LD-SEC-01: a path that leaves as written opens nothing."""
    opened: list[object] = []
    real = os.open

    def noting(path: Any, *arguments: Any, **options: Any) -> int:  # noqa: ANN401
        opened.append(path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", noting)
    for path in ("d/../../outside", "/etc", "C:\\x"):
        assert not listed(project, path=path).ok
    assert set(opened) == {str(project)}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("f", "path is not a directory"),
        ("f/", "path is not a directory"),
        ("missing", "path does not exist"),
        ("d/missing", "path does not exist"),
        ("f/x", "path does not exist"),
        ("dangling", "path does not exist"),
        ("x" * 256, "path does not exist"),
        ("~", "path does not exist"),
        ("/".join(["loop"] * 41), "path cannot be read: too many levels of symbolic links"),
    ],
)
def test_path_that_is_no_directory_fails_with_clear_words(
    project: Path, path: str, said: str
) -> None:
    """T-LD-02, FR-LD-VAL-08, FR-LD-ERR-03."""
    assert error_of(listed(project, path=path)) == ("ExecutionFailed", said)


def test_unreadable_path_fails_with_clear_words(tree: Plant) -> None:
    """FR-LD-VAL-08."""
    root = tree({"d/": None})
    (root / "d").chmod(0o311)
    error = unprivileged(lambda: listed(root, path="d").error)
    assert error == {
        "code": "ExecutionFailed",
        "message": "path cannot be read: permission denied",
    }


def test_link_to_a_directory_inside_can_be_listed(project: Path) -> None:
    """FR-LD-VAL-08, -10: the path stands as it was asked for."""
    reply = listed(project, path="in/")
    assert output(reply)["path"] == "in"
    assert paths(reply) == ["e", "f"]

"""The command line, run as a user runs it."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
import sexpdata

from backstaff import __version__
from backstaff.registry import discover
from tests.py.epc import ISOLATED, SOURCE, plain
from tests.py.processes import DEADLINE, unprivileged
from tests.py.trees import Plant

pytestmark = pytest.mark.slow

Completed = subprocess.CompletedProcess[str]


def run(
    *arguments: str,
    command: tuple[str, ...] = ISOLATED,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Completed:
    """Return the outcome of a command, without the user's own configuration."""
    environment = {**os.environ, "XDG_CONFIG_HOME": "/nonexistent", **(env or {})}
    return subprocess.run(  # noqa: S603
        (*command, *arguments),
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=DEADLINE,
        check=False,
        cwd=cwd,
        env=environment,
    )


@pytest.fixture
def root(tree: Plant) -> Path:
    return tree({"f": "12345", "d/": None})


def call(root: Path, tool: str, arguments: object, *options: str) -> Completed:
    return run("call", tool, json.dumps(arguments), "--root", str(root), *options)


# ---------------------------------------------------------------------------- call


def test_call_prints_text(root: Path) -> None:
    done = call(root, "agent-q/list_directory", {"path": "."})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Directory: {root}/\nTotal: 1 file, 1 directory\n\n[DIR]  d/\n")
    assert done.stdout.endswith("(0.0 KB)\n")


def test_call_takes_the_name_that_models_know_and_answers_with_ids(root: Path) -> None:
    done = call(root, "read_file", {"path": "d"})
    assert done.returncode == 1
    assert 'workspace/search_files {"path": "d", "query": "**",' in done.stdout


def test_bare_python_that_finds_the_package_finds_its_libraries(root: Path) -> None:
    bare = (sys.executable, "-I", "-S", "-c")
    program = (
        f"import runpy, sys; sys.path.insert(0, {str(SOURCE)!r});"
        " runpy.run_module('backstaff', run_name='__main__')"
    )
    done = run(
        "call", "regexp_search", '{"pattern": "5"}', "--root", str(root), command=(*bare, program)
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "1: 12345" in done.stdout


def test_argument_too_many_is_a_usage_error(root: Path) -> None:
    done = run("call", "get_file_info", "{}", "--root", str(root), "more")
    assert done.returncode == 2
    assert "unrecognized arguments: more" in done.stderr


def test_call_prints_json(root: Path) -> None:
    done = call(root, "get_file_info", {"path": "f"}, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    printed = json.loads(done.stdout)
    assert (printed["path"], printed["size"], printed["type"]) == (f"{root}/f", 5, "file")


def test_json_is_the_tools_output_and_warnings_go_to_stderr_as_the_help_says(root: Path) -> None:
    given = {"pattern": "x", "path": "."}
    done = call(root, "regexp_search", given, "--format", "json")
    assert done.stderr == "backstaff: Unknown argument ignored: path\n"
    assert json.loads(done.stdout)["warnings"] == []  # contract 006: the search's own
    assert "warnings go to stderr" in " ".join(run("call", "--help").stdout.split())


def test_call_prints_lisp(root: Path) -> None:
    done = call(root, "get_file_info", {"path": "f"}, "--format", "sexp")
    assert (done.returncode, done.stderr) == (0, "")
    printed = plain(sexpdata.loads(done.stdout))
    assert printed[":ok"] is True
    assert printed[":data"][":size"] == 5


def test_failed_call_says_so(root: Path) -> None:
    done = call(root, "agent-q/list_directory", {"path": "../x"})
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "Error: Path '../x' is outside project root\n"


def test_failed_call_has_a_form_for_programs(root: Path) -> None:
    done = call(root, "get_file_info", {"path": "no"}, "--format", "json")
    assert done.returncode == 1
    printed = json.loads(done.stdout)
    assert (printed["ok"], printed["error"]["code"]) == (False, "NOT_FOUND")
    done = call(root, "get_file_info", {"path": "no"}, "--format", "sexp")
    assert done.returncode == 1
    assert plain(sexpdata.loads(done.stdout))[":error"][":code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("agent-q/list_directory",), "Missing required argument 'path'"),
        (("agent-q/list_directory", '{"path": 3}'), "must be a string"),
        (("agent-q/list_directory", '{"path": "/nonexistent"}'), "is outside project root"),
    ],
)
def test_call_that_the_tool_refuses_fails(arguments: tuple[str, ...], words: str) -> None:
    done = run("call", *arguments)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("Error: ")
    assert words in done.stdout


@pytest.mark.parametrize("form", ["text", "json", "sexp"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("agent-q/nothing",), "No such tool: agent-q/nothing (there are agent-q/"),
        (("agent-q/list_directory", "{"), "not JSON"),
        (("agent-q/list_directory", "[]"), "not an object"),
        (("agent-q/list_directory", '{"path": "."}', "--root", "/nonexistent"), "does not exist"),
        (("agent-q/list_directory", "{}", "--root", "/dev/null"), "is not a directory"),
        (("agent-q/nothing", "{", "--root", "/nonexistent"), "not JSON"),
    ],
)
def test_call_that_no_tool_can_get_is_misuse(
    arguments: tuple[str, ...], words: str, form: str
) -> None:
    done = run("call", *arguments, "--format", form)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("backstaff: ")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


ODD_NAME = "a\x9b31m\u202eb\u200b\U000e0041\U0001f469\u200d\U0001f4bb\x1b"
ESCAPED_NAME = "a\\u009b31m\\u202eb\\u200b\\udb40\\udc41\U0001f469\u200d\U0001f4bb\\u001b"


def on_terminal(*arguments: str) -> str:
    """Return the output of a command on a terminal."""
    screen, terminal = pty.openpty()
    done = subprocess.Popen((*ISOLATED, *arguments), stdout=terminal, stdin=subprocess.DEVNULL)  # noqa: S603
    os.close(terminal)
    printed = b""
    with suppress(OSError):  # EIO: the command has ended
        while data := os.read(screen, 1 << 16):
            printed += data
    os.close(screen)
    assert done.wait(DEADLINE) == 0
    return printed.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("form", ["text", "json", "sexp"])
def test_name_cannot_drive_a_terminal(tree: Plant, form: str) -> None:
    root = tree({ODD_NAME: ""})
    arguments = ("call", "forge/list_directory", '{"path": "."}', "--root", str(root))
    shown = on_terminal(*arguments, "--format", form)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\U000e0041]", shown)
    assert ESCAPED_NAME in shown.replace("\\\\", "\\")
    if form != "sexp":
        piped = run(*arguments, "--format", form).stdout
        assert "\u202e" in piped
        assert json.loads(shown) == json.loads(piped)


def test_root_is_the_working_directory_or_relative_to_it(root: Path) -> None:
    arguments = ("call", "list_directory", '{"path": "."}')
    assert run(*arguments, cwd=root).stdout.startswith(f"Directory: {root}/\n")
    inner = run(*arguments, "--root", "d", cwd=root)
    assert inner.stdout.startswith(f"Directory: {root}/d/\n")


def test_odd_names_are_printed(tree: Plant) -> None:
    root = tree({"日本": ""})
    (root / os.fsdecode(b"clich\xe9\n")).touch()
    for environment in ({}, {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}):
        done = run(
            *("call", "list_directory", '{"path": "."}', "--root", str(root)), env=environment
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "[FILE] 日本 " in done.stdout
        assert '[FILE] "clich\\udce9\\n" ' in done.stdout


# ---------------------------------------------------------------------------- tools


def test_tools_are_printed_as_json() -> None:
    done = run("tools", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == discover().definitions()


def test_tools_are_printed_for_people() -> None:
    done = run("tools")
    assert (done.returncode, done.stderr) == (0, "")
    for definition in discover().definitions():
        assert f"{definition['id']}\n    {definition['description']}\n" in done.stdout


def test_version_is_printed() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"backstaff {__version__}\n")


def test_package_can_be_run_by_its_name(root: Path) -> None:
    script = (sys.executable, "-m", "backstaff")
    done = run("--version", command=script, cwd=root, env={"PYTHONPATH": str(SOURCE)})
    assert (done.returncode, done.stdout) == (0, f"backstaff {__version__}\n")


# ---------------------------------------------------------------------------- misuse


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nothing",),
        ("call",),
        ("call", "x", "{}", "more"),
        ("call", "x", "--format", "xml"),
        ("serve", "--log-level", "loud"),
        ("serve", "--port", "1"),
        ("tools", "--root", "."),
    ],
)
def test_misuse_is_reported_with_the_usage(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: backstaff")
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["call", "serve"])
def test_configuration_that_cannot_be_used_stops_the_start(tmp_path: Path, command: str) -> None:
    config = tmp_path / "mine.toml"
    config.write_text('[tools."agent-q/list_directory"]\nmax_output_bytes = true\n')
    tool = ("agent-q/list_directory",) if command == "call" else ()
    done = run(command, *tool, "--config", str(config))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"backstaff: {config}:2: tools.agent-q/list_directory.max_output_bytes"
        " must be a whole number, not true\n"
    )


def test_missing_configuration_stops_the_start(tmp_path: Path) -> None:
    done = run("serve", "--config", str(tmp_path / "no.toml"))
    assert done.returncode == 2
    assert done.stderr.endswith("no.toml: cannot be read: No such file or directory\n")


def test_log_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    done = run("serve", "--log-file", str(tmp_path / "no" / "log"))
    assert done.returncode == 2
    assert done.stderr.startswith("backstaff: ")
    assert "Traceback" not in done.stderr


def dangling(config: Path) -> None:
    config.symlink_to("nothing")


def link_in_a_circle(config: Path) -> None:
    config.symlink_to(config)


def below_a_file(config: Path) -> None:
    config.parent.rmdir()
    config.parent.write_text("")


UNREADABLE: dict[str, tuple[Callable[[Path], None], str]] = {
    "dangling": (dangling, "No such file or directory"),
    "circle": (link_in_a_circle, "symbolic links"),
    "fifo": (os.mkfifo, "is not a regular file"),
    "directory": (Path.mkdir, "Is a directory"),
    "below a file": (below_a_file, "Not a directory"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("command", [("serve", "--stdio"), ("call", "list_directory")])
def test_configuration_that_is_there_and_cannot_be_read_stops_the_start(
    tmp_path: Path, kind: str, command: tuple[str, ...]
) -> None:
    """Otherwise a policy that denies would deny nothing."""
    make, words = UNREADABLE[kind]
    config = tmp_path / "backstaff" / "config.toml"
    config.parent.mkdir()
    make(config)
    done = run(*command, env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"backstaff: {config}: ")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_configuration_in_a_folder_that_may_not_be_entered_stops_the_start(folder: Path) -> None:
    (folder / "backstaff").mkdir()
    (folder / "backstaff" / "config.toml").write_text("")
    folder.chmod(0o600)
    done = unprivileged(lambda: run("serve", "--stdio", env={"XDG_CONFIG_HOME": str(folder)}))
    folder.chmod(0o755)
    assert done.returncode == 2
    assert done.stderr.startswith(f"backstaff: {folder}/backstaff/config.toml: cannot be read: ")


def test_configuration_applies(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "backstaff" / "config.toml"
    config.parent.mkdir()
    config.write_text('[tools."agent-q/list_directory"]\nheader = "relative"\n')
    arguments = ("call", "list_directory", '{"path": "d"}', "--root", str(root))
    named = run(*arguments, "--config", str(config))
    found = run(*arguments, env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert named.stdout == found.stdout == "Directory: d/\nTotal: 0 files, 0 directories\n\n"


def test_configuration_in_the_project_is_never_read(root: Path) -> None:
    for name in ("config.toml", "backstaff.toml", ".backstaff.toml", "backstaff/config.toml"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("broken = ")
    arguments = ("call", "list_directory", '{"path": "d"}')
    done = run(*arguments, cwd=root, env={"XDG_CONFIG_HOME": "", "HOME": str(root / "home")})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("named", [True, False])
def test_configuration_inside_the_root_can_only_forbid(tree: Plant, *, named: bool) -> None:
    home = tree({"d/": None, ".config/backstaff/config.toml": CONFIGURATION})
    config = home / ".config" / "backstaff" / "config.toml"
    options = ("--config", str(config)) if named else ()

    def calling(tool: str, root: Path) -> Completed:
        return run(
            *("call", tool, '{"path": "."}', "--root", str(root), *options),
            env={"XDG_CONFIG_HOME": "", "HOME": str(home)},
        )

    below = calling("agent-q/list_directory", home / "d")
    assert (below.stdout, below.stderr) == ("Directory: ./\nTotal: 0 files, 0 directories\n\n", "")
    inside = calling("agent-q/list_directory", home)
    assert inside.returncode == 0
    assert inside.stdout.startswith(f"Directory: {home}/\n")
    assert inside.stderr == (
        f"backstaff: The settings file '{config}' lies inside the root:"
        " it may be the project's, so only its policy holds\n"
    )
    assert calling("get_file_info", home).stderr == ""  # of which the file says nothing
    for root in (home, home / "d"):
        denied = calling("workspace/tree", root)
        assert (denied.returncode, "denies the tool" in denied.stdout) == (1, True)


CONFIGURATION = """
[policy]
deny = ["workspace/tree"]
[tools."agent-q/list_directory"]
header = "relative"
"""

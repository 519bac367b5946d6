"""Facts that several files of the project state agree."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from backstaff import __version__
from dev import libraries

PROJECT = Path(__file__).parents[2]
ARCHIVE = PROJECT / "py_backend/libraries.zip"
IMPORTED_AS = {"pyyaml": "yaml"}
PINS = dict(re.findall(r"(?m)^([a-z]+)==(\S+) ", (PROJECT / "dev/libraries.txt").read_text()))


def dependencies() -> list[Requirement]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    return [Requirement(text) for text in project["dependencies"]]


def test_every_library_that_the_server_needs_comes_along_in_a_version_it_may_have() -> None:
    assert {need.name: True for need in dependencies()} == {
        need.name: need.specifier.contains(PINS.get(need.name, "0")) for need in dependencies()
    }
    assert list(PINS) == sorted(need.name for need in dependencies())


def test_archive_of_the_libraries_is_made_of_the_listed_ones() -> None:
    with zipfile.ZipFile(ARCHIVE) as archive:
        named = archive.read("libraries.txt").decode()
        assert named == (PROJECT / "dev/libraries.txt").read_text(), "run: python dev/libraries.py"
        licences = {name.split("/")[1] for name in archive.namelist() if "licenses/" in name}
    assert licences == PINS.keys()


def installed(module: str) -> dict[str, bytes]:
    """Return the installed files of `module`, by their names in the archive."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    origin = Path(spec.origin)
    package = origin.name == "__init__.py"
    top = origin.parents[1] if package else origin.parent
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in (origin.parent.rglob("*.py") if package else [origin])
        if "tests" not in path.parts
    }


@cache
def published() -> dict[str, bytes]:
    """Return all files of the archive, from its distributions."""
    try:
        return libraries.published()
    except subprocess.CalledProcessError:
        pytest.skip("needs the network")


@pytest.mark.parametrize("library", PINS)
def test_library_that_comes_along_is_the_published_one(library: str) -> None:
    module = IMPORTED_AS.get(library, library)

    def own(files: dict[str, bytes]) -> dict[str, bytes]:
        return {name: files[name] for name in files if re.match(rf"{module}(/.*)?\.py$", name)}

    with zipfile.ZipFile(ARCHIVE) as archive:
        along = own({name: archive.read(name) for name in archive.namelist()})
    # If another release is installed, the published one is downloaded.
    same = version(library) == PINS[library]
    assert along == own(installed(module) if same else published())
    assert along


def bare(*arguments: str) -> bytes:
    """Run the server like Emacs, on a Python without libraries."""
    command = [sys.executable, "-I", "-S", str(PROJECT / "py_backend/backstaff/__main__.py")]
    done = subprocess.run([*command, *arguments], stdout=subprocess.PIPE, check=True)  # noqa: S603
    return done.stdout


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("commands/list_commands", "{}"), ("workspace/tree", '{"path": ".", "exclude": ["{a,b}"]}')],
)
def test_python_without_libraries_runs_the_tools_that_need_them(tool: str, arguments: str) -> None:
    # The first reads YAML; the second expands braces and matches patterns.
    root = str(PROJECT / "dev/example")
    assert json.loads(bare("call", tool, arguments, "--root", root, "--format", "json"))


def test_python_without_libraries_serves_tcp() -> None:
    program = f"import sys; sys.path.append({str(ARCHIVE)!r}); import epc.server, epc.handler"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)  # noqa: S603


@pytest.mark.slow
def test_libraries_in_the_archive_and_installed_ones_make_the_same_bundle(tmp_path: Path) -> None:
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path)
    main = str(PROJECT / "py_backend/backstaff/__main__.py")
    program = (
        f"import runpy, sys; sys.path.append({str(tmp_path)!r}); sys.argv = [{main!r}, 'bundle'];"
        f" runpy.run_path({main!r}, run_name='__main__')"
    )
    command = [sys.executable, "-I", "-S", "-c", program]
    installed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout  # noqa: S603
    assert bare("bundle") == installed


def test_emacs_and_server_have_one_version_and_the_changelog_knows_it() -> None:
    lisp = "".join(file.read_text() for file in (PROJECT / "elisp").glob("backstaff*.el"))
    changelog = (PROJECT / "CHANGELOG.md").read_text()
    assert re.findall(r"(?m)^;; Version: (.+)$", lisp) == [__version__]
    assert re.findall(r'defconst backstaff-server-version "(.+)"', lisp) == [__version__]
    # The newest heading is this version's, or Unreleased.
    heading = re.search(r"(?m)^## \[(.+?)\].*\n\n(.*)", changelog)
    assert heading is not None
    assert __version__ in (heading[1], *re.findall(r"\b\d+\.\d+\.\d+\b", heading[2]))

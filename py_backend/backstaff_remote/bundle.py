"""Collects the parts of a start on another host: the program for its command line, the payload.

The payload holds the sources of the package and of the libraries that it imports. Its bytes depend
on nothing else, so a host that keeps them gets them only once. To compile them takes 20 ms of a
start.
"""

import ast
import base64
import hashlib
import marshal
import pkgutil
import sys
import zlib
from collections.abc import Iterator
from importlib.abc import PathEntryFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, cast
from zipimport import zipimporter

PACKAGES = ("backstaff", "backstaff_remote", "bracex", "pathspec", "sexpdata", "yaml")
"""All that the host imports; only TCP uses epc."""
START = """\
import gc, sys
gc.disable()
module = type(sys)("backstaff_remote.memory")
exec(files["backstaff_remote/memory.py"], module.__dict__)
module.install(files)
from backstaff_remote.host import main
main(say, how, int(sys.argv[4]))
"""
"""Stage 0 runs this part of the payload, with its own `files`, `how` and `say`."""
_FORMAT = 2
"""In later formats of `marshal`, the same payload may make other bytes."""


class Bundle(NamedTuple):
    """The program for `python3 -c`, a line of ASCII, and the payload."""

    program: str
    payload: bytes


def collect() -> Bundle:
    """Bundle the installed packages. Raises ImportError if one is missing."""
    source: dict[str, bytes] = {}
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None:
            raise ImportError(f"{sys.executable} has no {package}")
        source |= sorted(_sources(spec, ""))
    # Stage 0 goes without its docstring and comments.
    stage0 = ast.parse(Path(__file__).with_name("stage0.py").read_text("utf-8"))
    stage0.body = stage0.body[1:]
    packed = base64.b64encode(zlib.compress(ast.unparse(stage0).encode(), 9)).decode()
    return Bundle(
        program=f"import base64,zlib;exec(zlib.decompress(base64.b64decode(b'{packed}')))",
        payload=zlib.compress(marshal.dumps({"start": START, **source}, _FORMAT), 9),
    )


def digest(payload: bytes) -> str:
    """Return the name of `payload` in a cache: its SHA-256, in hex digits."""
    return hashlib.sha256(payload).hexdigest()


def _sources(spec: ModuleSpec, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield (name, source) of the module of `spec` and of all below it; they lie in `folder`."""
    stem = folder + spec.name.rpartition(".")[2]
    inside = spec.submodule_search_locations
    loader = cast(SourceFileLoader | zipimporter, spec.loader)
    yield stem + (".py" if inside is None else "/__init__.py"), loader.get_data(str(spec.origin))
    for place in inside or ():
        for finder, name, _ in pkgutil.iter_modules([place]):
            # Only a path entry's finder is asked, so nothing is imported.
            found = cast(PathEntryFinder, finder).find_spec(name)
            if found and str(found.origin).endswith(".py"):  # PyYAML may have a compiled module
                yield from _sources(found, stem + "/")

"""Collects the parts of a start on another host: the program for its command line, the payload.

A payload holds the package and the libraries it imports, as this Python has them. There are two.
One holds code, for a host whose Python has the same bytecode, and starts twice as fast; the other
holds sources, for any Python. The bytes of a payload depend on nothing else, so a host that keeps
them gets them only once.
"""

import ast
import base64
import hashlib
import marshal
import pkgutil
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.abc import PathEntryFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from typing import cast
from zipimport import zipimporter

from backstaff_remote.memory import FOLDER

PACKAGES = ("backstaff", "backstaff_remote", "bracex", "pathspec", "sexpdata", "yaml")
"""All that the host imports; only TCP uses epc."""
START = """\
import gc, marshal, sys
gc.disable()
module = type(sys)("backstaff_remote.memory")
exec({loads}(files["backstaff_remote/memory.py"]), module.__dict__)
module.install(files, {loads})
from backstaff_remote.host import main
main(say, how, int(sys.argv[7]))
"""
"""Stage 0 runs this part of a payload, with its own `files`, `how` and `say`."""
_FORMAT = 2
"""In later formats of `marshal`, the same code may make other bytes."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The program for `python3 -c`, a line of ASCII, and the payloads.

    `code` is for a Python whose bytecode has the number `magic` (hex digits), `source` for others.
    """

    program: str
    magic: str
    code: bytes
    source: bytes


def collect() -> Bundle:
    """Bundle the installed packages. Raises ImportError if one is missing."""
    source: dict[str, bytes] = {}
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None:
            raise ImportError(f"{sys.executable} has no {package}")
        source |= sorted(_sources(spec, ""))
    # Each module's code is marshalled by itself, as most starts need half of the modules. It is
    # compiled as if it lay in FOLDER, to keep the paths of this host private.
    code = {
        name: marshal.dumps(compile(text, f"{FOLDER}/{name}", "exec", dont_inherit=True), _FORMAT)
        for name, text in source.items()
    }
    # Stage 0 goes without its docstring and comments.
    stage0 = ast.parse(Path(__file__).with_name("stage0.py").read_text("utf-8"))
    stage0.body = stage0.body[1:]
    packed = base64.b64encode(zlib.compress(ast.unparse(stage0).encode(), 9)).decode()
    return Bundle(
        program=f"import base64,zlib;exec(zlib.decompress(base64.b64decode(b'{packed}')))",
        magic=MAGIC_NUMBER.hex(),
        code=_payload(code, "marshal.loads"),
        source=_payload(source, "bytes"),
    )


def digest(payload: bytes) -> str:
    """Return the name of `payload` in a cache: its SHA-256, in hex digits."""
    return hashlib.sha256(payload).hexdigest()


def _payload(files: Mapping[str, bytes], loads: str) -> bytes:
    start = START.format(loads=loads)
    return zlib.compress(marshal.dumps({"start": start, **files}, _FORMAT), 9)


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

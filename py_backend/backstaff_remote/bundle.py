"""Collects the parts of a start on another host: the program for its command line, the payload.

The payload holds the sources of the package and of the libraries that it imports. Its bytes depend
on nothing else, so a host that keeps them gets them only once. Compiling takes 20 ms of a start.
"""

import ast
import base64
import inspect
import marshal
import zlib
from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

# All packages that the host imports, beside the module sexpdata; only TCP uses epc.
PACKAGES = ("backstaff", "backstaff_remote", "bracex", "pathspec", "yaml")
_FORMAT = 2  # in later formats of `marshal`, the same payload may make other bytes


def collect() -> tuple[str, bytes]:
    """Return the program for `python3 -c`, a line of ASCII, and the payload. Raises ImportError."""
    source = {"sexpdata.py": inspect.getsource(import_module("sexpdata")).encode()}
    for package in PACKAGES:
        source |= sorted(_sources(files(package), package))
    # Stage 0 goes without its docstring and comments.
    stage0 = ast.parse(Path(__file__).with_name("stage0.py").read_text("utf-8"))
    stage0.body = stage0.body[1:]
    packed = base64.b64encode(zlib.compress(ast.unparse(stage0).encode(), 9)).decode()
    program = f"import base64,zlib;exec(zlib.decompress(base64.b64decode(b'{packed}')))"
    return program, zlib.compress(marshal.dumps(source, _FORMAT), 9)


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield (name, source) of each module in `folder`, a directory on disk or in an archive."""
    for item in folder.iterdir():
        inside = f"{name}/{item.name}"
        if item.is_dir():
            yield from _sources(item, inside)
        elif inside.endswith(".py"):
            yield inside, item.read_bytes()

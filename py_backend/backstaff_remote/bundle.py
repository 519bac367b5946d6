"""Collects what a start on another host needs: the program for its command line, and the payload.

A payload is what this very Python would run here: the package and the libraries it imports. There
are two. One holds code, for a host whose Python has the same bytecode, and starts twice as fast;
the other holds sources, for any. The bytes of either depend on nothing else, so that a host that
has kept them once need not be sent them again.
"""

import ast
import base64
import hashlib
import marshal
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from types import CodeType

from backstaff_remote.memory import FOLDER

PACKAGES = ("backstaff", "backstaff_remote", "bracex", "pathspec", "sexpdata", "yaml")
"""All that is imported there; epc is TCP's alone."""
LEFT_OUT = (
    "backstaff/__main__.py",
    "backstaff/command_line.py",
    "backstaff/log.py",
    "backstaff/wire/peer.py",
    "backstaff/wire/tcp.py",
    "backstaff_remote/bundle.py",
    "backstaff_remote/stage0.py",
    "bracex/__main__.py",
)
"""Files that only a run on this host needs."""
START = """\
import gc, marshal, sys
gc.disable()
module = type(sys)("backstaff_remote.memory")
exec({loads}(files["backstaff_remote/memory.py"]), module.__dict__)
module.install(files, {loads})
from backstaff_remote.host import main
main(say, how, int(sys.argv[7]))
"""
"""What stage 0 runs of a payload, with its own `files`, `how` and `say`."""
_LOADS_CODE, _LOADS_SOURCE = "marshal.loads", "bytes"
_CODE_FORMAT = 2
"""The last format of `marshal` in which the same code always makes the same bytes."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What goes to a host."""

    program: str
    """For `python3 -c`: one line of ASCII."""
    magic: str
    """The bytecode that `code` is of, in hex digits."""
    code: bytes
    """The payload for a Python of that bytecode."""
    source: bytes
    """The payload for any other."""


def collect() -> Bundle:
    """The bundle of what is installed here. Raises ImportError if something is missing."""
    modules = dict(_modules())
    source = _payload({name: path.read_bytes() for name, path in modules.items()}, _LOADS_SOURCE)
    code = _payload({name: _code(name, path) for name, path in modules.items()}, _LOADS_CODE)
    return Bundle(_program(), MAGIC_NUMBER.hex(), code, source)


def digest(payload: bytes) -> str:
    """The name of PAYLOAD in a cache: its SHA-256, in hex digits."""
    return hashlib.sha256(payload).hexdigest()


def _payload(files: Mapping[str, bytes], loads: str) -> bytes:
    start = START.format(loads=loads)
    return zlib.compress(marshal.dumps({"start": start, **files}, _CODE_FORMAT), 9)


def _modules() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise ImportError(f"{sys.executable} has no {package}")
        origin = Path(spec.origin)
        inside = sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]
        top = origin.parents[1] if origin.name == "__init__.py" else origin.parent
        for path in inside:
            name = path.relative_to(top).as_posix()
            if name not in LEFT_OUT:
                yield name, path


def _code(name: str, path: Path) -> bytes:
    """The code of a module, marshalled for itself: most starts need half of the modules."""
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    code = SourceFileLoader(module, str(path)).get_code(module)
    if code is None:
        raise ImportError(f"{path} has no code")
    return marshal.dumps(_placed(code, f"{FOLDER}/{name}"), _CODE_FORMAT)


def _placed(code: CodeType, filename: str) -> CodeType:
    """CODE as if compiled from FILENAME: where things lie here is nobody's business there."""
    constants = tuple(
        _placed(value, filename) if isinstance(value, CodeType) else value
        for value in code.co_consts
    )
    return code.replace(co_filename=filename, co_consts=constants)


def _program() -> str:
    """Stage 0, without what only its readers need: the docstring and the annotations."""
    tree = ast.parse(Path(__file__).with_name("stage0.py").read_text("utf-8"))
    tree.body = tree.body[1:]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    packed = base64.b64encode(zlib.compress(ast.unparse(tree).encode(), 9)).decode()
    return f"import base64,zlib;exec(zlib.decompress(base64.b64decode(b'{packed}')))"

"""Imports the payload's modules from memory. The payload runs this file first.

The modules seem to lie in a directory that does not exist, so `pkgutil`, tracebacks and the rest
work as with any directory on the path.
"""

import gc
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import ModuleType

FOLDER = "/<backstaff>"  # the seeming directory
SOURCES: dict[str, bytes] = {}  # of the modules, by their seeming paths


class MemoryLoader(SourceFileLoader):
    """Loads a module whose file seems to be one of `SOURCES`."""

    def get_data(self, path: str) -> bytes:
        """Return the source."""
        return SOURCES[path]


class MemoryFinder:
    """Finds the modules of one directory of a payload, as the import system wants."""

    def __init__(self, folder: str) -> None:
        if not f"{folder}/".startswith(f"{FOLDER}/"):
            raise ImportError(folder)  # the payload has no such directory
        self._folder = folder

    def find_spec(self, name: str, _target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of the module `name`, whose last part is a file here."""
        inside = f"{self._folder}/{name.rpartition('.')[2]}"
        for path in (f"{inside}/__init__.py", f"{inside}.py"):
            if path in SOURCES:
                return spec_from_file_location(name, path, loader=MemoryLoader(name, path))
        return None

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """Yield (name, is it a package) for each module in this directory, for `pkgutil`."""
        for path in SOURCES:
            name, _, rest = path.removeprefix(f"{self._folder}/").partition("/")
            if rest == "__init__.py" or (name.endswith(".py") and name != "__init__.py"):
                yield prefix + name.removesuffix(".py"), bool(rest)


def start(files: Mapping[str, bytes], *how: object) -> None:
    """Serve with the modules in `files`, a payload, which are found before the host's own."""
    gc.disable()
    SOURCES.update((f"{FOLDER}/{name}", source) for name, source in files.items())
    sys.path_hooks.insert(0, MemoryFinder)
    sys.path.insert(0, FOLDER)
    import_module("backstaff_remote.host").main(*how, int(sys.argv[4]))

"""Imports the payload's modules from memory. The payload runs this file first.

The modules live below a folder that does not exist, so that all else, `pkgutil` and tracebacks
among it, works as with any folder on the path. A payload has either sources or code.
"""

import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType

FOLDER = "/<backstaff>"
"""Where the modules seem to be; a payload names its files relative to it."""

Files = Mapping[str, bytes | CodeType]
"""The source or the code of each module, by the path of its file below FOLDER."""


class MemoryLoader(SourceFileLoader):
    """Loads one module of FILES."""

    def __init__(self, name: str, path: str, files: Files) -> None:
        """Load the module NAME, whose file seems to be PATH."""
        super().__init__(name, path)
        self._files = files

    def get_data(self, path: str) -> bytes:
        """The source, which is also what a traceback quotes. Raises OSError if there is none."""
        content = self._files.get(path.removeprefix(FOLDER + "/"))
        if not isinstance(content, bytes):
            raise FileNotFoundError(path)
        return content

    def path_stats(self, path: str) -> Mapping[str, object]:
        """Refuse: there is no file, and so no bytecode beside it that could be looked for."""
        raise OSError(path)

    def get_code(self, fullname: str) -> CodeType | None:
        """The code that came, or that of the source."""
        content = self._files[self.path.removeprefix(FOLDER + "/")]
        return content if isinstance(content, CodeType) else super().get_code(fullname)


class MemoryFinder:
    """Finds the modules of one folder of FILES, as the import system asks of a path's entry."""

    def __init__(self, folder: str, files: Files) -> None:
        """Look in FOLDER. Raises ImportError if it is none of the payload's."""
        if not (folder + "/").startswith(FOLDER + "/"):
            raise ImportError(folder)
        self._folder, self._files = folder, files

    def find_spec(self, name: str, _target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of the module NAME, whose last part is looked for here."""
        stem = f"{self._folder}/{name.rpartition('.')[2]}"
        for path, inside in ((f"{stem}/__init__.py", [stem]), (f"{stem}.py", None)):
            if path.removeprefix(FOLDER + "/") in self._files:
                loader = MemoryLoader(name, path, self._files)
                return spec_from_file_location(
                    name, path, loader=loader, submodule_search_locations=inside
                )
        return None

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """What is right in this folder: (name, is it a package), as `pkgutil` asks."""
        start = self._folder.removeprefix(FOLDER).removeprefix("/") + "/"
        for path in self._files:
            name, _, rest = path.removeprefix(start).partition("/")
            if path.startswith(start) and rest == "__init__.py":
                yield prefix + name, True
            elif path.startswith(start) and not rest and name != "__init__.py":
                yield prefix + name.removesuffix(".py"), False


def install(files: Files) -> None:
    """Let the import system find what is in FILES, before anything of the host's."""
    sys.path_hooks.insert(0, lambda folder: MemoryFinder(folder, files))
    sys.path.insert(0, FOLDER)

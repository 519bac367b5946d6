"""Runs pytest in a system that offers what Windows offers: no descriptor of a directory.

`python poorer.py ARGUMENTS-OF-PYTEST`. Neither is there a flag that keeps from following a link.
Who asks for a directory's descriptor anyway fails, so that whatever is answered came another way.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

MISSING_FLAGS = ("O_DIRECTORY", "O_NOFOLLOW", "O_PATH", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC")
CALLS = ("open", "stat", "lstat", "readlink", "access", "scandir")


def without_descriptors(real: Callable[..., Any]) -> Callable[..., Any]:
    """REAL as it is where directories have no descriptors."""

    def poorer(path: Any, *arguments: Any, dir_fd: int | None = None, **options: Any) -> Any:  # noqa: ANN401
        if dir_fd is not None or isinstance(path, int):
            raise NotImplementedError(real.__name__)
        return real(path, *arguments, **options)

    return poorer


def impoverish() -> None:
    """Take away from `os` what a poorer system has not. To be done before anything imports it."""
    for name in MISSING_FLAGS:
        if hasattr(os, name):
            delattr(os, name)
    os.supports_dir_fd.clear()
    os.supports_fd.clear()
    for name in CALLS:
        setattr(os, name, without_descriptors(getattr(os, name)))


if __name__ == "__main__":
    impoverish()
    import pytest

    sys.exit(pytest.main(sys.argv[1:]))

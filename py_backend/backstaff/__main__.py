"""Python starts the package here. Keep it small: Python compiles this file at every start."""

import gc

gc.disable()  # the objects of a start stay, so looking for garbage among them wastes time

import os
import sys

if not __package__:
    # Run as a file by an isolated interpreter (`python -I .../backstaff/__main__.py`), which puts
    # neither this directory nor the working directory on the path: so a project's own files named
    # like ours or like a library's can never be imported.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from backstaff.command_line import main

if __name__ == "__main__":
    sys.exit(main())

"""Where Python starts the package. It stays small: Python keeps no bytecode of what it starts."""

import gc

gc.disable()  # what is made until the start is over stays, and looking through it takes time

import os
import sys

if not __package__:
    # Run as a file by an isolated interpreter (`python -I .../backstaff/__main__.py`), which puts
    # neither this folder nor the working directory on the path: so a project's own files named
    # like ours or like a library's can never be imported.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from backstaff.command_line import main

if __name__ == "__main__":
    sys.exit(main())

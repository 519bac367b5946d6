"""Python starts the package here. Keep it small: Python compiles this file at every start.

The lines before the first import must be plain enough for a Python that is too old.
"""

import gc

gc.disable()  # the objects of a start stay, so looking for garbage among them wastes time

import os
import sys

if sys.version_info < (3, 11):
    sys.exit("backstaff: this is Python %d.%d; 3.11 or newer is needed" % sys.version_info[:2])

if os.open not in os.supports_dir_fd:
    sys.exit("backstaff: this system has no descriptors of directories; Linux, macOS, BSD have")

_HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
if not __package__:
    # Run as a file by an isolated interpreter (`python -I .../backstaff/__main__.py`), which puts
    # neither this directory nor the working directory on the path: so a project's own files named
    # like ours or like a library's can never be imported.
    sys.path.insert(0, _HERE)
# Last, because an environment's own go first. A bare Python is run with -S, so it has none.
sys.path.append(os.path.join(_HERE, "libraries.zip"))

from backstaff.command_line import main

if __name__ == "__main__":
    sys.exit(main())

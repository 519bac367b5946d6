"""Starts the server on another host, with the sources it needs.

`bundle` runs here, for Emacs. `stage0` runs there, off the command line, and gets the payload, in
which `memory` imports the rest and `host` serves. The package `backstaff` writes nothing anywhere;
this one does: `stage0` keeps the payload in a private cache directory.
"""

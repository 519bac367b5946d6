"""Starts the server on another host, with the sources it needs.

The package `backstaff` writes nothing anywhere. This one does: the first program on a host keeps
the payload in a private cache directory.

- `bundle` runs here, for Emacs: it collects the first program and the payload.
- `stage0` runs on the host, off the command line: it finds the payload there, or asks for it.
- `memory` and `host` come with the payload: they import the rest of it from memory, and serve.
"""

"""Starts the server on another host, with the sources it needs. Nothing is written there.

- `bundle` runs here, for Emacs: it collects the first program and the payload.
- `stage0` runs on the host, off the command line, and asks for the payload.
- `memory` and `host` come with the payload: they import the rest of it from memory, and serve.
"""

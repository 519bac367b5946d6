"""How the server comes to another host: what starts it there, and the sources it needs.

A room of its own beside the package `backstaff`, which writes nothing anywhere: the first program
that runs on a host keeps what it was sent, in a private cache directory. Who runs what:

- `bundle` runs here, below Emacs: it collects what a start elsewhere needs.
- `stage0` runs on the host, off the command line: it finds the payload there, or asks for it.
- `memory` and `host` are the payload's own: they import the rest of it from memory, and serve.
"""

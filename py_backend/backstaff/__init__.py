"""backstaff: a read-only navigation back end for agents and people in Emacs."""

__version__ = "0.1.0"

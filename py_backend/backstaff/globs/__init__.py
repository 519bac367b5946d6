"""Globs such as `src/**/*.py`, as expressions that match in linear time."""

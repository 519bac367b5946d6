"""Finding lines: `choice` selects files, `regexp` runs a pattern, `worth` orders files."""

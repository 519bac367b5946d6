"""Finding lines: `choice` selects files, `regexp` runs a pattern, `near` explains no match."""

"""Finding files by name: `query` matches, `ranking` orders, `suggestions` explains no match."""

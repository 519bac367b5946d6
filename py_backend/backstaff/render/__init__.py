"""Names, sizes, cut texts and canonical JSON for the answers of tools. No I/O."""

"""Forms of what tools return: names and sizes for text, tables, canonical JSON. No I/O."""

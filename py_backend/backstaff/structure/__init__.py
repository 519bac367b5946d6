"""The definitions of a text and their lines, found without a grammar: language facts, one pass."""

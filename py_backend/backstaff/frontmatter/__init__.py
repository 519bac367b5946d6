"""Front matter: the YAML at the head of a Markdown file, read without trusting it. No I/O."""

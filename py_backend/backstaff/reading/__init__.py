"""The text of files: of which file or unsaved buffer, in which encoding, and which lines."""

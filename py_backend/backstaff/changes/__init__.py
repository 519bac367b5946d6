"""The changes of a work tree: git's index and objects beside the files as they are now."""

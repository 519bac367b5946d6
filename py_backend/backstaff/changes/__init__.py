"""The changes of a work tree, as git tells them in a clean repository."""

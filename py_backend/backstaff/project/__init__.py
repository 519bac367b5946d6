"""The files of a project: those that git tracks, those that it ignores, and their edits."""

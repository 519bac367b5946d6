"""The file system: the only home of os.scandir, os.open and pathspec. Read-only by construction."""

"""The sandbox, read-only by construction: the only home of os.open and os.scandir."""

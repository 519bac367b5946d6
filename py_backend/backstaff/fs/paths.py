"""Paths as components between single slashes."""


def components(text: str) -> list[str]:
    """The names in the path `text`. Empty ones and `.` do not count."""
    return [part for part in text.split("/") if part not in ("", ".")]


def join(parts: list[str]) -> str:
    """The absolute path of these components."""
    return "/" + "/".join(parts)

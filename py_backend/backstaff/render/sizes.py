"""Sizes for people and models."""

from collections.abc import Iterable

_MEGABYTE = 1 << 20
_UNITS = ((1 << 40, "TB"), (1 << 30, "GB"), (_MEGABYTE, "MB"))


def show_sizes(sizes: Iterable[int]) -> list[str]:
    """`show_size` of each of SIZES, in a third of the time for sizes below a megabyte."""
    return [
        f"{(tenths := (20 * size + 1024) // 2048) // 10}.{tenths % 10} KB"
        if size < _MEGABYTE
        else show_size(size)
        for size in sizes
    ]


def show_size(size: int) -> str:
    """SIZE bytes with one decimal, halves rounded up, in KB (the smallest unit), MB, GB or TB.

    1280 is "1.3 KB", 307 is "0.3 KB", 0 is "0.0 KB" (Agent-Q list_directory, usage examples).
    """
    divisor, unit = next((pair for pair in _UNITS if size >= pair[0]), (1 << 10, "KB"))
    tenths = (20 * size + divisor) // (2 * divisor)
    return f"{tenths // 10}.{tenths % 10} {unit}"

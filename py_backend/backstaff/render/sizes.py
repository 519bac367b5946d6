"""Sizes for people and models."""

_UNITS = ((1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"))


def show_size(size: int) -> str:
    """Return `size` bytes with a decimal, rounded half up: 1280 is "1.3 KB", the smallest unit."""
    divisor, unit = 1 << 10, "KB"
    if size >= 1 << 20:
        divisor, unit = next(pair for pair in _UNITS if size >= pair[0])
    tenths = (20 * size + divisor) // (2 * divisor)
    return f"{tenths // 10}.{tenths % 10} {unit}"

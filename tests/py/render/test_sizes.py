"""Sizes for people and models."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.render.lines import show_size

KB, MB, GB, TB = (1 << power for power in (10, 20, 30, 40))


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0.0 KB"),
        (1, "0.0 KB"),
        (51, "0.0 KB"),
        (52, "0.1 KB"),
        (307, "0.3 KB"),
        (1024, "1.0 KB"),
        (1228, "1.2 KB"),
        (1280, "1.3 KB"),
        (4096, "4.0 KB"),
        (12595, "12.3 KB"),
        (MB - 1, "1024.0 KB"),
        (MB, "1.0 MB"),
        (MB + MB // 4, "1.3 MB"),
        (GB - 1, "1024.0 MB"),
        (GB, "1.0 GB"),
        (TB, "1.0 TB"),
        (1000 * TB, "1000.0 TB"),
        (2**63 - 1, "8388608.0 TB"),
    ],
)
def test_size_has_one_decimal_and_halves_round_up(size: int, shown: str) -> None:
    assert show_size(size) == shown


@given(st.integers(0, 2**63 - 1))
def test_size_is_off_by_half_a_tenth_at_most(size: int) -> None:
    number, unit = show_size(size).split(" ")
    whole, tenth = number.split(".")
    divisor = {"KB": KB, "MB": MB, "GB": GB, "TB": TB}[unit]
    # In twentieths of the unit, so that no float rounds the comparison.
    shown = 2 * (10 * int(whole) + int(tenth)) * divisor
    assert shown - divisor <= 20 * size < shown + divisor

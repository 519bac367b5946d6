"""Packed paths read as the list that was packed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.fs.packed import PackedPaths

names = st.text("abÀß.\n\udcff", min_size=1, max_size=4)
directories = st.lists(
    st.tuples(st.sampled_from(["", "a/", "À/b/"]), st.lists(names, max_size=5)), max_size=6
)
places = st.integers(-30, 30)


@given(directories, st.lists(st.tuples(places, places, st.sampled_from([None, 1, 2, -1]))))
def test_packed_paths_read_as_a_list(
    given: list[tuple[str, list[str]]], slices: list[tuple[int, int, int | None]]
) -> None:
    packed, plain = PackedPaths(), list[str]()
    for prefix, found in given:
        assert packed.add(prefix, found) == (len(plain), len(plain) + len(found))
        plain += [prefix + name for name in found]
    assert len(packed) == len(plain)
    assert list(packed) == plain
    assert list(PackedPaths.of(plain)) == plain
    for at in range(-len(plain), len(plain)):
        assert packed[at] == plain[at]
    for start, stop, step in slices:
        assert packed[start:stop:step] == plain[start:stop:step]
    assert list(packed.folded()) == [path.casefold() for path in plain]
    every_third = range(0, len(plain), 3)
    assert packed.picked(every_third) == plain[::3]


@pytest.mark.parametrize("at", [-3, 2])
def test_position_out_of_range_is_refused(at: int) -> None:
    with pytest.raises(IndexError):
        PackedPaths.of(["a", "b"])[at]

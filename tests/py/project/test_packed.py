"""Packed paths read as the list that was packed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.project import packed as packed_module
from backstaff.project.packed import PackedPaths
from tests.py.trees import packed

names = st.lists(st.text("abÀß.\n\udcff", min_size=1, max_size=4), max_size=5)
directories = st.dictionaries(st.sampled_from(["", "a", "a/b", "À/b"]), names)


@given(
    directories,
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_packed_paths_read_as_a_list(
    given: dict[str, list[str]],
    together: int,
    at_once: int,
) -> None:
    paths = packed(given)
    plain = [f"{path}/{name}" if path else name for path, names in given.items() for name in names]
    assert len(paths) == len(plain)
    assert list(paths) == plain
    for at in range(-len(plain), len(plain)):
        assert paths[at] == plain[at]
    assert list(paths.folded()) == [path.casefold() for path in plain]
    assert paths.picked(range(0, len(plain), 3)) == plain[::3]
    assert [path for directory in paths.directories for path in directory.paths()] == plain
    for directory in paths.directories:
        assert directory.names() == given[directory.path]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packed_module, "TOGETHER", together)
        patched.setattr(packed_module, "AT_ONCE", at_once)
        for fold in (False, True):
            found = list[str]()
            for start, batch in paths.batches(fold=fold):
                assert start == len(found)
                assert 0 < len(batch) <= at_once
                found += batch
            assert found == ([path.casefold() for path in plain] if fold else plain)


@pytest.mark.parametrize("at", [-3, 2])
def test_position_out_of_range_is_refused(at: int) -> None:
    with pytest.raises(IndexError):
        packed({"": ["a", "b"]})[at]


def test_nothing_is_no_path() -> None:
    assert list(PackedPaths([])) == []

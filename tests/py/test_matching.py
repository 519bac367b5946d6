"""What matches a query among paths, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.errors import ToolError
from backstaff.fs.folders import Folder
from backstaff.matching import Index, Query
from tests.py.fs.glob_model import fits, segments_of

paths = st.lists(
    st.text("abAB_/.", min_size=1, max_size=12).filter(
        lambda path: path[0] != "/" and path[-1] != "/" and "//" not in path
    ),
    unique=True,
    max_size=12,
)
queries = st.text("abAB_. ", min_size=1, max_size=5).filter(str.strip)


def index_of(given: list[str]) -> Index:
    return Index(Folder("", "", names=tuple(given)))


def is_within(query: str, path: str) -> bool:
    """Whether the characters of QUERY stand in PATH in their order."""
    rest = iter(path)
    return all(character in rest for character in query)


def is_part(query: str, path: str) -> bool:
    return query in path


@given(paths, queries, st.sampled_from(["fuzzy", "substring"]))
def test_what_matches_is_what_the_words_say(given: list[str], text: str, kind: str) -> None:
    query, index = Query(text, kind), index_of(given)
    smart = str if text != text.lower() else str.lower
    told = [index.path(number) for number in query.matches(index)]
    inside = is_within if kind == "fuzzy" else is_part
    assert told == [one for one in given if all(inside(part, smart(one)) for part in text.split())]


@given(paths, st.text("ab*/.", min_size=1, max_size=6))
def test_glob_matches_as_the_model_does(given: list[str], text: str) -> None:
    try:
        query = Query(text, "glob")
    except ToolError:
        return
    index = index_of(given)
    told = [index.path(number) for number in query.matches(index)]
    segments = segments_of(text.removeprefix("./"))
    assert told == [one for one in given if fits(segments, one.split("/"))]


@given(paths, queries, st.integers(1, 12))
def test_the_best_few_are_the_first_of_all(given: list[str], text: str, few: int) -> None:
    query, index = Query(text, "fuzzy"), index_of(given)
    matches = query.matches(index)
    everything = query.best(index, matches, len(given))
    assert sorted(everything) == matches
    assert query.best(index, matches, few) == everything[:few]


asked = st.lists(st.tuples(queries, st.sampled_from(["fuzzy", "substring"])), max_size=4)


@given(paths, asked)
def test_what_was_asked_before_makes_no_difference(
    given: list[str], texts: list[tuple[str, str]]
) -> None:
    index = index_of(given)
    for text, kind in texts:
        for size in range(1, len(text) + 1):
            if text[:size].strip():
                query = Query(text[:size], kind)
                assert query.matches(index) == query.matches(index_of(given))


@pytest.mark.parametrize(
    ("first", "second"), [("a b", "a"), ("ab", "a"), ("a", "b"), ("ab", "AB"), ("ab", "abc")]
)
def test_search_after_another_finds_the_same(first: str, second: str) -> None:
    index = index_of(["a", "ab", "a_b", "AB", "A", "b", "abc", "a_b_c"])
    for kind in ("substring", "fuzzy"):
        Query(first, "substring").matches(index)
        query = Query(second, kind)
        assert query.matches(index) == query.matches(index_of(index.texts(folded=False)))


def test_path_of_each_place_is_its_text() -> None:
    below = (Folder("A", "A", ("x", "Y")), Folder("b", "b", below=(Folder("c", "b/c", ("z",)),)))
    index = Index(Folder("", "", ("1", "2"), below=below))
    paths = ["1", "2", "A/x", "A/Y", "b/c/z"]
    assert [index.path(number) for number in range(len(index))] == paths
    assert index.texts(folded=True) == ["1", "2", "a/x", "a/y", "b/c/z"]
    assert index.texts(folded=False) == paths


def test_nothing_is_searched_below_an_empty_start() -> None:
    index = Index(Folder("", ""))
    assert (len(index), Query("a", "fuzzy").matches(index)) == (0, [])

"""What matches a query among paths, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.errors import ToolError
from backstaff.fs.folders import Folder
from backstaff.matching.index import Index
from backstaff.matching.query import Query
from tests.py.fs.glob_model import fits, segments_of

some = st.text("abAB_/.", min_size=1, max_size=12).filter(
    lambda path: path[0] != "/" and path[-1] != "/" and "//" not in path
)
# Long names are searched with more care.
paths = st.lists(
    st.builds(str.__mul__, some, st.sampled_from([1, 1, 40])), unique=True, max_size=12
)
queries = st.text("abAB_./ ", min_size=1, max_size=5).filter(str.strip)


def index_of(given: list[str]) -> Index:
    index = Index(folder_of("", given))
    assert sorted(index.paths) == sorted(given)
    return index


def folder_of(path: str, given: list[str]) -> Folder:
    """The folder at PATH, with the files GIVEN by their paths from there."""
    here = sorted(one for one in given if "/" not in one)
    deeper: dict[str, list[str]] = {}
    for one in sorted(set(given) - set(here)):
        name, _, rest = one.partition("/")
        deeper.setdefault(name, []).append(rest)
    inner = {name: f"{path}/{name}".lstrip("/") for name in deeper}
    below = tuple(folder_of(inner[name], deeper[name]) for name in sorted(deeper))
    return Folder(path.rpartition("/")[2], path, "\0".join(here), len(here), below=below)


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
    told = [index.path(number) for number in query.matches(index).numbers]
    inside = is_within if kind == "fuzzy" else is_part
    assert told == [
        one for one in index.paths if all(inside(part, smart(one)) for part in text.split())
    ]


@given(paths, st.text("ab*/.", min_size=1, max_size=6))
def test_glob_matches_as_the_model_does(given: list[str], text: str) -> None:
    try:
        query = Query(text, "glob")
    except ToolError:
        return
    index = index_of(given)
    told = [index.path(number) for number in query.matches(index).numbers]
    segments = segments_of(text.removeprefix("./"))
    assert told == [one for one in index.paths if fits(segments, one.split("/"))]


@given(paths, queries, st.integers(1, 12))
def test_the_best_few_are_the_first_of_all(given: list[str], text: str, few: int) -> None:
    query, index = Query(text, "fuzzy"), index_of(given)
    matches = query.matches(index)
    everything = query.best(index, matches, len(given))
    assert sorted(everything) == matches.numbers
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
        assert query.matches(index) == query.matches(index_of(index.paths))


def test_path_of_each_place_is_its_text() -> None:
    below = (Folder("A", "A", "x\0Y", 2), Folder("b", "b", below=(Folder("c", "b/c", "z", 1),)))
    index = Index(Folder("", "", "1\x002", 2, below=below))
    paths = ["1", "2", "A/x", "A/Y", "b/c/z"]
    assert [index.path(number) for number in range(len(index))] == paths
    assert index.paths == paths


@given(paths, st.integers(1, 200), st.sampled_from(["fuzzy", "substring"]))
def test_long_word_matches_as_a_short_one_does(given: list[str], times: int, kind: str) -> None:
    given = [*given, *("/".join(["ab"] * depth) for depth in (2, 20, times))]
    index = index_of(sorted(set(given)))
    inside = is_within if kind == "fuzzy" else is_part
    for word in ("ab" * times, "b/a" * times):
        told = [index.path(number) for number in Query(word, kind).matches(index).numbers]
        assert told == [one for one in index.paths if inside(word, one.lower())]


def test_query_with_a_nul_is_refused() -> None:
    with pytest.raises(ToolError, match="holds a NUL character"):
        Query("a\0b", "substring")


def test_nothing_is_searched_below_an_empty_start() -> None:
    index = Index(Folder("", ""))
    assert (len(index), len(Query("a", "fuzzy").matches(index))) == (0, 0)

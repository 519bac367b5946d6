"""What matches a query among paths, and in which order."""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backstaff.errors import DeadlineExceeded, ToolError
from backstaff.fs import folders
from backstaff.fs.budget import Budget
from backstaff.fs.folders import Folder
from backstaff.matching import index as matching_index
from backstaff.matching.index import Group, Index, Matches, Part
from backstaff.matching.query import ByRank, Query
from backstaff.matching.words import Rest
from tests.py.fs.glob_model import fits, segments_of

ENDLESS = Budget()
LONG_WORD = "ab" * 20

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
    listed = "".join(f"\0{name}" for name in here)
    return Folder(path.rpartition("/")[2], path, listed, len(here), below=below)


def told_by(query: Query, index: Index) -> list[str]:
    """The paths that QUERY finds in INDEX, in order."""
    found = query.found(index, ENDLESS)
    told = found.best(len(index) + 1, ENDLESS)
    assert len(told) == len(found)
    return sorted(told)


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
    inside = is_within if kind == "fuzzy" else is_part
    assert told_by(query, index) == sorted(
        one for one in index.paths if all(inside(part, smart(one)) for part in text.split())
    )


@given(paths, st.text("ab*/.", min_size=1, max_size=6))
def test_glob_matches_as_the_model_does(given: list[str], text: str) -> None:
    try:
        query = Query(text, "glob")
    except ToolError:
        return
    index = index_of(given)
    segments = segments_of(text.removeprefix("./"))
    told = [one for one in index.paths if fits(segments, one.split("/"))]
    assert query.found(index, ENDLESS).best(len(given), ENDLESS) == told


@given(paths, queries, st.integers(1, 12))
def test_the_best_few_are_the_first_of_all(given: list[str], text: str, few: int) -> None:
    query, index = Query(text, "fuzzy"), index_of(given)
    everything = query.found(index, ENDLESS).best(len(given), ENDLESS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backstaff.matching.query.RANKED", 0)
        assert query.found(index_of(given), ENDLESS).best(few, ENDLESS) == everything[:few]


def badness(words: list[str], path: str) -> tuple[int, int, int]:
    """How bad a match PATH is, as the tool has it."""
    name = path.rpartition("/")[2]
    ways = [way_of(one, name, path) for one in words]
    texts = [name if way == 5 else path for way in ways]
    gaps = (gaps_of(*each) for each in zip(words, texts, ways, strict=True))
    return sum(ways), sum(gaps), len(path)


def way_of(one: str, name: str, path: str) -> int:
    ways = (
        one in {name, name.rpartition(".")[0]},
        name.startswith(one),
        re.search(rf"[\W_]{re.escape(one)}", name),
        one in name,
        one in path,
        is_within(one, name),
    )
    return next((way for way, holds in enumerate(ways) if holds), len(ways))


def gaps_of(one: str, text: str, way: int) -> int:
    """Where each character is first after the one before: how often that is not next to it."""
    places = [text.find(one[0])]
    for character in one[1:]:
        places.append(text.find(character, places[-1] + 1))
    return sum(1 for a, b in pairwise(places) if b > a + 1) if way >= 5 else 0


@example(["b/+--a", "b/.--a", "b/aaa-"], "a -", "substring", 2)  # all as good
@given(paths, queries, st.sampled_from(["fuzzy", "substring"]), st.sampled_from([0, 2, 99]))
def test_the_best_are_those_found_best(given: list[str], text: str, kind: str, dense: int) -> None:
    query, index = Query(text, kind), index_of(given)
    smart = str if text != text.lower() else str.lower
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backstaff.matching.index.MANY", dense)
        matching = query.found(index, ENDLESS)
        told = list(matching.best(len(given), ENDLESS))
    inside = is_within if kind == "fuzzy" else is_part
    wanted = [one for one in index.paths if all(inside(a, smart(one)) for a in text.split())]
    assert told == sorted(wanted, key=lambda one: badness(text.split(), smart(one)))


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
                assert told_by(query, index) == told_by(query, index_of(given))


@pytest.mark.parametrize(
    ("first", "second"), [("a b", "a"), ("ab", "a"), ("a", "b"), ("ab", "AB"), ("ab", "abc")]
)
def test_search_after_another_finds_the_same(first: str, second: str) -> None:
    index = index_of(["a", "ab", "a_b", "AB", "A", "b", "abc", "a_b_c"])
    for kind in ("substring", "fuzzy"):
        told_by(Query(first, "substring"), index)
        query = Query(second, kind)
        assert told_by(query, index) == told_by(query, index_of(index.paths))


def test_paths_are_in_order_of_directories() -> None:
    below = (
        Folder("A", "A", "\0x\0Y", 2),
        Folder("b", "b", below=(Folder("c", "b/c", "\0z", 1),)),
    )
    index = Index(Folder("", "", "\x001\x002", 2, below=below))
    assert (index.paths, len(index)) == (["1", "2", "A/x", "A/Y", "b/c/z"], 5)


@given(paths, st.integers(1, 200), st.sampled_from(["fuzzy", "substring"]))
def test_long_word_matches_as_a_short_one_does(given: list[str], times: int, kind: str) -> None:
    given = [*given, *("/".join(["ab"] * depth) for depth in (2, 20, times))]
    index = index_of(sorted(set(given)))
    inside = is_within if kind == "fuzzy" else is_part
    for word in ("ab" * times, "b/a" * times):
        told = told_by(Query(word, kind), index)
        assert told == sorted(one for one in index.paths if inside(word, one.lower()))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a", "fuzzy"),
        ("a b", "fuzzy"),
        ("ab" * 20, "substring"),
        ("ab" * 20, "fuzzy"),
        ("*", "glob"),
    ],
)
def test_search_ends_with_its_time(text: str, kind: str) -> None:
    index, over = index_of(["ab" * 50, "a b"]), Budget(deadline=0)
    with pytest.raises(DeadlineExceeded):
        Query(text, kind).found(index, over)
    found = Query(text, kind).found(index, ENDLESS)
    assert found
    if kind != "glob":
        with pytest.raises(DeadlineExceeded):
            found.best(1, over)
    assert found.best(1, ENDLESS)


def test_page_is_whole_though_another_call_asks_for_less() -> None:
    index = index_of([f"a{number}" for number in range(1000)])
    found = Query("a", "fuzzy").found(index, ENDLESS)
    told = found.best(1000, ENDLESS)
    assert isinstance(found, ByRank)

    def count(_: Matches) -> int:
        found.ranked = told[:5]
        return 1000

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Matches, "__len__", count)  # in the meantime the other has put its few there
        assert found.best(1000, ENDLESS) == told


@pytest.mark.parametrize("kind", ["fuzzy", "substring", "glob"])
@given(given=paths, text=queries)
def test_folder_that_is_searched_in_pieces_is_searched_as_a_whole_one(
    given: list[str], text: str, kind: str
) -> None:
    try:
        whole = Query(text, kind).found(index_of(given), ENDLESS).best(100, ENDLESS)
    except ToolError:
        return
    with pytest.MonkeyPatch.context() as patch:
        for module in (folders, matching_index):
            patch.setattr(module, "PIECE", 3)
        found = Query(text, kind).found(index_of(given), ENDLESS)
        assert found.best(100, ENDLESS) == whole
        assert len(found) == len(whole)


def test_no_expression_searches_more_than_a_piece_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real = Part.having

    def noting(part: Part, rests: Sequence[Rest]) -> Group:
        sizes.append(sum(map(len, part.names)))
        return real(part, rests)

    monkeypatch.setattr(Part, "having", noting)
    for module in (folders, matching_index):
        monkeypatch.setattr(module, "PIECE", 5000)
    index = index_of([f"{folder}/{number:0200}" for folder in "abc" for number in range(200)])
    assert len(Query("199", "substring").found(index, ENDLESS)) == len("abc")
    assert sum(sizes) == 3 * 200 * 201
    assert max(sizes) <= 5000 + 201


def test_query_with_a_nul_is_refused() -> None:
    with pytest.raises(ToolError, match="holds a NUL character"):
        Query("a\0b", "substring")


def test_nothing_is_searched_below_an_empty_start() -> None:
    index = Index(Folder("", ""))
    assert (len(index), len(Query("a", "fuzzy").found(index, ENDLESS))) == (0, 0)

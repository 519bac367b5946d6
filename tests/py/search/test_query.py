"""What matches a query among paths, and in which order."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backstaff.errors import DeadlineExceeded, ToolError
from backstaff.fs.budget import Budget
from backstaff.fs.packed import PackedPaths
from backstaff.search import query as query_module
from backstaff.search.query import Query
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


def told_by(query: Query, among: PackedPaths) -> list[str]:
    """The paths that QUERY finds in AMONG, sorted."""
    matches = query.match(among, ENDLESS)
    found = matches.best(len(among) + 1, ENDLESS)
    assert len(found) == len(matches)
    return sorted(found)


def is_within(query: str, path: str) -> bool:
    """Whether the characters of QUERY stand in PATH in their order."""
    rest = iter(path)
    return all(character in rest for character in query)


def is_part(query: str, path: str) -> bool:
    return query in path


@given(paths, queries, st.sampled_from(["fuzzy", "substring"]))
def test_what_matches_is_what_the_words_say(given: list[str], text: str, kind: str) -> None:
    query, among = Query.parse(text, kind), PackedPaths.of(given)
    smart = str if text != text.lower() else str.lower
    inside = is_within if kind == "fuzzy" else is_part
    assert told_by(query, among) == sorted(
        one for one in among if all(inside(part, smart(one)) for part in text.split())
    )


@given(paths, st.text("ab*/.", min_size=1, max_size=6))
def test_glob_matches_as_the_model_does(given: list[str], text: str) -> None:
    try:
        query = Query.parse(text, "glob")
    except ToolError:
        return
    among = PackedPaths.of(given)
    segments = segments_of(text.removeprefix("./"))
    told = [one for one in among if fits(segments, one.split("/"))]
    assert query.match(among, ENDLESS).best(len(given), ENDLESS) == told


@given(paths, queries, st.integers(1, 12))
def test_the_best_few_are_the_first_of_all(given: list[str], text: str, few: int) -> None:
    query, among = Query.parse(text, "fuzzy"), PackedPaths.of(given)
    everything = query.match(among, ENDLESS).best(len(given), ENDLESS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_module, "MIN_RANKED", 0)
        assert query.match(PackedPaths.of(given), ENDLESS).best(few, ENDLESS) == everything[:few]


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


@example(["b/+--a", "b/.--a", "b/aaa-"], "a -", "substring")  # all as good
@given(paths, queries, st.sampled_from(["fuzzy", "substring"]))
def test_the_best_are_those_found_best(given: list[str], text: str, kind: str) -> None:
    query, among = Query.parse(text, kind), PackedPaths.of(given)
    smart = str if text != text.lower() else str.lower
    told = query.match(among, ENDLESS).best(len(given), ENDLESS)
    inside = is_within if kind == "fuzzy" else is_part
    wanted = [one for one in among if all(inside(a, smart(one)) for a in text.split())]
    assert told == sorted(wanted, key=lambda one: badness(text.split(), smart(one)))


asked = st.lists(st.tuples(queries, st.sampled_from(["fuzzy", "substring"])), max_size=4)


@given(paths, asked)
def test_what_was_asked_before_makes_no_difference(
    given: list[str], texts: list[tuple[str, str]]
) -> None:
    among = PackedPaths.of(given)
    for text, kind in texts:
        for size in range(1, len(text) + 1):
            if text[:size].strip():
                query = Query.parse(text[:size], kind)
                assert told_by(query, among) == told_by(query, PackedPaths.of(given))


@pytest.mark.parametrize(
    ("first", "second"), [("a b", "a"), ("ab", "a"), ("a", "b"), ("ab", "AB"), ("ab", "abc")]
)
def test_search_after_another_finds_the_same(first: str, second: str) -> None:
    among = PackedPaths.of(["a", "ab", "a_b", "AB", "A", "b", "abc", "a_b_c"])
    for kind in ("substring", "fuzzy"):
        told_by(Query.parse(first, "substring"), among)
        query = Query.parse(second, kind)
        assert told_by(query, among) == told_by(query, PackedPaths.of(among))


@given(paths, st.integers(1, 200), st.sampled_from(["fuzzy", "substring"]))
def test_long_word_matches_as_a_short_one_does(given: list[str], times: int, kind: str) -> None:
    given = [*given, *("/".join(["ab"] * depth) for depth in (2, 20, times))]
    among = PackedPaths.of(sorted(set(given)))
    inside = is_within if kind == "fuzzy" else is_part
    for word in ("ab" * times, "b/a" * times):
        told = told_by(Query.parse(word, kind), among)
        assert told == sorted(one for one in among if inside(word, one.lower()))


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
    among, over = PackedPaths.of(["ab" * 50, "a b"]), Budget(deadline=0)
    with pytest.raises(DeadlineExceeded):
        Query.parse(text, kind).match(among, over)
    found = Query.parse(text, kind).match(among, ENDLESS)
    assert found
    if kind != "glob":
        with pytest.raises(DeadlineExceeded):
            found.best(1, over)
    assert found.best(1, ENDLESS)


def test_smaller_page_asked_for_meanwhile_does_not_shorten_this_one() -> None:
    matches = Query.parse("a", "fuzzy").match(
        PackedPaths.of([f"a{n}" for n in range(1000)]), ENDLESS
    )
    whole = matches.best(1000, ENDLESS)
    matches.best(5, ENDLESS)
    assert matches.best(1000, ENDLESS) == whole
    assert len(whole) == 1000


def test_query_with_a_nul_is_refused() -> None:
    with pytest.raises(ToolError, match="holds a NUL character"):
        Query.parse("a\0b", "substring")


def test_nothing_is_found_among_no_paths() -> None:
    assert len(Query.parse("a", "fuzzy").match(PackedPaths.of([]), ENDLESS)) == 0


def test_word_in_the_path_goes_before_gaps_in_the_name() -> None:
    gaps = [f"{number}/a_bc" for number in range(query_module.MIN_RANKED)]
    among = PackedPaths.of([*gaps, *(f"{number}/a/bc" for number in range(9)), "abc/x"])
    best = Query.parse("abc", "fuzzy").match(among, ENDLESS).best(2, ENDLESS)
    assert best == ["abc/x", "0/a_bc"]

"""What matches a query among paths, and in which order."""

import re
from collections.abc import Sequence
from itertools import pairwise, repeat

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded, ToolError
from backstaff.names import query as query_module
from backstaff.names.query import Index, Query
from backstaff.names.ranking import STEPS, How
from backstaff.project.packed import Directory, PackedPaths
from tests.py.globs.glob_model import fits, segments_of

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


def index_of(given: Sequence[str]) -> Index:
    one_each = [Directory("", at, path) for at, path in enumerate(given)]
    return Index(PackedPaths(one_each, len(given)))


def told_by(query: Query, index: Index) -> list[str]:
    """The paths of INDEX that match QUERY, sorted; the answer has them all, and none twice."""
    matches = query.match(index, ENDLESS)
    found = [path for _, path in matches.best(len(index.paths) + 1, ENDLESS)]
    matching = sorted(index.paths[position] for position in matches.positions)
    assert set(matching) <= set(found)
    assert len(set(found)) == len(found) == len(matches) + matches.guesses()
    return matching


def paths_of(found: Sequence[tuple[How, str]]) -> list[str]:
    return [path for _, path in found]


def is_within(query: str, path: str) -> bool:
    """Whether the characters of QUERY stand in PATH in their order."""
    rest = iter(path)
    return all(character in rest for character in query)


def is_part(query: str, path: str) -> bool:
    return query in path


@given(paths, queries, st.sampled_from(["fuzzy", "substring"]))
def test_what_matches_is_what_the_words_say(given: list[str], text: str, kind: str) -> None:
    query, index = Query.parse(text, kind), index_of(given)
    smart = str if text != text.lower() else str.lower
    inside = is_within if kind == "fuzzy" else is_part
    assert told_by(query, index) == sorted(
        one for one in index.paths if all(inside(part, smart(one)) for part in text.split())
    )


@given(paths, st.text("ab*/.", min_size=1, max_size=6))
def test_glob_matches_as_the_model_does(given: list[str], text: str) -> None:
    try:
        query = Query.parse(text, "glob")
    except ToolError:
        return
    index = index_of(given)
    segments = segments_of(text.removeprefix("./"))
    told = [one for one in index.paths if fits(segments, one.split("/"))]
    assert paths_of(query.match(index, ENDLESS).best(len(given), ENDLESS)) == told


@given(paths, queries, st.integers(1, 12))
def test_the_best_few_are_the_first_of_all(given: list[str], text: str, few: int) -> None:
    query, index = Query.parse(text, "fuzzy"), index_of(given)
    everything = query.match(index, ENDLESS).best(len(given), ENDLESS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_module, "MIN_RANKED", 0)
        assert query.match(index_of(given), ENDLESS).best(few, ENDLESS) == everything[:few]


def badness(words: list[str], path: str, *, smart: bool) -> tuple[int, int, int, int]:
    """How bad a match PATH is, as the tool has it. SMART, case is no matter."""
    folded = path.lower() if smart else path
    ways = [way_of(one, path, folded, smart=smart) for one in words]
    gaps = sum(map(gaps_of, words, ways, repeat(path), repeat(folded), repeat(smart)))
    steps = (0, 0, 0, 0, 1, 2, 2, 3, 3, 4, 4)
    return steps[max(ways)], sum(ways), gaps, len(path)


def way_of(one: str, path: str, folded: str, *, smart: bool) -> int:
    name = folded.rpartition("/")[2]
    in_name = read(one, path, path.rfind("/") + 1, smart=smart)
    ways = (
        one in {name, name.rpartition(".")[0]},
        name.startswith(one),
        re.search(rf"[\W_]{re.escape(one)}", name),
        one in name,
        one in folded,
        read(one, path, path.rfind("/") + 1, smart=smart)
        and not passed_over(one, path, smart=smart),
        apart(one, path, smart=smart) is not None,
        in_name,
        read(one, path, 0, smart=smart),
        is_within(one, name),
    )
    return next((way for way, holds in enumerate(ways) if holds), len(ways))


def is_start(path: str, at: int) -> bool:
    """Whether a word of PATH starts at AT."""
    here, before, after = path[at], path[:at][-1:], path[at + 1 :][:1]
    camel = here.isupper() and (before.islower() or after.islower())
    return not here.isalnum() or not before.isalnum() or camel


def read(one: str, path: str, begin: int, *, smart: bool) -> list[int]:
    """The places where the characters of ONE are read from BEGIN on; none if they cannot be.

    The first is read at the start of a word. The next one is read where it follows, else at the
    next start of a word that is it.
    """

    def same(at: int, character: str) -> bool:
        return at < len(path) and (path[at].lower() if smart else path[at]) == character

    for first in (n for n in range(begin, len(path)) if same(n, one[0]) and is_start(path, n)):
        places = [first]
        for character in one[1:]:
            after = places[-1] + 1
            starts = (
                at
                for at in range(after, len(path))
                if same(at, character) and (at == after or is_start(path, at))
            )
            places += [next(starts, -1)]
            if places[-1] < 0:
                break
        else:
            pieces = sum(b > a + 1 for a, b in pairwise(places))
            # Only a short word may be nothing but initials.
            return places if pieces <= (len(one) if len(one) <= 5 else len(one) // 3) else []
    return []


def apart(one: str, path: str, *, smart: bool) -> int | None:
    """How far the two parts of ONE are apart: 0 if the first is in the directory of the file."""
    parents, _, name = (path.lower() if smart else path).rpartition("/")
    if not 5 < len(one) <= 32:
        return None
    firsts = [one[:cut] for cut in range(2, len(one) - 1) if name.startswith(one[cut:])]
    begins = [
        at
        for at in range(len(parents))
        if is_start(path, at) and any(parents.startswith(first, at) for first in firsts)
    ]
    return int(max(begins) < parents.rfind("/") + 1) if begins else None


def passed_over(one: str, path: str, *, smart: bool) -> int:
    """How many words of the name no piece of ONE begins; those of the extension do not count."""
    at = path.rfind("/") + 1
    dot = path.rfind(".", at + 1)
    words = [n for n in range(at, len(path)) if is_start(path, n) and path[n].isalnum()]
    begun = set(words) & set(read(one, path, at, smart=smart))
    return max(0, sum(n < (dot if dot > 0 else len(path)) for n in words) - len(begun))


def gaps_of(one: str, way: int, path: str, folded: str, smart: bool) -> int:  # noqa: FBT001
    """How far from a better match ONE is.

    In initials: the words of the name that are passed over. In pieces of a path: the jumps, of
    which one to the name's start costs less. Scattered: how often the first such letter is not the
    next one.
    """
    if way == 6:
        return apart(one, path, smart=smart) or 0
    if way == 7:
        return passed_over(one, path, smart=smart)
    if way == 8:
        places = read(one, path, 0, smart=smart)
        jumps = [b for a, b in pairwise(places) if b > a + 1]
        return 2 * len(jumps) - (path.rfind("/") + 1 in jumps)
    text = folded.rpartition("/")[2] if way == 9 else folded
    places = [text.find(one[0])]
    for character in one[1:]:
        places.append(text.find(character, places[-1] + 1))
    return sum(1 for a, b in pairwise(places) if b > a + 1) if way >= 9 else 0


@example(["b/+--a", "b/.--a", "b/aaa-"], "a -", "substring")  # all as good
@example(["a/xByb", "a/bAb", "aB/b", "Abb/ab"], "ab", "fuzzy")
@example(["aBa/bba", "aba/a/bb", "b/aba/bba", "a.ba/bab", "abab/ab"], "ababba", "fuzzy")
@given(
    paths, queries | st.text("ab_", min_size=6, max_size=8), st.sampled_from(["fuzzy", "substring"])
)
def test_the_best_are_those_found_best(given: list[str], text: str, kind: str) -> None:
    query, index = Query.parse(text, kind), index_of(given)
    smart = text == text.lower()
    inside = is_within if kind == "fuzzy" else is_part
    wanted = [
        one
        for one in index.paths
        if all(inside(a, one.lower() if smart else one) for a in text.split())
    ]
    matching = query.match(index, ENDLESS)
    answer = [(how, path) for how, path in matching.best(len(given), ENDLESS) if path in wanted]
    told = [path for how, path in answer if how in STEPS]
    expected = sorted(wanted, key=lambda one: badness(text.split(), one, smart=smart))
    assert told == [path for path in expected if path in told]
    guessed = [path for how, path in answer if how not in STEPS and how is not How.SAME]
    assert all(badness(text.split(), one, smart=smart)[0] > 1 for one in guessed)


asked = st.lists(st.tuples(queries, st.sampled_from(["fuzzy", "substring"])), max_size=4)


@given(paths, asked)
def test_what_was_asked_before_makes_no_difference(
    given: list[str], texts: list[tuple[str, str]]
) -> None:
    index = index_of(given)
    for text, kind in texts:
        for size in range(1, len(text) + 1):
            if text[:size].strip():
                query = Query.parse(text[:size], kind)
                assert told_by(query, index) == told_by(query, index_of(given))


@pytest.mark.parametrize(
    ("first", "second"), [("a b", "a"), ("ab", "a"), ("a", "b"), ("ab", "AB"), ("ab", "abc")]
)
def test_search_after_another_finds_the_same(first: str, second: str) -> None:
    index = index_of(["a", "ab", "a_b", "AB", "A", "b", "abc", "a_b_c"])
    for kind in ("substring", "fuzzy"):
        told_by(Query.parse(first, "substring"), index)
        query = Query.parse(second, kind)
        assert told_by(query, index) == told_by(query, index_of(index.paths))


@given(paths, st.integers(1, 200), st.sampled_from(["fuzzy", "substring"]))
def test_long_word_matches_as_a_short_one_does(given: list[str], times: int, kind: str) -> None:
    given = [*given, *("/".join(["ab"] * depth) for depth in (2, 20, times))]
    index = index_of(sorted(set(given)))
    inside = is_within if kind == "fuzzy" else is_part
    for word in ("ab" * times, "b/a" * times):
        told = told_by(Query.parse(word, kind), index)
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
        Query.parse(text, kind).match(index, over)
    found = Query.parse(text, kind).match(index, ENDLESS)
    assert found
    if kind != "glob":
        with pytest.raises(DeadlineExceeded):
            found.best(1, over)
    assert found.best(1, ENDLESS)


def test_smaller_page_asked_for_meanwhile_does_not_shorten_this_one() -> None:
    matches = Query.parse("a", "fuzzy").match(index_of([f"a{n}" for n in range(1000)]), ENDLESS)
    whole = matches.best(1000, ENDLESS)
    matches.best(5, ENDLESS)
    assert matches.best(1000, ENDLESS) == whole
    assert len(whole) == 1000


def test_query_with_a_nul_is_refused() -> None:
    with pytest.raises(ToolError, match="holds a NUL character"):
        Query.parse("a\0b", "substring")


def test_nothing_is_found_among_no_paths() -> None:
    assert len(Query.parse("a", "fuzzy").match(index_of([]), ENDLESS)) == 0


def test_word_in_the_path_goes_before_gaps_in_the_name() -> None:
    gaps = [f"{number}/a_bc" for number in range(query_module.MIN_RANKED)]
    index = index_of([*gaps, *(f"{number}/a/bc" for number in range(9)), "abc/x"])
    best = Query.parse("abc", "fuzzy").match(index, ENDLESS).best(2, ENDLESS)
    assert best == [(How.PATH, "abc/x"), (How.INITIALS, "0/a_bc")]


# ---------------------------------------------------------------------------- steps and guesses


FILES = (
    *("src/printf.c", "src/dir_entry.rs", "src/config.rs", "lib/tree/walk.py", "app/Config.md"),
    *("src/search_files.py", "docs/search.md", "html/parser.c", "tests/parse_html.py"),
    *("a/p/r/i/n/t.f", "web/haDialogBox.ts", "web/ha-dialog-bar.ts"),
)


@pytest.mark.parametrize(
    ("query", "how", "first"),
    [
        ("walk", "name", "lib/tree/walk.py"),
        ("tree", "path", "lib/tree/walk.py"),
        ("sfp", "initials", "src/search_files.py"),
        ("hadb", "initials", "web/haDialogBox.ts"),
        ("htmpar", "initials", "html/parser.c"),
        ("sfi", "initials", "src/search_files.py"),
        ("libtreewal", "pieces", "lib/tree/walk.py"),
        ("prnitf", "spelling", "src/printf.c"),
        ("prntf", "spelling", "src/printf.c"),
        ("printtf", "spelling", "src/printf.c"),
        ("prontf", "spelling", "src/printf.c"),
        ("DirEntry", "same", "src/dir_entry.rs"),
        ("DirEnt", "case", "src/dir_entry.rs"),
        ("Config", "name", "app/Config.md"),
        ("app/walk.py", "folder", "lib/tree/walk.py"),
        ("parsing the HTML", "words", "html/parser.c"),
        ("searchxfiles", "spelling", "src/search_files.py"),
        ("wakl", "spelling", "lib/tree/walk.py"),
        ("wlky", "letters", "lib/tree/walk.py"),
    ],
)
def test_file_is_found_by_the_surest_step(query: str, how: str, first: str) -> None:
    found = Query.parse(query, "fuzzy").match(index_of(FILES), ENDLESS).best(50, ENDLESS)
    assert found[0] == (how, first)


def test_a_step_makes_twenty_guesses() -> None:
    index = index_of([f"{number}/walk.py" for number in range(30)])
    assert len(Query.parse("app/walk.py", "fuzzy").match(index, ENDLESS).best(50, ENDLESS)) == 20


def test_words_under_four_letters_are_not_corrected() -> None:
    index = index_of(["abcd.c", "xyz.c"])
    assert Query.parse("abxd", "fuzzy").match(index, ENDLESS).best(9, ENDLESS) == [
        (How.SPELLING, "abcd.c")
    ]
    assert not Query.parse("xyq", "fuzzy").match(index, ENDLESS).best(9, ENDLESS)


def test_guess_never_stands_among_close_matches() -> None:
    found = Query.parse("Config", "fuzzy").match(index_of(FILES), ENDLESS).best(50, ENDLESS)
    assert found == [(How.NAME, "app/Config.md"), (How.CASE, "src/config.rs")]
    many = index_of([f"{number}/Config" for number in range(5)] + ["config.rs"])
    found = Query.parse("Config", "fuzzy").match(many, ENDLESS).best(50, ENDLESS)
    assert [how for how, _ in found] == [How.NAME] * 5


@pytest.mark.parametrize("kind", ["substring", "glob"])
def test_nothing_is_guessed_where_the_query_is_literal(kind: str) -> None:
    for query in ("prnitf", "DirEntry", "app/walk.py", "parsing HTML"):
        assert not Query.parse(query, kind).match(index_of(FILES), ENDLESS).best(50, ENDLESS)


@given(paths, queries, st.integers(0, 12))
def test_answer_is_the_same_each_time_and_for_each_page(
    given: list[str], text: str, few: int
) -> None:
    query = Query.parse(text, "fuzzy")
    whole = query.match(index_of(given), ENDLESS).best(99, ENDLESS)
    assert query.match(index_of(given), ENDLESS).best(99, ENDLESS) == whole
    assert query.match(index_of(given), ENDLESS).best(few, ENDLESS) == whole[:few]


def test_equals_stand_by_their_edits() -> None:
    index, heat = index_of(["a/index.ts", "bb/index.ts", "ccc/index.ts"]), {"ccc/index.ts": 0.5}
    found = Query.parse("index", "fuzzy").match(index, ENDLESS).best(3, ENDLESS, heat)
    assert paths_of(found) == ["ccc/index.ts", "a/index.ts", "bb/index.ts"]


def test_initials_of_the_whole_name_go_before_those_of_a_longer_one() -> None:
    index = index_of(["x/history_chart_map.py", "history_chart_map_legend.py"])
    found = Query.parse("hcm", "fuzzy").match(index, ENDLESS).best(2, ENDLESS)
    assert paths_of(found) == ["x/history_chart_map.py", "history_chart_map_legend.py"]


def test_glued_word_is_cut_wherever_it_has_to_be() -> None:
    index = index_of(
        ["utils/log.py", "data/automation.py", "lib/utils/sub/log.py", "tests/test_x.py"]
    )
    for query, path in (
        ("utilog", "utils/log.py"),
        ("datautom", "data/automation.py"),
        ("testest_", "tests/test_x.py"),
    ):
        found = Query.parse(query, "fuzzy").match(index, ENDLESS).best(9, ENDLESS)
        assert found[0] == (How.INITIALS, path)


def test_name_in_another_case_goes_before_names_that_hold_the_query() -> None:
    longer = [f"{number}/securityConfig.go" for number in range(9)]
    found = Query.parse("Config", "fuzzy").match(index_of([*longer, "config.rs"]), ENDLESS)
    assert found.best(2, ENDLESS) == [(How.SAME, "config.rs"), (How.NAME, "0/securityConfig.go")]
    index = index_of([*longer, "config.rs", "x/Config"])
    found = Query.parse("Config", "fuzzy").match(index, ENDLESS)
    assert found.best(1, ENDLESS) == [(How.NAME, "x/Config")]
    entries = index_of(["direntry_tests.rs", "a/dir_entry.rs", "b/DIRENTRY.md", "dir/entry.rs"])
    found = Query.parse("DirEntry", "fuzzy").match(entries, ENDLESS)
    assert found.best(2, ENDLESS) == [(How.SAME, "b/DIRENTRY.md"), (How.SAME, "a/dir_entry.rs")]


def test_some_of_several_words_go_before_the_scattered_letters_of_all() -> None:
    index = index_of(["a/parsers.py", "p/a/r/s/i/n/g/e/r/r/o/r/s.txt"])
    found = Query.parse("parsing errors", "fuzzy").match(index, ENDLESS).best(2, ENDLESS)
    assert found == [(How.WORDS, "a/parsers.py"), (How.LETTERS, index.paths[1])]


def test_rare_word_tells_more_than_one_that_many_paths_have() -> None:
    index = index_of([*(f"tests/test_{n}.py" for n in range(50)), "src/deeply/nested/gizmo.py"])
    found = Query.parse("tests of a gizmo", "fuzzy").match(index, ENDLESS).best(1, ENDLESS)
    assert found == [(How.WORDS, "src/deeply/nested/gizmo.py")]

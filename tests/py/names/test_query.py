"""Queries: which paths match, and in which order."""

import re
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded, ToolError
from backstaff.names import query as query_module
from backstaff.names.query import Query
from backstaff.names.ranking import MatchKind
from tests.py.examples import examples
from tests.py.globs.glob_model import fits, segments_of

MATCHES = (
    *(MatchKind.NAME, MatchKind.PATH, MatchKind.INITIALS, MatchKind.PIECES, MatchKind.LETTERS),
)
"""The kinds that are no guess."""
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


def told_by(query: Query, paths: Sequence[str]) -> list[str]:
    """The paths of `paths` that match `query`, sorted; the answer has them all, and none twice."""
    matches = query.match(paths, ENDLESS)
    best = matches.best(len(paths) + 1, ENDLESS)
    found = [path for _, path in best.files]
    matching = sorted(paths[position] for position in matches.positions)
    assert set(matching) <= set(found)
    assert len(set(found)) == len(found) == len(matches) + best.guesses
    return matching


def paths_of(found: Sequence[tuple[MatchKind, str]]) -> list[str]:
    return [path for _, path in found]


def is_within(query: str, path: str) -> bool:
    """Whether the characters of `query` stand in `path` in their order."""
    rest = iter(path)
    return all(character in rest for character in query)


def is_part(query: str, path: str) -> bool:
    return query in path


@given(paths, queries, st.sampled_from(["fuzzy", "substring"]))
def test_what_matches_is_what_the_words_say(given: list[str], text: str, kind: str) -> None:
    query, paths = Query.parse(text, kind), given
    wanted = shown(text.lower().split(), paths, kind)
    assert told_by(query, paths) == sorted(wanted)


@given(st.lists(some, unique=True, max_size=12), st.text("ab*/.", min_size=1, max_size=6))
def test_glob_matches_as_the_model_does(given: list[str], text: str) -> None:
    try:
        query = Query.parse(text, "glob")
    except ToolError:
        return
    paths = given
    segments = segments_of(text.removeprefix("./"))
    told = [one for one in paths if fits(segments, one.split("/"))]
    assert paths_of(query.match(paths, ENDLESS).best(len(given), ENDLESS).files) == told


@given(paths, queries, st.integers(1, 12))
def test_the_best_few_are_the_first_of_all(given: list[str], text: str, few: int) -> None:
    query, paths = Query.parse(text, "fuzzy"), given
    everything = query.match(paths, ENDLESS).best(len(given), ENDLESS).files
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_module, "MIN_RANKED", 0)
        assert query.match(given, ENDLESS).best(few, ENDLESS).files == everything[:few]


def shown(words: list[str], given: Sequence[str], kind: str) -> list[str]:
    """Which of `given` match `words`: beside a name that begins so, only those without a gap."""
    inside = is_within if kind == "fuzzy" else is_part
    folded = [one.lower() for one in given]
    matching = [one for one in folded if all(inside(word, one) for word in words)]
    names = [one.rpartition("/")[2] for one in matching]
    begun = [one for one in names if one.startswith(tuple(words))]
    if kind == "fuzzy" and any(all(word in one for word in words) for one in begun):
        matching = [one for one in matching if all(word in one for word in words)]
    return [one for one, same in zip(given, folded, strict=True) if same in set(matching)]


def badness(words: list[str], path: str) -> tuple[int, int, int]:
    """How bad a match `path` is, as the tool has it, without regard to case."""
    folded = path.lower()
    name = folded.rpartition("/")[2]
    if all(word in folded for word in words):
        classes = [class_of(word, name) for word in words]
        begun = [re.search(rf"(?:^|[\W_]){re.escape(word)}", folded) for word in words]
        kind = len(words) > 1 or max(classes) == 4
        classes = [2 if one == 4 and at else one for one, at in zip(classes, begun, strict=True)]
        return int(kind), sum(classes), len(path)
    word = words[0]
    if len(words) == 1 and len(word) <= 32:
        read_in_name = read(word, path, path.rfind("/") + 1)
        if read_in_name and not passed_over(word, path):
            return 2, 0, len(path)
    costs = [cost_of(word, path, folded) for word in words]
    scattered = any(cost[0] and word not in folded for cost, word in zip(costs, words, strict=True))
    at, stem = path.rfind("/") + 1, name.rpartition(".")[0] or name
    words_in_name = sum(path[n].isalnum() and is_start(path, n) for n in range(at, at + len(stem)))
    jumps, others = map(sum, zip(*costs, strict=True))
    return 3 + scattered, (jumps << 20) + others + words_in_name, len(path)


def class_of(one: str, name: str) -> int:
    ways = (
        one in {name, name.rpartition(".")[0]},
        name.startswith(one),
        re.search(rf"[\W_]{re.escape(one)}", name),
        one in name,
    )
    return next((way for way, holds in enumerate(ways) if holds), len(ways))


def cost_of(one: str, path: str, folded: str) -> tuple[int, int]:
    """The least cost of `one` in `path`: runs that begin inside a word, and the rest."""
    starts = [at for at in range(len(path)) if is_start(path, at)]

    @cache
    def rest(number: int, last: int, begin: int) -> tuple[int, int]:
        """The cost of the characters from `number` on, where the one before stands at `last`."""
        if number == len(one):
            return 0, 0
        found = [(1 << 19, 0)]
        for at in range(max(last + 1, begin), len(path)):
            if folded[at] != one[number]:
                continue
            jumps, others = rest(number + 1, at, begin)
            within = any(last < start <= at for start in starts)
            if number and at == last + 1:
                found.append((jumps, others))
            elif at in starts:
                found.append((jumps, others + 3))
            elif number and not within:
                found.append((jumps, others + 2))
            else:
                found.append((jumps + 1, others))
            if number and not within:
                found.append((jumps, others + 2))
        return min(found)

    jumps, others = rest(0, -1, 0)
    return min((jumps, others + 2), rest(0, -1, path.rfind("/") + 1))


def is_start(path: str, at: int) -> bool:
    """Whether a word of `path` starts at `at`."""
    here, before, after = path[at], path[:at][-1:], path[at + 1 :][:1]
    camel = here.isupper() and (before.islower() or after.islower())
    return not here.isalnum() or not before.isalnum() or camel


def read(one: str, path: str, begin: int) -> list[int]:
    """The places where the characters of `one` are read from `begin` on; none if they cannot be.

    The first is read at the start of a word. The next one is read where it follows, else at the
    next start of a word that is it.
    """

    def same(at: int, character: str) -> bool:
        return at < len(path) and path[at].lower() == character

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
            return places
    return []


def passed_over(one: str, path: str) -> int:
    """How many words of the name no piece of `one` begins; those of the extension do not count."""
    at = path.rfind("/") + 1
    dot = path.rfind(".", at + 1)
    words = [n for n in range(at, len(path)) if is_start(path, n) and path[n].isalnum()]
    begun = set(words) & set(read(one, path, at))
    return max(0, sum(n < (dot if dot > 0 else len(path)) for n in words) - len(begun))


@example(["b/+--a", "b/.--a", "b/aaa-"], "a -", "substring")  # all as good
@example(["AB", "B/A"], "B B", "fuzzy")  # a word counts once
@example(["a/xByb", "a/bAb", "aB/b", "Abb/ab"], "ab", "fuzzy")
@examples(1 / 2)
@given(
    paths, queries | st.text("ab_", min_size=6, max_size=8), st.sampled_from(["fuzzy", "substring"])
)
def test_the_best_are_those_found_best(given: list[str], text: str, kind: str) -> None:
    query, paths = Query.parse(text, kind), given
    words = list(dict.fromkeys(text.lower().split()))
    wanted = shown(words, paths, kind)
    matching = query.match(paths, ENDLESS)
    answer = [
        (how, path) for how, path in matching.best(len(given), ENDLESS).files if path in wanted
    ]
    told = [path for how, path in answer if how in MATCHES]

    expected = sorted(wanted, key=lambda path: badness(words, path))
    assert told == [path for path in expected if path in told]
    guessed = [path for how, path in answer if how not in MATCHES]
    assert all(badness(words, one)[0] > 1 for one in guessed)


@examples(1 / 2)
@given(paths, st.integers(1, 200), st.sampled_from(["fuzzy", "substring"]))
def test_long_word_matches_as_a_short_one_does(given: list[str], times: int, kind: str) -> None:
    given = [*given, *("/".join(["ab"] * depth) for depth in (2, 20, times))]
    paths = sorted(set(given))
    for word in ("ab" * times, "b/a" * times):
        told = told_by(Query.parse(word, kind), paths)
        assert told == sorted(shown([word], paths, kind))


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
    paths, over = ["ab" * 50, "a b"], Budget(deadline=0)
    with pytest.raises(DeadlineExceeded):
        Query.parse(text, kind).match(paths, over)
    found = Query.parse(text, kind).match(paths, ENDLESS)
    assert found
    if kind != "glob":
        with pytest.raises(DeadlineExceeded):
            found.best(1, over)
    assert found.best(1, ENDLESS).files


def test_query_with_a_nul_is_refused() -> None:
    with pytest.raises(ToolError, match="holds a NUL character"):
        Query.parse("a\0b", "substring")


def test_nothing_is_found_among_no_paths() -> None:
    assert len(Query.parse("a", "fuzzy").match([], ENDLESS)) == 0


def test_word_in_the_path_goes_before_gaps_in_the_name() -> None:
    gaps = [f"{number}/a_bc" for number in range(query_module.MIN_RANKED)]
    paths = [*gaps, *(f"{number}/a/bc" for number in range(9)), "abc/x"]
    best = Query.parse("abc", "fuzzy").match(paths, ENDLESS).best(2, ENDLESS).files
    assert best == [(MatchKind.PATH, "abc/x"), (MatchKind.INITIALS, "0/a_bc")]


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
        ("sfi", "initials", "src/search_files.py"),
        ("libtreewal", "pieces", "lib/tree/walk.py"),
        ("prnitf", "spelling", "src/printf.c"),
        ("prntf", "spelling", "src/printf.c"),
        ("printtf", "spelling", "src/printf.c"),
        ("prontf", "spelling", "src/printf.c"),
        ("DirEntry", "initials", "src/dir_entry.rs"),
        ("DirEnt", "initials", "src/dir_entry.rs"),
        ("app/walk.py", "folder", "lib/tree/walk.py"),
        ("searchxfiles", "spelling", "src/search_files.py"),
        ("wakl", "spelling", "lib/tree/walk.py"),
        ("wlky", "letters", "lib/tree/walk.py"),
    ],
)
def test_file_is_found_by_the_surest_step(query: str, how: str, first: str) -> None:
    found = Query.parse(query, "fuzzy").match(FILES, ENDLESS).best(50, ENDLESS).files
    assert found[0] == (MatchKind[how.upper()], first)


def test_a_step_makes_twenty_guesses() -> None:
    paths = [f"{number}/walk.py" for number in range(30)]
    assert (
        len(Query.parse("app/walk.py", "fuzzy").match(paths, ENDLESS).best(50, ENDLESS).files) == 20
    )


def test_words_under_four_letters_are_not_corrected() -> None:
    paths = ["abcd.c", "xyz.c"]
    assert Query.parse("abxd", "fuzzy").match(paths, ENDLESS).best(9, ENDLESS).files == [
        (MatchKind.SPELLING, "abcd.c")
    ]
    assert not Query.parse("xyq", "fuzzy").match(paths, ENDLESS).best(9, ENDLESS).files


def test_guess_never_stands_beside_close_matches() -> None:
    paths = ["src/walker.c", "src/walkers.c", "src/wanker.c"]
    found = Query.parse("walker", "fuzzy").match(paths, ENDLESS).best(50, ENDLESS).files
    assert found == [(MatchKind.NAME, path) for path in paths[:2]]


@pytest.mark.parametrize("kind", ["substring", "glob"])
def test_nothing_is_guessed_where_the_query_is_literal(kind: str) -> None:
    for query in ("prnitf", "DirEntry", "app/walk.py"):
        assert not Query.parse(query, kind).match(FILES, ENDLESS).best(50, ENDLESS).files


@given(paths, queries, st.integers(0, 12))
def test_answer_is_the_same_each_time_and_for_each_page(
    given: list[str], text: str, few: int
) -> None:
    query = Query.parse(text, "fuzzy")
    whole = query.match(given, ENDLESS).best(99, ENDLESS).files
    assert query.match(given, ENDLESS).best(99, ENDLESS).files == whole
    assert query.match(given, ENDLESS).best(few, ENDLESS).files == whole[:few]


def test_equals_stand_by_their_edits() -> None:
    paths, heat = ["a/index.ts", "bb/index.ts", "ccc/index.ts"], {"ccc/index.ts": 0.5}
    found = Query.parse("index", "fuzzy").match(paths, ENDLESS).best(3, ENDLESS, heat).files
    assert paths_of(found) == ["ccc/index.ts", "a/index.ts", "bb/index.ts"]


def test_initials_of_the_whole_name_go_before_those_of_a_longer_one() -> None:
    paths = ["x/history_chart_map.py", "history_chart_map_legend.py"]
    found = Query.parse("hcm", "fuzzy").match(paths, ENDLESS).best(2, ENDLESS).files
    assert paths_of(found) == ["x/history_chart_map.py", "history_chart_map_legend.py"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("revproxy fast hea", "http/reverseproxy/fastcgi/header.go"),
        ("rpfast", "http/reverseproxy/fastcgi/header.go"),
        ("hdrs go", "http/headers/headers.go"),
        ("revpro hdr", "http/reverseproxy/fastcgi/header.go"),
        ("http srv test", "http/server_test.go"),
    ],
)
def test_word_may_be_cut_anywhere_as_long_as_each_run_is_in_a_word_it_began(
    query: str, first: str
) -> None:
    paths = [
        "http/reverseproxy/fastcgi/fastcgi.go",
        "http/reverseproxy/fastcgi/fastcgi_test.go",
        "http/reverseproxy/fastcgi/header.go",
        "http/reverseproxy/healthchecks.go",
        "http/reverseproxy/headers_test.go",
        "http/headers/headers.go",
        "http/headers/headers_test.go",
        "http/server_test.go",
        "http/fileserver/browse_test.go",
        "tests/tls_dns_resolvers_with_global_provider.test",
        "tests/reverse_proxy_health_headers.test",
    ]
    found = Query.parse(query, "fuzzy").match(paths, ENDLESS).best(9, ENDLESS).files
    assert found[0] == (MatchKind.PIECES, first), found


def test_gaps_are_not_shown_beside_a_name_that_begins_with_the_query() -> None:
    paths = ["a/tree.py", "a/my_tree.py", "tree/x.py", "a/the_reel.py", "a/tore.py"]
    found = Query.parse("tree", "fuzzy").match(paths, ENDLESS)
    assert len(found) == 3
    assert paths_of(found.best(9, ENDLESS).files) == ["a/tree.py", "a/my_tree.py", "tree/x.py"]
    found = Query.parse("ree", "fuzzy").match(paths, ENDLESS)
    assert len(found) == 4, "no name begins with it"

"""forge/list_directory: the budget of its output, and its cost.

Each test names the requirements (FR-, NFR-, CFG-LD-...) and scenarios (T-LD-...) that it shows.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.tools.forge.list_directory import ordered_names
from tests.py.tools.forge.calls import error_of, listed, output, paths, plain, with_config
from tests.py.tools.forge.model import result, written
from tests.py.tools.random_trees import planted
from tests.py.trees import Plant

pytestmark = pytest.mark.slow

# ---------------------------------------------------------------------------- budget


SAMPLES: list[dict[str, object]] = [
    {},
    {"f": "1"},
    {"a/b/c": "", "a/é": "", "d/\U0001f600": "", "\udcff": "", 'q"\n': ""},
    {f"f{n}": "x" * n for n in range(7)} | {"d/": None, "l": {"link": "d"}},
]


@pytest.mark.check(28)
@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("most", [200, 3])
def test_every_output_budget_gives_valid_json_within_it_or_says_that_it_is_too_small(
    tree: Plant, sample: dict[str, object], most: int
) -> None:
    """T-LD-06, -13, -14, FR-LD-OUT-03, -05 to -08, NFR-LD-REL-01: at every single byte."""
    root = tree(sample)
    arguments = {"recursive": True, "max_entries": most}
    whole = output(listed(root, **arguments))
    entries = whole["entries"]
    cuts = [
        written(result(".", entries[:n], most, "max_output_bytes"))
        for n in range(len(entries) - 1, -1, -1)
    ] or [written(result(".", [], most, "max_output_bytes"))]
    candidates = [written(whole), *cuts]
    for limit in range(len(candidates[0].encode()) + 2):
        reply = listed(root, {"max_output_bytes": limit}, **arguments)
        expected = next((text for text in candidates if len(text.encode()) <= limit), None)
        if expected is None:
            code, message = error_of(reply)
            assert code == "ExecutionFailed", limit
            assert str(message).startswith("output budget too small"), limit
        else:
            assert reply.text == expected, limit
            assert reply.truncated == output(reply)["truncated"], limit
            assert reply.data, limit
            assert plain(reply.data) == output(reply), limit


@pytest.mark.parametrize(
    "context",
    [
        {"max_output_bytes": 9000, "available_capacity_bytes": 500},
        {"max_output_bytes": 500, "available_capacity_bytes": 9000},
        {"available_capacity_bytes": 500},
    ],
)
def test_smaller_of_the_two_budgets_counts(tree: Plant, context: dict[str, int]) -> None:
    """T-LD-06, FR-LD-OUT-03."""
    reply = listed(tree({f"f{n}": "" for n in range(9)}), context)
    assert 0 < output(reply)["returned"] < 9
    assert len(reply.text.encode()) <= 500
    assert output(reply)["truncated_reason"] == "max_output_bytes"


def test_output_budget_overrides_max_entries_as_the_reason(tree: Plant) -> None:
    """T-LD-14, FR-LD-OUT-07."""
    root = tree({f"f{n}": "" for n in range(9)})
    assert output(listed(root, max_entries=5))["truncated_reason"] == "max_entries"
    reply = output(listed(root, {"max_output_bytes": 500}, max_entries=5))
    assert reply["truncated_reason"] == "max_output_bytes"
    assert reply["max_entries"] == 5


# ---------------------------------------------------------------------------- cost


@pytest.fixture
def statted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The names that are statted from now on."""
    seen: list[object] = []
    real = os.stat

    def noting(path: Any, **options: Any) -> os.stat_result:  # noqa: ANN401
        seen.append(path)
        return real(path, **options)

    monkeypatch.setattr(os, "stat", noting)
    return seen


@pytest.fixture(scope="module")
def crowded() -> Iterator[Path]:
    """A directory with far more entries than anybody asks for."""
    with planted(
        {f"f{n:04}": 0 for n in range(2000)} | {f"d{n:03}": {} for n in range(500)}
    ) as root:
        yield root


@pytest.mark.parametrize(
    ("flags", "most"),
    [
        ({}, 21),
        ({"include_files": False}, 21),
        ({"include_files": False, "recursive": True, "max_depth": 1}, 21),
        ({"include_dirs": False}, 500 + 21),
        ({"include_symlinks": False}, 21),
    ],
)
def test_nothing_is_statted_after_the_first_entry_that_is_not_returned(
    crowded: Path, statted: list[object], flags: dict[str, object], most: int
) -> None:
    """NFR-LD-PERF-01: of thousands of entries, only those before the end of the listing."""
    reply = output(listed(crowded, max_entries=20, **flags))
    assert (reply["returned"], reply["truncated"]) == (20, True)
    assert len([path for path in statted if not str(path).startswith("/")]) <= most


def test_no_more_directories_are_opened_than_entries_are_returned(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFR-LD-PERF-01."""
    wide = tree({f"d{n:03}/e/f": "" for n in range(60)}, "wide")
    deep = tree({"deep/" * 80 + "f": ""}, "deep")
    opened: list[object] = []
    real = os.open

    def noting(path: Any, *arguments: Any, **options: Any) -> int:  # noqa: ANN401
        opened.append(path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", noting)
    assert output(listed(wide, recursive=True, max_entries=5))["truncated"]
    assert len([path for path in opened if not str(path).startswith("/")]) <= 5 + 2
    opened.clear()
    assert len(paths(listed(deep, recursive=True))) == 4
    assert opened.count("deep") == 3


def calls(function: Callable[[], object]) -> int:
    """The calls that `function` makes, in Python and to C."""
    count = 0

    def noting(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(noting)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


name = st.text(st.sampled_from("ab.\udce9日"), min_size=1, max_size=4)


@given(st.lists(name, unique=True), st.integers(1, 3))
def test_first_names_and_then_the_others_are_in_order(names: list[str], most: int) -> None:
    """FR-LD-LST-05, however few of many names are wanted."""
    lossy = {n: os.fsencode(n).decode(errors="replace").encode() for n in names}
    found = list(ordered_names(names, most))
    assert sorted(found) == sorted(names)
    assert [lossy[n] for n in found] == sorted(lossy.values())


def test_work_grows_in_line_with_the_entries(tree: Plant, tmp_path: Path) -> None:
    """NFR-LD-PERF-02: four times the entries are no more than about four times the calls."""
    server = with_config(tmp_path, "[tools.list_directory]\nmax_entries = 800\n")
    few, many = (tree({f"f{n}": "" for n in range(count)}, str(count)) for count in (200, 800))
    listed(few, None, server)
    assert calls(lambda: listed(many, None, server)) < 4.5 * calls(
        lambda: listed(few, None, server)
    )

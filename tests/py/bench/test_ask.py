"""The gate: questions and names find the right files as well as before."""

from math import log2

import pytest

from dev.bench import ask

pytestmark = pytest.mark.slow


def test_questions_and_names_find_the_right_files_as_well_as_before() -> None:
    with ask.copied() as folders:
        for project, _, right in ask.questions():
            assert all((folders[project] / path).is_file() for path in right), (project, right)
        asked, found = list(ask.ranks(folders)), list(ask.reciprocal_ranks(folders))
    figures = ask.figures(asked, found)
    late = [one for one in asked if one[2] != 1]
    for name, expected in ask.EXPECTED.items():
        assert figures[name] >= expected - ask.LARGEST_FALL, (figures, late)


def test_gain_is_one_for_all_right_files_first_and_falls_with_the_rank() -> None:
    assert ask.ndcg(["a", "b", "c"], ["b", "a"]) == 1
    assert ask.ndcg(["x", "a"], ["a"]) == pytest.approx(1 / log2(3))
    assert ask.ndcg(["x", "a"], ["a", "b"]) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))
    assert ask.ndcg(["x"] * 10 + ["a"], ["a"]) == 0
    assert len(list(ask.questions())) == 40

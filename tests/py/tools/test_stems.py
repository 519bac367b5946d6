"""Which forms of a word have one stem."""

import pytest

from backstaff.contents.words import SHORTEST_STEM, stem


@pytest.mark.parametrize(
    "forms",
    [
        "validate validates validated validating validation validations validator",
        "run runs running runner",
        "parse parses parsed parsing parser parsers",
        "test tests tested testing tester",
        "deploy deploys deployed deploying deployment deployments",
        "review reviews reviewing reviewer",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1, {w: stem(w) for w in forms.split()}


def test_short_words_stay_as_they_are() -> None:
    for word in ("a", "is", "css", "red", "her", "key"):
        assert stem(word) == word
    assert len(stem("sings")) >= SHORTEST_STEM

"""The estimate of tokens, against the vocabularies o200k and cl100k."""

import pytest

from backstaff.render.tokens import tokens

COUNTED = [  # the text, and its tokens in both
    ("src/trio/ __init__.py _abc.py +12 .py +1 _core/(46) _tools/(5) +3 dirs (7)\n", 33, 33),
    (
        "./ .changes/ docs/ internal/(4831) testing/equivalence-tests/(475) tools/ website/ +32\n",
        26,
        26,
    ),
    ("modules/ui/ dashboard/ hl-todo/ ophints/ treemacs/ vc-gutter/ zen/ +61\n", 25, 25),
    ("packages/compiler-sfc/ package.json +1 .md +1 __tests__/(35) src/(31)\n", 23, 23),
    (
        "edited lately: internal/command/views/state_migrate.go internal/command/views/init.go\n",
        18,
        16,
    ),
    ("9e107d9d372b.png e4d909c290d0.png d41d8cd98f00.png\n", 28, 28),
    ("n4bQgYhMfWWaL28g xVHTg1Wn7Zt0sGqP\n", 28, 30),
    ("\u6587\u4ef6\u6d4b\u8bd5.txt \u9879\u76ee\u8bf4\u660e.md\n", 8, 8),
    ("2026-03-04/05T0607.log.gz 2026-11-17/22T1834.log.gz\n", 28, 28),
    ("\U0001f600\U0001f680.md \U0001f389\U0001f525.md\n", 11, 16),
    ("org/springframework/boot/autoconfigure/AbstractFailureAnalyzer.java\n", 15, 13),
    ("\u043f\u0440\u043e\u0435\u043a\u0442/\u0434\u0430\u043d\u043d\u044b\u0435.txt\n", 7, 10),
    ("a.c b.h c.o d.q\n", 9, 9),
]


@pytest.mark.parametrize(("text", "first", "second"), COUNTED)
def test_estimate_is_hardly_ever_less_than_the_truth(text: str, first: int, second: int) -> None:
    assert tokens(text) >= 0.94 * max(first, second)


def test_estimate_of_plain_paths_is_not_far_from_the_truth() -> None:
    for text, first, second in COUNTED[:4]:
        assert tokens(text) <= 1.35 * max(first, second), text


def test_empty_text_costs_nothing_and_a_text_the_sum_of_its_words() -> None:
    assert tokens("") == 0
    assert tokens("a.py b.py") == tokens("a.py") + tokens("b.py")

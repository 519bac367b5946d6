"""Every acceptance check of safety has a test, and no test names an unknown check."""

import re

from tests.py.attack.checks import CHECKS, TESTS, marked, shown


def test_every_acceptance_check_has_a_test() -> None:
    assert list(CHECKS) == list(range(1, 47))
    missing = [f"{number}: {CHECKS[number]}" for number in CHECKS if not shown()[number]]
    assert not missing, "\n".join(missing)


def test_no_test_shows_a_check_that_does_not_exist() -> None:
    assert set(shown()) <= set(CHECKS)


def test_no_mark_is_overlooked() -> None:
    marks = sum(
        len(re.findall(r"^@pytest\.mark\.check\(", path.read_text("utf-8"), re.MULTILINE))
        for path in TESTS.rglob("test_*.py")
    )
    tags = sum(
        len(re.findall(r"^  :tags '\(.*check-", path.read_text("utf-8"), re.MULTILINE))
        for path in TESTS.rglob("*-tests.el")
    )
    assert len(list(marked())) == marks + tags

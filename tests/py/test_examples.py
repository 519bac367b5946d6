"""A profile of Hypothesis applies to every test, and some profiles try new examples."""

import json
import os
import subprocess
import sys
from pathlib import Path

from hypothesis import settings

from tests.py.examples import examples, times

TESTS = Path(__file__).parent
PROFILES = """
import json
from hypothesis import settings
from tests.py import examples
examples.register()
names = ("suite", "quick", "scheduled", "thorough")
profiles = {name: settings.get_profile(name) for name in names}
print(json.dumps({name: [one.derandomize, one.print_blob] for name, one in profiles.items()}))
"""


def test_profiles_are_the_same_in_continuous_integration() -> None:
    command = (sys.executable, "-c", PROFILES)
    environment = {**os.environ, "CI": "true", "PYTHONPATH": str(TESTS.parents[1])}
    told = subprocess.run(command, env=environment, capture_output=True, check=True).stdout  # noqa: S603
    same, new = [True, False], [False, True]
    assert json.loads(told) == {"suite": same, "quick": same, "scheduled": new, "thorough": new}


def test_examples_are_a_share_of_those_of_the_profile() -> None:
    most = settings().max_examples
    assert examples(2).max_examples == 2 * most
    assert examples(1 / 5).max_examples == times(1 / 5) == most // 5
    assert examples(1, least=most + 7).max_examples == most + 7
    assert examples(1 / 1_000_000).max_examples == 1


def test_no_test_has_a_number_of_examples_of_its_own() -> None:
    own = {TESTS / "examples.py", Path(__file__)}
    words = ("max_examples=", "derandomize=")
    texts = {path: path.read_text("utf-8") for path in TESTS.rglob("*.py") if path not in own}
    assert [str(path) for path, text in texts.items() if any(word in text for word in words)] == []

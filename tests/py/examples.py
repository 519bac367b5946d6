"""How many examples a test of Hypothesis tries: a share of what the profile says.

A number of its own would keep a deeper profile from deepening the test.
"""

from typing import Any

from hypothesis import settings


def register() -> None:
    """Register the profiles for `--hypothesis-profile`, and load "suite", the default.

    "suite" and "quick" try the same examples in each run, as a suite that guards changes must.
    "scheduled" and "thorough" try new ones, and print how to reproduce one that fails.
    """
    settings.register_profile("suite", deadline=None, derandomize=True, max_examples=150)
    settings.register_profile("quick", deadline=None, derandomize=True, max_examples=15)
    settings.register_profile("scheduled", deadline=None, max_examples=300, print_blob=True)
    settings.register_profile("thorough", deadline=None, max_examples=5_000, print_blob=True)
    settings.load_profile("suite")


def examples(share: float, *, least: float = 1, **options: Any) -> settings:  # noqa: ANN401
    """The SHARE of the profile's examples, 2 for twice as many; LEAST of them at least.

    OPTIONS are those of `hypothesis.settings`.
    """
    return settings(max_examples=int(max(times(share), least)), **options)


def times(share: float) -> int:
    """How many examples that SHARE is, for a test that chooses them itself."""
    return int(max(settings().max_examples * share, 1))

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
    for name, most, same in (
        ("suite", 150, True),
        ("quick", 15, True),
        ("scheduled", 300, False),
        ("thorough", 5_000, False),
    ):
        # Hypothesis has defaults of its own where CI is in the environment, so nothing is left out.
        settings.register_profile(
            name, deadline=None, derandomize=same, max_examples=most, print_blob=not same
        )
    settings.load_profile("suite")


def examples(share: float, *, least: float = 1, **options: Any) -> settings:  # noqa: ANN401
    """The `share` of the profile's examples, 2 for twice as many; `least` of them at least.

    `options` are those of `hypothesis.settings`.
    """
    return settings(max_examples=int(max(times(share), least)), **options)


def times(share: float) -> int:
    """How many examples that `share` is, for a test that chooses them itself."""
    return int(max(settings().max_examples * share, 1))

"""The number of examples of a Hypothesis test: a share of the profile's number.

With a fixed number in the test, a deeper profile would not deepen it.
"""

from typing import Any

from hypothesis import HealthCheck, settings


def register() -> None:
    """Register the profiles for `--hypothesis-profile`, and load "suite", the default.

    "suite" and "quick" try the same examples in each run, because a suite that guards changes must.
    "scheduled" and "thorough" try new ones, and print how to reproduce one that fails.
    """
    for name, most, same in (
        ("suite", 150, True),
        ("quick", 15, True),
        ("scheduled", 300, False),
        ("thorough", 5_000, False),
    ):
        # Hypothesis has other defaults if CI is in the environment, so all of them are given here.
        settings.register_profile(
            name,
            deadline=None,
            derandomize=same,
            max_examples=most,
            print_blob=not same,
            suppress_health_check=[HealthCheck.too_slow],  # a machine that was paused looks slow
        )
    settings.load_profile("suite")


def examples(share: float, *, least: float = 1, **options: Any) -> settings:  # noqa: ANN401
    """Use `share` of the profile's examples (2: twice as many), but at least `least`.

    `options` are those of `hypothesis.settings`.
    """
    return settings(max_examples=int(max(times(share), least)), **options)


def times(share: float) -> int:
    """Return the number of examples of `share`, for a test that chooses them itself."""
    return int(max(settings().max_examples * share, 1))

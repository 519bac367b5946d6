"""Suggestions for a search of files that found none or few: a deeper glob, and similar names.

Each function uses only the paths that the search has already read, and suggests nothing if its time
is up.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from heapq import nsmallest

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded
from backstaff.globs.globs import BadGlob, compile_globs
from backstaff.names.ranking import name_of
from backstaff.render.lines import EXAMPLES, plural
from backstaff.render.names import quote

SECONDS = 1.0
"""Maximum number of seconds for a search for suggestions."""
MIN_SIMILARITY = 0.4
"""Minimum similarity of a name that `similar` returns."""
# With .4 it returns the name of .96 of 383 names with two edits, with .6 of .77. For a name of
# another project it returns some with .4 in .48 of the cases, and with .2 in .95.

_SPECIAL_OR_BLANK = re.compile(r"[*?\[\]{}\\\s]")


def deeper_glob(pattern: str, paths: Sequence[str], budget: Budget) -> str:
    """Say which deeper glob matches more of `paths` than `pattern`: `'**/*.c' matches 9 files`.

    It is for any directory, for any below its own, or for all files in it: `**/a/*.c`, `a/**/*.c`,
    `a/**`. Without one, "" is returned.
    """
    plain = pattern.removeprefix("./")
    above, slash, name = plain.rpartition("/")
    deeper = [] if plain.startswith("**/") else [f"**/{plain}", f"{plain.rstrip('/')}/**"]
    deeper += [f"{above}{slash}**/{name}"] * (name != "" and "**" not in plain)
    with suppress(DeadlineExceeded, BadGlob):  # a deeper one can be too long
        globs = pattern, *deeper
        counts = {glob: len(compile_globs((glob,)).files(paths, budget)) for glob in globs}
        most = max(counts, key=counts.__getitem__)
        if most != pattern:
            return f"{quote(most, None)} matches {plural(counts[most], 'file')}"
    return ""


def similar(text: str, paths: Sequence[str], budget: Budget) -> list[str]:
    """Return up to `EXAMPLES` of `paths` whose names are most similar to the last name in `text`.

    The similarity is Dice's, from 0 to 1: twice the pairs of adjacent characters that both names
    have, divided by the pairs of both. It is at least `MIN_SIMILARITY`. Case does not matter.
    """
    wanted = _SPECIAL_OR_BLANK.sub("", name_of(text.rstrip("/")).casefold())
    pairs = {wanted[at : at + 2] for at in range(len(wanted) - 1)}
    # Names of very different lengths share too few pairs.
    shortest, longest = len(pairs) * MIN_SIMILARITY / 2, len(pairs) * 2 / MIN_SIMILARITY
    scored = (
        (-2 * sum(map(name.__contains__, pairs)) / (len(pairs) + len(name) - 1), position)
        for position, name in enumerate(map(str.casefold, map(name_of, budget.checked(paths))))
        if pairs and shortest < len(name) <= longest
    )
    with suppress(DeadlineExceeded):
        likely = nsmallest(EXAMPLES, (one for one in scored if -one[0] >= MIN_SIMILARITY))
        return [paths[position] for _, position in likely]
    return []

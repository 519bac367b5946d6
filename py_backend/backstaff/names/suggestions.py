"""What a search of files may mean that found none or few: misspelt names, similar ones, globs.

What each guess is worth stands in docs/design.md; `python -m dev.bench.ask` measures it anew.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from heapq import nsmallest

from backstaff.budget import Budget
from backstaff.errors import DeadlineExceeded
from backstaff.globs.globs import BadGlob, compile_globs
from backstaff.names.ranking import is_whole_name, name_of
from backstaff.render.lines import EXAMPLES, plural
from backstaff.render.names import quote

SECONDS = 1.0  # seconds for a search for suggestions
MOST = 20  # guesses
SHORTEST, LONGEST = 4, 64  # characters of words that are corrected: shorter ones fit too many names
# MRR of names with letters dropped .920 with 4, .911 with 5, .890 with 8.
MIN_SIMILARITY = 0.4  # minimum similarity of a name that `similar` returns
# With .4 it returns the name of .96 of 383 names with two edits, with .6 of .77. For a name of
# another project it returns some with .4 in .48 of the cases, and with .2 in .95.

_SPECIAL_OR_BLANK = re.compile(r"[*?\[\]{}\\\s]")


def deeper_glob(pattern: str, paths: Sequence[str], budget: Budget) -> str:
    """Say which deeper glob matches more of `paths`: `'**/*.c' matches 9 files`, or ""."""
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

    By Dice: twice the pairs of adjacent characters that both have, divided by the pairs of both.
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


def misspelt(text: str, folded: Sequence[str], budget: Budget) -> list[int]:
    """Return the positions of paths whose names have a part that is one edit away from `text`.

    Whole names come first, then beginnings; of equals the shortest path. An edit is a character
    that is missing, new or another one, or two that are swapped. Raises `DeadlineExceeded`.
    """
    text = text.casefold()
    if not SHORTEST <= len(text) <= LONGEST:
        return []
    edited = list[str]()
    for at, one in enumerate(text):
        before, behind = re.escape(text[:at]), re.escape(text[at + 1 :])
        edited.append(f"{before}.?{behind}")  # another character, or none
        edited.append(rf"{before}[^\W_]{re.escape(one)}{behind}")  # a new `_` is no misspelling
        edited += [before + re.escape(text[at + 1] + one + text[at + 2 :])] if behind else []
    search = re.compile(rf"(?:{'|'.join(edited)})(?P<ends>(?:\.[^.]*)?$)?").search
    # An edit does not change both the characters before the middle and those behind it.
    middle = (len(text) - 1) // 2
    first, last = text[:middle], text[middle + 1 :]
    ranks = [
        (0 if found.start() else -1 - (found["ends"] is not None), len(path), at)
        for at, path in enumerate(budget.checked(folded))
        if (first in path or last in path) and (found := search(name_of(path)))
    ]
    return [at for *_, at in nsmallest(MOST, ranks)]


def elsewhere(text: str, folded: Sequence[str], budget: Budget) -> list[int]:
    """Return the positions of files with the name in `text`, first below most of its folders."""
    *folders, name = text.strip().casefold().rstrip("/").split("/")
    wanted = set(folders)
    ranks = [
        (-len(wanted.intersection(path.split("/"))), len(path), at)
        for at, path in enumerate(budget.checked(folded))
        if folders and name and name in path and is_whole_name(name, path)
    ]
    return [at for *_, at in nsmallest(MOST, ranks)]

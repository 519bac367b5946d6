"""Definitions by their names: the nearest names, and the places in the project."""

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from math import inf

from backstaff.budget import Budget
from backstaff.contents.outlines import outline
from backstaff.contents.regexp import Matchers, NoMatcher
from backstaff.contents.regexp_worker import Job
from backstaff.errors import DeadlineExceeded
from backstaff.names.suggestions import similar
from backstaff.render.lines import shortened, some_of
from backstaff.render.names import visible, word
from backstaff.structure.language import CONTAINERS
from backstaff.structure.outline import Definition, Outline, names_in
from backstaff.tool import Context
from backstaff.tools.workspace._not_searched import told
from backstaff.tools.workspace._searched import rules_of, searched

MAX_NEAR, MAX_FOUND = 6, 20  # similar names, and definitions in the project, in an answer
MAX_FILES = 200  # with the name that are looked at, in the order of their paths
TIME_SHARE = 0.6  # of a call's time, for looking in the project
_DATA = ("name", "qualified", "kind", "line", "first_line", "last_line", "depth")
Defined = tuple[str, Definition]  # the path of a file, and a definition in it


def lines_of(definition: Definition) -> str:
    """Return the name and the lines: `Server.run 33-97`."""
    return f"{visible(definition.qualified)} {span_of(definition)}"


def span_of(definition: Definition) -> str:
    """Return the lines, from the first comment or decorator above it on: `33-97`."""
    first, last = definition.first_line, definition.last_line
    return f"{first}-{last}" if last > first else f"{first}"


def own_line(definition: Definition, width: int) -> str:
    """Return its own line without `{`, `(`, `:`, in at most `width` bytes; for 0 the name alone."""
    if width:
        text = " ".join(definition.text.split()).rstrip("{(: ")
        return visible(shortened(text, width))
    kind = f"{definition.kind} " if definition.kind in CONTAINERS else ""
    return visible(f"{kind}{definition.name}")


def definition_data(definition: Definition) -> dict[str, object]:
    """Return `definition` for the data of an answer."""
    return {key: getattr(definition, key) for key in _DATA}


def near(made: Outline, symbol: str, budget: Budget) -> str:
    """Return the names in `made` most like `symbol`, with their lines; "" if none is."""
    wanted = (names_in(symbol) or [""])[-1].lower()
    by_name = {one.name: one for one in reversed(made.definitions)}
    likely = [one for one in by_name if wanted and wanted in one.lower()]
    likely += similar(wanted, list(by_name), budget)
    found = [by_name[name] for name in dict.fromkeys(likely)][:MAX_NEAR]
    return some_of(map(lines_of, found), len(found), between=", ", most=MAX_NEAR)


def listed(found: Sequence[Defined]) -> str:
    """Return the places of the definitions `found`: `src/a.py Server.run 33-97, src/b.py run 4`."""
    words = (f"{word(path)} {lines_of(one)}" for path, one in found)
    return some_of(words, len(found), between=", ", most=MAX_FOUND)


def in_project(symbol: str, context: Context) -> tuple[list[Defined], str]:
    """Return what defines `symbol` below the root, and which files were not looked at."""
    found, unread = list[Defined](), "not searched: later files, as the time was up"
    parts, budget = names_in(symbol) or [symbol], context.budget.share(TIME_SHARE)
    # On a line of a definition, no value stands before the name.
    pattern = rf'^(?:[^=;"]*[^\w=;"-])?{re.escape(parts[-1])}(?:[^\w-]|$)'
    with (
        suppress(DeadlineExceeded, NoMatcher),
        Matchers(budget) as matchers,
        searched(".", rules_of(), context, budget) as files,
    ):
        # Many files define `next`, and few have `Subject`, too.
        scan = files.scan(Job(((pattern, False),)), most=MAX_FILES if len(parts) == 1 else inf)
        texts = ((hits.path, files.text(hits.path)) for hits in scan.hits(matchers))
        likely = (one for one in texts if all(part in one[1] for part in parts))
        for path, text in islice(likely, MAX_FILES):
            made = outline(text, path, budget)
            found += [(path, one) for one in (made.named(symbol) if made else ())]
            if len(found) >= MAX_FOUND:
                break
            budget.check()
        unread = told(files, scan)[2][-1].text
    return found[:MAX_FOUND], unread

"""The promises and how they are measured: the one table of the bench."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf, isfinite

from dev.bench.timing import Measures, p50, p95


class Promise(StrEnum):
    """The promises, each a heading of the table."""

    CALL = "a call that does nothing, Emacs to Python and back"
    LISTING = "listing, text and plist, seen from Emacs"
    FIRST_200 = "first 200 entries"
    WALK = "sandboxed walk of 125,000 files, names and kinds"
    COMMANDS = "list_commands, 10,000 files"
    OUTLINE = "definitions of a MiB of Python"
    START = "start to first answer"
    SEARCH = "search_files, 125,000 files"
    CONTENT = "regexp_search, both read all of 3,000 / 125,000 files"
    CHANGES = "125,000 files, 100 of them changed since the commit"


class Statistic(StrEnum):
    """The compared figures: medians, or the tail of one against its own median."""

    MEDIAN = "p50"
    TAIL = "p95/p50"


@dataclass(frozen=True, slots=True)
class Row:
    """A promise: at most `target` times the `peer`. `ours` and `peer` are ways of `measure`.

    A row without a `target` promises nothing: it is there for comparison.

    With `Statistic.TAIL`, the p95 of `ours` is at most `target` times its median, or as uneven as
    the peer's in the same run.
    """

    promise: Promise
    what: str
    measure: str
    ours: str
    peer: str
    target: float = inf
    statistic: Statistic = Statistic.MEDIAN

    def judged(self, measures: Measures) -> "Verdict | None":
        """Return the verdict on the `measures`; None if one of the two was not measured."""
        ways = measures.get(self.measure, {})
        if self.ours not in ways or self.peer not in ways:
            return None
        ours, peer = ways[self.ours], ways[self.peer]
        if self.statistic is Statistic.TAIL:
            limit = max(self.target, p95(peer) / p50(peer))
            return Verdict(self, p95(ours), p50(ours), limit)
        return Verdict(self, p50(ours), p50(peer), self.target)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row with its figures, in seconds or bytes."""

    row: Row
    ours: float
    peer: float
    limit: float

    @property
    def ratio(self) -> float:
        """Our figure divided by the peer's."""
        return self.ours / self.peer

    @property
    def reached(self) -> bool | None:
        """True if the promise is kept; None if there is none."""
        return self.ratio <= self.limit if isfinite(self.limit) else None


def _content(number: int, files: str) -> tuple[Row, ...]:
    ways = {
        "no-match": ("no match, literal", 2),
        "literal": ("one file of 1,000 matches, literal", 2),
        "alternation": ("five alternatives", 2),
        "ignore-case": ("case ignored", 1.5),
        "class": ("class and literal", 2),
        "no-literal": ("no literal", 4),
        "first-100": ("both stop after 100 matches", 2),
        "question": ("three words of a question, codebase_search", 3),
    }
    return tuple(
        Row(
            Promise.CONTENT,
            f"{files}, {what} : rg",
            f"content/{number}/{way}",
            "ours",
            "rg",
            target,
        )
        for way, (what, target) in ways.items()
    )


def _listing(number: int, entries: str, with_text: float, data: float, first: float) -> list[Row]:
    measure = f"listing/{number}"
    return [
        Row(Promise.LISTING, f"{entries} : the handler's data", measure, "ours", "native", data),
        Row(
            Promise.LISTING,
            f"{entries} : the handler's data and text",
            measure,
            "ours",
            "native-text",
            with_text,
        ),
        Row(Promise.FIRST_200, f"of {entries} : all of them", measure, "first", "native", first),
    ]


TAIL = Statistic.TAIL
P = Promise
# A limit is a promise that held in each of two runs; docs/design.md has the stricter goals.
_ROWS = (
    Row(P.CALL, "one : raw pipe echo", "ping", "ours", "pipe", 5),
    # The server of jsonrpc.el only echoes.
    Row(P.CALL, "one : jsonrpc.el", "ping", "ours", "jsonrpc", 1),
    Row(P.CALL, "one : epc:call-sync", "ping", "ours", "epc", 0.001),
    Row(P.CALL, "p95 : p50, or as the raw pipe", "ping", "ours", "pipe", 3, TAIL),
    Row(P.CALL, "50 at once, each : one alone", "in-flight/50", "ours", "single", 1),
    # The handler is that of contract 000, in Emacs Lisp.
    *_listing(0, "1,000 entries", 1, 3, 2.5),
    *_listing(1, "10,000 entries", 1, 2, 0.25),
    *_listing(2, "100,000 entries", 0.8, 1.5, 0.1),
    Row(
        P.LISTING,
        "10,000 for an agent, text alone : the handler's data and text",
        "listing/1",
        "agent",
        "native-text",
        0.6,
    ),
    Row(P.FIRST_200, "of 200,000, in Python : os.listdir", "bounded", "ours", "listdir", 2.5),
    Row(P.WALK, "no globs : os.scandir", "walk", "ours", "scandir", 1.5),
    Row(P.WALK, "12 globs : os.scandir", "walk", "globs", "scandir", 2.5),
    Row(P.COMMANDS, "first call : PyYAML on each head", "commands", "cold", "yaml", 1.5),
    Row(P.COMMANDS, "second call : 4 KiB of each file", "commands", "warm", "heads", 2),
    Row(P.OUTLINE, "the standard library : 60 ms", "outline", "ours", "limit", 1),
    # The first search notes the stamps of all directories, and a bare walk notes none.
    Row(P.SEARCH, "first : a bare walk", "search", "cold", "walk", 4),
    Row(P.SEARCH, "second page : a bare walk", "search", "second-page", "walk", 1),
    Row(P.SEARCH, "other query : a bare walk", "search", "other-query", "walk", 1),
    *_content(0, "3,000"),
    *_content(1, "125,000"),
    *(
        Row(
            P.CHANGES,
            f"git_status_summary, {when or 'warm'} : git status",
            measure,
            "ours",
            "git",
            2.5,
        )
        for when in ("", "first", "after add", "after commit")
        for measure in [f"changes/status {when}".rstrip()]
    ),
    Row(P.CHANGES, "git_diff : git diff", "changes/diff", "ours", "git", 2),
    Row(P.START, "spawn to answer : python3 -c pass", "start", "ours", "python", 8),
)
ROWS = tuple(sorted(_ROWS, key=lambda row: tuple(Promise).index(row.promise)))

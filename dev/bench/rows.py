"""The promises and how they are measured: the one table of the bench."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf, isfinite

from dev.bench.timing import Measures, p50, p95


class Promise(StrEnum):
    """The promises, each a heading of the table."""

    TINY_CALL = "tiny call, Emacs to Python and back"
    TAIL = "p95 / p50 of it"
    IN_FLIGHT = "calls in flight, each"
    LISTING = "listing, text and plist, seen from Emacs"
    FIRST_200 = "first 200 entries"
    WALK = "sandboxed walk of 125,000 files, names and kinds"
    WALK_IN_EMACS = "the same as a list in Emacs"
    TREE_TEXT = "the same as tree text"
    GLOBS = "walk with 12 exclude globs, pruned"
    STALL = "longest in which Emacs looks at no key: 50,000 rows"
    COMMANDS = "list_commands, 10,000 files"
    SKILLS = "the same, 10,000 skills"
    START = "start to first answer"
    READING = "a page of 200 lines, text and plist, seen from Emacs"
    MCP = "MCP, start to the list of tools"
    SEARCH = "search of 125,000 files"
    CONTENT = "regexp_search, both read all of 3,000 / 125,000 files"
    CHANGES = "125,000 files, 100 of them changed since the commit"
    MEMORY = "memory and growth"


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
            return Verdict(self, p95(ours), p50(ours), limit, p95(ours) / p50(ours))
        return Verdict(self, p50(ours), p50(peer), self.target, min(ours) / min(peer))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row with its figures, in seconds or bytes.

    `quiet` is the ratio of the shortest times, which other programs disturb least. It is shown and
    decides nothing.
    """

    row: Row
    ours: float
    peer: float
    limit: float
    quiet: float

    @property
    def ratio(self) -> float:
        """Our figure divided by the peer's."""
        return self.ours / self.peer

    @property
    def reached(self) -> bool | None:
        """True if the promise is kept; None if there is none."""
        return self.ratio <= self.limit if isfinite(self.limit) else None


def _listing(number: int, entries: str, target: float) -> Row:
    what = f"{entries} entries : contract's Elisp handler, no text"
    return Row(Promise.LISTING, what, f"listing/{number}", "ours", "native", target)


def _first(number: int, entries: str, target: float) -> Row:
    what = f"of {entries} : the full native listing"
    return Row(Promise.FIRST_200, what, f"listing/{number}", "first", "native", target)


def _with_text(number: int, entries: str, target: float) -> Row:
    what = f"{entries} entries : the handler with the same text"
    return Row(Promise.LISTING, what, f"listing/{number}", "ours", "native-text", target)


def _content(number: int, files: str) -> tuple[Row, ...]:
    ways = {
        "no-match": ("no match, literal", 1.5),
        "literal": ("one file of 1,000 matches, literal", 1.5),
        "alternation": ("five alternatives", 1.5),
        "ignore-case": ("case ignored", 1.5),
        "class": ("class and literal", 1.5),
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


TAIL = Statistic.TAIL
# A row that is always missed says nothing. Where quiet runs missed a limit by little, the limit is
# their figure and a tenth.
ROWS = (
    Row(Promise.TINY_CALL, "ping : raw pipe echo", "ping", "ours", "pipe", 5),
    # The peer of jsonrpc.el only echoes.
    Row(Promise.TINY_CALL, "ping : jsonrpc.el", "ping", "ours", "jsonrpc", 0.9),
    Row(Promise.TINY_CALL, "ping : epc:call-sync", "ping", "ours", "epc", 0.001),
    Row(Promise.TAIL, "ping, or as the raw pipe", "ping", "ours", "pipe", 3, TAIL),
    Row(Promise.TAIL, "ping after a listing of 10,000", "after", "ours", "pipe", 3, TAIL),
    Row(Promise.IN_FLIGHT, "50 at once : one alone", "in-flight/50", "ours", "single", 0.5),
    Row(Promise.IN_FLIGHT, "100 at once : one alone", "in-flight/100", "ours", "single", 0.5),
    _listing(0, "1,000", 2.1),
    _listing(1, "10,000", 1.2),
    _listing(2, "100,000", 1.2),
    _with_text(1, "10,000", 0.7),
    Row(
        Promise.LISTING,
        "10,000 entries for an agent, text alone : the same",
        "listing/1",
        "agent",
        "native-text",
        0.42,
    ),
    _with_text(2, "100,000", 0.7),
    # The native listing of 1,000 entries takes 4 ms, as do a call and 200 rows in Emacs.
    _first(0, "1,000", 1.3),
    _first(1, "10,000", 0.15),
    _first(2, "100,000", 0.07),
    Row(
        Promise.FIRST_200,
        "of 200,000, in Python : bare os.listdir",
        "bounded",
        "ours",
        "listdir",
        1.5,
    ),
    Row(Promise.WALK, "by directories : bare os.scandir", "walk", "ours", "scandir", 1.3),
    Row(Promise.WALK, "by directories : find", "walk", "ours", "find"),
    Row(
        Promise.WALK_IN_EMACS,
        "paths : directory-files-recursively",
        "tree",
        "list",
        "native-list",
        0.55,
    ),
    Row(Promise.TREE_TEXT, "in Emacs : native recursion", "tree", "text", "native-text", 0.25),
    Row(Promise.TREE_TEXT, "EPC : MCP directory_tree", "tree-peers", "ours", "mcp", 0.22),
    Row(Promise.STALL, "shown, refreshed, sorted : 100 ms", "stall", "ours", "limit", 1.0),
    Row(
        Promise.STALL,
        "the same, the processor's time for Emacs : 100 ms",
        "stall",
        "ours-processor",
        "limit",
        1.0,
    ),
    Row(Promise.STALL, "the same : Dired, shown alone", "stall", "ours", "dired", 0.1),
    Row(Promise.GLOBS, "12 globs : the bare walk", "walk", "globs", "scandir", 2.5),
    # PyYAML without its C part, as in a default installation, takes 0.15 ms for three fields.
    Row(Promise.COMMANDS, "ours : 4 KiB of each", "commands", "ours", "heads", 30),
    Row(Promise.SKILLS, "ours : 4 KiB of each", "skills", "ours", "heads", 40),
    Row(Promise.READING, "10 kB : insert-file-contents", "reading/10kB", "ours", "native", 15),
    Row(Promise.READING, "of 1 MB : insert-file-contents", "reading/1MB", "ours", "native", 2.2),
    Row(Promise.READING, "beside 20 unsaved buffers : alone", "unsaved", "ours", "alone", 1.5),
    # The first walk notes the stamps of all directories, and a bare walk notes none.
    Row(Promise.SEARCH, "first : a bare walk", "search", "cold", "walk", 2.0),
    Row(Promise.SEARCH, "second page : a bare walk", "search", "second-page", "walk", 0.4),
    Row(Promise.SEARCH, "other query : a bare walk", "search", "other-query", "walk", 0.6),
    Row(Promise.SEARCH, "one letter : a bare walk", "search", "one-letter", "walk", 1.0),
    *_content(0, "3,000"),
    *_content(1, "125,000"),
    Row(Promise.CHANGES, "git_status_summary : git status", "changes/status", "ours", "git", 2),
    Row(Promise.CHANGES, "the same, first call", "changes/status first", "ours", "git", 2),
    Row(Promise.CHANGES, "the same, after git add", "changes/status after add", "ours", "git", 2),
    Row(
        Promise.CHANGES, "the same, after a commit", "changes/status after commit", "ours", "git", 2
    ),
    Row(Promise.CHANGES, "git_diff : git diff", "changes/diff", "ours", "git", 2),
    Row(Promise.START, "spawn to answer : python3 -c pass", "start", "ours", "python", 8),
    Row(Promise.START, "spawn to answer : MCP server", "start", "ours", "mcp", 0.3),
    Row(Promise.MCP, "the same tools : an MCP server of the SDK", "mcp-start", "ours", "sdk", 0.3),
    Row(Promise.MCP, "seven tools : MCP server from npm", "mcp-start", "ours", "mcp", 0.6),
    Row(
        Promise.MEMORY,
        "growth for 1,000 nodes, of 500,000 files : of 125,000",
        "memory",
        "bounded-forest",
        "bounded-tree",
        1.5,
    ),
    Row(
        Promise.MEMORY,
        "growth for 200 of 200,000 : the whole listing",
        "memory",
        "first",
        "listing",
        0.3,
    ),
    Row(
        Promise.MEMORY,
        "time for all of 500,000 files : of 125,000 (linear: 4)",
        "scale",
        "forest",
        "tree",
        5,
    ),
    Row(
        Promise.MEMORY,
        "time for 1,000 nodes, of 500,000 files : of 125,000",
        "scale",
        "bounded-forest",
        "bounded-tree",
        1.5,
    ),
    Row(
        Promise.MEMORY,
        "time to list 100,000 : 10,000 (linear: 10)",
        "scale",
        "flat-100000",
        "flat-10000",
        14,
    ),
)

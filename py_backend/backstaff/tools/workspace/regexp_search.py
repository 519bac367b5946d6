r"""workspace/regexp_search: where a regular expression matches in the files below a directory.

The dialect is Python's `re`; `contents.dialects` translates parts that only JavaScript has. A match
is within one line. Order is by path (UTF-16 units), line, column. Where a page for a model cannot
hold all matches, the files stand by worth instead (contract 009, `contents.worth`), unless the time
is up before all are counted, or the pattern has no words. The next pages have the same order while
no file has changed; if one has, a note says so.

The way of a match is `Search.result`: the files are chosen (`_searched`), each has its matches
counted (`Scan`), the page is shared among the files (`Pass.shares`), its matches are fetched, laid
out as rows (`_matches`), and fitted into the limit (`_pages`).

The text of a modified buffer takes the place of its file, which need not exist yet. Files that may
hold secrets are skipped, whoever has approved of the search. Columns count UTF-16 units in the
JSON, and characters in the data. Of a line with more than 1,000 characters `line_text` is a part.
Where matches are more than a page for a model holds, each file gets a share of it, and its last row
counts its others; `offset` counts these as well. For the output `files` or `count`, an item is a
path, and max_results and offset count files.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from backstaff.cache import LRUCache
from backstaff.contents.dialects import BadRegexp
from backstaff.contents.outlines import outline, outlines
from backstaff.contents.regexp import Matchers, NoMatcher
from backstaff.contents.regexp_worker import Job, Pattern
from backstaff.contents.scan import Hits, Scan
from backstaff.contents.words import question_of
from backstaff.errors import DeadlineExceeded, ErrorCode, PathError, ToolError
from backstaff.fs.contents import MAX_FILE_BYTES
from backstaff.project.files import Changed
from backstaff.render.lines import counted, shortened, size
from backstaff.render.names import MAX_ECHO, quote, show, visible
from backstaff.result import Note, NoteKind
from backstaff.structure.outline import Outline
from backstaff.tool import Context, Result, Tool, argument
from backstaff.tools.workspace._matches import items_of, path_in_text, rows_of
from backstaff.tools.workspace._near import Near, Wording, timeout
from backstaff.tools.workspace._not_searched import told
from backstaff.tools.workspace._pages import Row, page
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._searched import Pass, Searched, rules_of, searched

MAX_PATTERN_BYTES = 1000
MAX_RESULTS, MAX_OFFSET, MAX_TIMEOUT_MS, MAX_CONTEXT = 500, 1_000_000, 30_000, 10
FILES_A_PAGE, LEAST_SHARE = 5, 10  # files that share a full page, and matches of each, at least
MOST_TEXT_BYTES = 32 << 20  # of the texts that are kept for the matches of a page
WEIGH_SHARE = 0.6  # of the time that is left, for counting all files, for the order of worth
CONTENT, FILES, COUNT = "content", "files", "count"  # matches, or files, or those with a number
LATE = "the time was up before all definitions around matches were found"
UNWEIGHED = "the time was up before all files were weighed, so they stand by path"
NEW_ORDER = "files have changed since the page before, so the order is new"


@dataclass(frozen=True, slots=True)
class Settings:
    """`[tools.regexp_search]`: without `respect_gitignore`, ignored files are always searched."""

    respect_gitignore: bool = True


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's parameters, and from `literal` on those that are beyond it."""

    pattern: str = argument("Regular expression pattern source.")
    flags: str = argument("Regex flags from g/i/m/s/u only (default: empty).", default="")
    root_path: str = argument(
        "Workspace-relative root directory (default: .). Accepts / or \\ and requires JSON escaping"
        " for backslashes.",
        default=".",
    )
    include: tuple[str, ...] = argument(
        "Glob allowlist patterns within searchable paths. Does not override exclusions.", absent=()
    )
    exclude: tuple[str, ...] = argument(
        "Glob denylist patterns (takes precedence over include).", absent=()
    )
    max_results: int = argument(
        "Maximum number of matches to return (default: 100).", limits=(1, MAX_RESULTS), default=100
    )
    max_file_size_bytes: int = argument(
        "Per-file size limit in bytes (fixed: 1048576).",
        limits=(MAX_FILE_BYTES, MAX_FILE_BYTES),
        default=MAX_FILE_BYTES,
        hidden=True,
    )
    timeout_ms: int = argument(
        "Search timeout in milliseconds (default: 5000).", limits=(1, MAX_TIMEOUT_MS), default=5000
    )
    literal: bool = argument("The pattern is plain text.", default=False)
    output: str = argument(
        "Matches (default), only files, or how many each has.",
        choices=(CONTENT, FILES, COUNT),
        default=CONTENT,
    )
    context_lines: int | None = argument(
        "Lines around a match (default: some for few matches).", minimum=0, maximum=MAX_CONTEXT
    )
    definitions: bool = argument(
        "Only lines that define something; up to three come whole.", default=False
    )
    exclude_tests: bool = argument("Leave out files of tests.", default=False)
    include_ignored: bool = argument("Also what git ignores.", default=False)
    offset: int = argument(
        "How many to skip: an answer, of up to 24576 bytes, names it.",
        default=0,
        minimum=0,
        maximum=MAX_OFFSET,
    )

    def wanted(self) -> str:
        """The pattern in an answer: `/def run/i`, or 'text'."""
        pattern = shortened(visible(self.pattern).replace("\n", r"\n"), MAX_ECHO)
        return (quote(self.pattern) if self.literal else f"/{pattern}/") + self.flags


def run(arguments: Arguments, context: Context) -> Result:
    """Search, and return a page of the matches. Raises `ToolError`."""
    start = time.monotonic()
    budget = context.budget.at_most(arguments.timeout_ms / 1000)
    everything = arguments.include_ignored or not context.settings.respect_gitignore
    asked = replace(arguments, include_ignored=everything)
    _check(asked)
    rules = rules_of(asked.include, asked.exclude, exclude_tests=asked.exclude_tests)
    root_path = asked.root_path.replace("\\", "/")
    wording, search = Wording(asked.pattern, asked.flags, asked.literal), None
    how, python = {"include_ignored": everything, "lazily": True}, (asked.pattern, False)
    try:
        python = wording.python()
        with Matchers(budget) as matchers:
            matchers.check(python)  # a bad pattern is refused before a bad path
            while True:
                with (
                    suppress(Changed),  # then no file is taken from an earlier look at the disk
                    searched(root_path, rules, context, budget, **how) as files,
                ):
                    search = Search(asked, wording, files, matchers, context, start)
                    return search.result()
                how["lazily"] = False
    except BadRegexp as error:
        raise wording.refusal(error, python[0]) from error
    except PathError as error:
        raise refusal(error, asked.root_path, context) from error
    except DeadlineExceeded as error:
        # Where the caller waits no longer, a higher timeout_ms would change nothing.
        is_own = budget.deadline < context.budget.deadline and asked.timeout_ms < MAX_TIMEOUT_MS
        scan, prefix = (search.scan, search.files.prefix) if search else (None, "")
        raise timeout(scan, prefix, more="timeout_ms" * is_own) from error


def _check(asked: Arguments) -> None:
    """Refuse a pattern and flags that the parameters alone do not refuse (search 5)."""
    name, problem, length = "pattern", "", size(asked.pattern)
    if not asked.pattern.strip():
        problem = "is blank: give text or a regular expression to look for"
    elif length > MAX_PATTERN_BYTES:
        problem = f"has {length} bytes, more than the {MAX_PATTERN_BYTES} allowed"
    elif not set(asked.flags) <= set("gimsu") or len(set(asked.flags)) < len(asked.flags):
        name, problem = "flags", f"may hold g i m s u, each once, but it is {quote(asked.flags)}"
    if problem:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument '{name}' {problem}")


@dataclass(slots=True)
class Search:
    """A search for `wording` from the time `start` on; `scan` shows how far the first pass came."""

    asked: Arguments
    wording: Wording
    files: Searched
    matchers: Matchers
    context: Context
    start: float
    scan: Scan | None = None

    def result(self) -> Result:
        """Return the page. Raises `BadRegexp`, `DeadlineExceeded` and `Cancelled`."""
        is_model, late = self.context.text_only, list[Note]()
        job = self._job((self.wording.python(), *self.wording.variants()))
        self.scan = self.files.scan(job, most=self._most())
        found = Pass(self.scan)
        self._count(found)
        if not (is_model and (self.asked.offset or found.counted >= self._most())):
            result = self._page(found)
            if not is_model or result.data["next_offset"] is None:
                return result
        try:
            found = self._by_worth() or found
        except (DeadlineExceeded, NoMatcher):
            late = [Note(NoteKind.TIME, UNWEIGHED, "give a root_path or include")]
        return self._page(found, late)

    def _most(self) -> int:
        """The number of matches, or of files, after which a pass by path ends: one too many."""
        return self.asked.offset + self.asked.max_results + 1

    def _job(self, patterns: Sequence[Pattern]) -> Job:
        """Return the job for the processes that counts matches, or finds lines that match."""
        if self.asked.definitions:
            return Job(patterns, output="lines", window=(0, MAX_FILE_BYTES), with_text=True)
        return Job(patterns, output="files" if self.asked.output == FILES else "count")

    def _wanted(self, hits: Hits) -> Hits:
        """Return `hits`, or its matches that are the first on a line that defines something."""
        if not self.asked.definitions:
            return hits
        made = outline(hits.text.decode(), hits.path, self.matchers.budget)
        lines = {one.line for one in made.definitions} if made else set()
        matches = [match for match in hits.matches if match[0] in lines]
        return replace(hits, count=len(matches), matches=matches)

    def _count(self, found: Pass) -> None:
        """Count the wanted matches of each file of a pass, until there are enough."""
        for hits in found.scan.hits(self.matchers):
            wanted = self._wanted(hits)
            if wanted.count:
                found.hits.append(replace(wanted, matches=(), text=b""))
                found.counted += wanted.count if self.asked.output == CONTENT else 1
            if found.counted >= self._most():
                break
        found.is_whole = not found.scan.is_early()

    def _by_worth(self) -> Pass | None:
        """Return the files by their worth, or None if the pattern has no words."""
        question = question_of(self.wording.pattern, literal=self.wording.literal)
        if not question.words:
            return None
        within = replace(self.matchers, budget=self.matchers.budget.share(WEIGH_SHARE))
        pattern, files = self.wording.python(), self.files
        scan = files.scan(Job((pattern,), words=question.forms(), output="count"))
        found = list(scan.hits(within))
        hits = [one.hits for one in files.weighed(question, found, scan, within.budget)]
        order = hash(tuple((one.path, one.count) for one in hits))
        if not self.asked.definitions:
            items = sum(one.count if self.asked.output == CONTENT else 1 for one in hits)
            return Pass(scan, hits, items, is_whole=True, is_weighed=True, order=order)
        job, paths = self._job((pattern,)), [one.path for one in hits]
        ordered = Pass(files.scan(job, paths, most=self._most()), is_weighed=True, order=order)
        self._count(ordered)
        ordered.scan = scan
        return ordered

    def _page(self, found: Pass, late: Sequence[Note] = ()) -> Result:
        """Return the page of the matches `found`, in the caller's limit.

        The data hold no more than the text, so a reader of either finds the rest at `next_offset`.
        """
        asked, files, limit = self.asked, self.files, self.context.text_limit()
        shown, has_more = self._fetched(found)
        notes = [*files.notes, *late, *self._order_notes(found)]
        if not found.hits:
            near = Near(self.wording, files, found.scan, self.matchers)
            notes += near.reasons(asked.include, ignored=not asked.include_ignored)
        made = dict[str, Outline]()
        try:
            texts = {one.path: one.text.decode() for one in shown if one.text}
            made.update((path, one) for path, one in outlines(texts, self.matchers.budget) if one)
        except DeadlineExceeded:
            notes.append(Note(NoteKind.TIME, LATE))
        problems = (f"{show(path)} {one.problem}" for path, one in made.items() if one.problem)
        notes += [Note(NoteKind.TIME, f"no definitions: {problem}") for problem in problems]
        counts, unsaved, of_files = told(files, found.scan)
        notes, is_cut = [*notes, *of_files], has_more or not found.is_whole
        if asked.output == CONTENT:
            # Only a whole answer has lines around matches unasked.
            lines = 0 if is_cut or asked.offset else None
            lines = lines if asked.context_lines is None else asked.context_lines
            items, rows = list(items_of(shown, made)), rows_of(shown, made, lines, limit)
        else:
            is_count = asked.output == COUNT
            keys, end = (["path", "count"], ": {}\n") if is_count else (["path"], "\n")
            items = [({key: getattr(one, key) for key in keys}, {}) for one in shown]
            rows = [Row(path_in_text(one.path) + end.format(one.count)) for one in shown]

        def head(count: int, more: bool) -> str:  # noqa: FBT001
            return self._head(found, count if shown else None, more=more)

        written = page(head, rows, notes, limit, asked.offset, has_more=is_cut)
        truncated = written.next_offset is not None or any(one.folded for one in shown)
        kinds = {"binary": "binary", "size_limit": "too_large"}.items()
        output = {
            "query": {"pattern": asked.pattern, "flags": asked.flags},
            "root_path": files.base,
            "truncated": truncated,
            "scanned_files": found.scan.searched,
            "items": [item for item, _ in items[: written.shown]],
            "warnings": [
                f"skipped_{kind}_files={counts[key]}" for kind, key in kinds if counts[key]
            ],
            "skipped": counts,
            "next_offset": written.next_offset,
            "unsaved": unsaved,
        }
        took_ms = round((time.monotonic() - self.start) * 1000)
        in_units = [item | units for item, units in items[: written.shown]]
        return Result(
            text=written.text,
            data=output | {"notes": [note.data() for note in notes]},
            output=output | {"took_ms": took_ms, "items": in_units},
            truncated=truncated,
        )

    def _fetched(self, found: Pass) -> tuple[list[Hits], bool]:
        """Return the page's files with its matches, and True if others are left for later pages."""
        asked, pattern, prefix = self.asked, self.wording.python(), self.files.prefix
        if asked.output != CONTENT:
            rest = found.hits[asked.offset :]
            first = [replace(one, path=prefix + one.path) for one in rest[: asked.max_results]]
            return first, len(rest) > len(first)
        most = asked.max_results + 1
        if self.context.text_only:  # programs and people get all matches, on later pages
            most = max(LEAST_SHARE, asked.max_results // FILES_A_PAGE)
        shares, has_more = found.shares(asked.offset, asked.max_results, most=most)
        windows = {path: share[:2] for path, share in shares.items()}
        job = Job((pattern,), output="content", windows=windows, with_text=True)
        job = self._job((pattern,)) if asked.definitions else job
        shown, text_bytes = list[Hits](), 0
        for hits in self.files.scan(job, list(windows)).hits(self.matchers) if shares else ():
            passed, most, folded = shares[hits.path]
            matches, text_bytes = self._wanted(hits).matches, text_bytes + len(hits.text)
            if asked.definitions:
                matches = matches[passed:][:most]
            text = hits.text if text_bytes <= MOST_TEXT_BYTES else b""
            if matches:  # else the file has changed meanwhile
                path = prefix + hits.path
                shown.append(replace(hits, path=path, matches=matches, text=text, folded=folded))
        return shown, has_more

    def _order_notes(self, found: Pass) -> list[Note]:
        """Say that the order is new, if files have changed since the page before."""
        if not found.is_weighed:
            return []
        key = self.files.place.path, replace(self.asked, offset=0, max_results=1)
        before = _ORDERS.get(key)
        _ORDERS.put(key, found.order)
        is_new = self.asked.offset > 0 and before not in (None, found.order)
        return [Note(NoteKind.PATTERN, NEW_ORDER, "offset=0")] * is_new

    def _head(self, found: Pass, shown: int | None, *, more: bool) -> str:
        """Return the first line of a page that has `shown` items; None says past the end."""
        asked, is_content = self.asked, self.asked.output == CONTENT
        of, files = counted(found.scan.searched, "file"), counted(len(found.hits), "file")
        of = f"the first {of}" if more and not found.is_whole else of
        among = f"for {asked.wanted()} ({of} searched{self.files.where()})\n"
        if not found.hits:
            return f"No {'definitions' if asked.definitions else 'matches'} {among}"
        if shown is None:
            nouns = "matches" if is_content else "files with matches"
            return f"No more {nouns} than {found.counted:,} {among}"
        which = counted(shown, "match", "matches") if is_content else files
        if is_part := more or asked.offset > 0:
            which = f"{'Matches' if is_content else 'Files'} "
            which += f"{asked.offset + 1:,}-{asked.offset + shown:,}"
        is_all = found.is_weighed and found.is_whole
        which += f" of {found.counted:,}" * (is_part and is_all)
        where = f" in {files}" * (is_all or not is_part) if is_content else " with matches"
        order = ", the most telling files first," * (found.is_weighed and len(found.hits) > 1)
        return f"{which}{where}{order} {among}"


# A hash of the order of the latest searches by worth: their next pages have the same one.
_ORDERS: LRUCache[tuple[str, Arguments], int] = LRUCache(64)

TOOL = Tool(
    "Searches workspace text files with a regular expression and returns deterministic match"
    " locations.",
    arguments=Arguments,
    run=run,
    preset=1,
    categories=("filesystem", "navigation", "search"),
    reads_content=True,
    settings=Settings,
    table="regexp_search",
)

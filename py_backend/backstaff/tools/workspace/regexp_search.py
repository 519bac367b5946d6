r"""workspace/regexp_search: where a regular expression matches in the files below a directory.

The dialect is Python's `re`; `contents.dialects` translates parts that only JavaScript has. A match
is within one line. Order is by path (UTF-16 units), line, column.

The way of a match: the files are chosen (`_searched`), each has its matches counted (`Scan`), those
in tests or on lines without definitions are dropped (`Wanted`), the page is shared among the files
(`page_of`), its matches are fetched, laid out as rows (`_matches`), and fitted into the limit.

Where a page for a model cannot hold all matches, the files stand by worth instead (contract 009):
all are counted before the first page, and the order is that of `contents.worth` for the words of
the pattern. If the time is up before, or if the pattern has no words, the order is by path. The
next pages have the same order while no file has changed; if one has, a note says so.

The text of a modified buffer takes the place of its file, which need not exist yet. Links are not
followed; binary files, those over 1 MiB and those that are not UTF-8 are skipped, and so are files
that may hold secrets, whoever has approved of the search. The last line of the text always counts
them, and so does `skipped` in the data: names that git ignores, where a directory is one name, and
files else.

The contract's `took_ms` is in the JSON only: a reply has its own. Columns count UTF-16 units in the
JSON, and characters in the data. Of a line with more than 1,000 characters `line_text` is a part.
Lines around a match are in the text only, and unasked only if they have room, else the reply, but
not its data, is truncated; with `definitions`, more than three have none. Matches in a definition
stand below its name and lines (`_matches`); where the time is up, without them. Where matches are
more than a page for a model holds, each file gets a share of it, and its last row counts its
others; `offset` counts these as well. For the output `files`, an item is a path, and for `count` a
path and the number of its matches; max_results and offset then count files.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from backstaff.cache import LRUCache
from backstaff.contents.dialects import BadRegexp
from backstaff.contents.outlines import outlines
from backstaff.contents.regexp import Matchers, NoMatcher
from backstaff.contents.regexp_worker import Job, Pattern
from backstaff.contents.scan import Hits
from backstaff.contents.words import question_of
from backstaff.errors import DeadlineExceeded, ErrorCode, PathError, ToolError
from backstaff.fs.contents import MAX_FILE_BYTES
from backstaff.project.file_kinds import is_test_file
from backstaff.render.lines import bracketed, counted, fit, fitting, size
from backstaff.render.names import MAX_ECHO, labels, quote, show, visible, word
from backstaff.result import Note, NoteKind
from backstaff.structure.outline import Outline
from backstaff.tool import ESSENTIAL, Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._matches import (
    ENDS_SHARE,
    TO_ENDS,
    WANTED_SHARE,
    Around,
    Item,
    lines_near,
    path_in_text,
    rows_within,
)
from backstaff.tools.workspace._matches import items as items_of
from backstaff.tools.workspace._near import Near, Wording
from backstaff.tools.workspace._not_searched import not_searched, skipped
from backstaff.tools.workspace._page import Page, page_of
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._search_errors import invalid_regex, timeout
from backstaff.tools.workspace._searched import (
    Pass,
    Searched,
    about_unsaved,
    rules_of,
    searched,
)
from backstaff.tools.workspace._wanted import MOST_AT_ONCE, Wanted, is_generated

MAX_PATTERN_BYTES = 1000
MAX_RESULTS, MAX_OFFSET, MAX_TIMEOUT_MS = 500, 1_000_000, 30_000
MAX_CONTEXT = 10
"""Maximum number of lines that a caller gets on each side of a match."""
LEFT_FILES = 5
"""Number of files after a page that are named with their matches."""
MAX_LEFT_BYTES, LEFT_PART = 400, 16
"""Maximum number of bytes for their names, which is also the sixteenth part of the limit."""
FILES_A_PAGE, LEAST_SHARE = 5, 10
"""Number of files that share a full page, and the minimum of matches that each shows."""
MOST_TEXT_BYTES = 32 << 20
"""Maximum number of bytes of the texts that are kept for the matches of a page."""
WEIGH_SHARE = 0.6
"""The part of the time that is left for counting all files, for the order of worth."""
LATE = "the time was up before all definitions around matches were found"
UNWEIGHED = "the time was up before all files were weighed, so they stand by path"
NEW_ORDER = "files have changed since the page before, so the order is new"


class Output(StrEnum):
    """The items of an answer: matches, files that have any, or files with a number."""

    CONTENT = "content"
    FILES = "files"
    COUNT = "count"


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
        "Search timeout in milliseconds (default: 5000).",
        limits=(1, MAX_TIMEOUT_MS),
        default=5000,
        hidden=True,
    )
    literal: bool = argument("The pattern is plain text.", default=False)
    output: str = argument(
        "Matches, only the files that have any, or how many each has.",
        choices=tuple(Output),
        default=Output.CONTENT.value,
    )
    context_lines: int | None = argument(
        "Lines around each match, at most 10 (default: some if matches are few).",
        minimum=0,
    )
    context_after: int | None = argument(
        "Lines after each match (default: context_lines).", minimum=0
    )
    enclosing: bool = argument(
        "Name the definition around each match, with its lines.", default=True, hidden=True
    )
    definitions: bool = argument(
        "Only lines that define something; up to three definitions stand whole.",
        default=False,
    )
    exclude_tests: bool = argument("Leave out tests, also those inside sources.", default=False)
    include_ignored: bool = argument(
        "Search what git ignores, too, and repositories within.", default=False
    )
    offset: int = argument(
        "How many to skip: an answer names the next page's.",
        default=0,
        minimum=0,
        maximum=MAX_OFFSET,
    )

    def wanted(self) -> str:
        """The pattern in an answer: `/def run/i`, or 'text'."""
        pattern = visible(self.pattern).replace("\n", r"\n")
        if self.literal:
            return quote(self.pattern) + self.flags
        return f"/{pattern if len(pattern) <= MAX_ECHO else pattern[:MAX_ECHO] + '…'}/{self.flags}"

    def around(self) -> Around | None:
        """The lines that are asked for around each match, at most `MAX_CONTEXT` on each side."""
        before, after = self.context_lines, self.context_after
        if before is None and after is None:
            return None
        before = min(before or 0, MAX_CONTEXT)
        return Around(before, before if after is None else min(after, MAX_CONTEXT))


def run(arguments: Arguments, context: Context) -> Result:
    """Search, and return a page of the matches. Raises `ToolError`."""
    start = time.monotonic()
    budget = context.budget.at_most(arguments.timeout_ms / 1000)
    everything = arguments.include_ignored or not context.settings.respect_gitignore
    asked = replace(arguments, include_ignored=everything)
    _check(asked)
    rules = rules_of(asked.include, asked.exclude)
    wording, passes = Wording(asked.pattern, asked.flags, asked.literal), list[Pass]()
    pattern = asked.pattern, "i" in asked.flags
    no_tests = (lambda path: not is_test_file(path)) if asked.exclude_tests else None
    try:
        pattern = wording.python()
        with Matchers(budget) as matchers:
            matchers.check(pattern)  # a bad pattern is refused before a bad path
            with searched(
                asked.root_path,
                rules,
                context,
                budget,
                include_ignored=everything,
                is_wanted=no_tests,
            ) as files:
                search = Search(asked, wording, files, matchers, context)
                result = search.result(passes, start)
    except BadRegexp as error:
        raise invalid_regex(error, asked.pattern, pattern[0]) from error
    except PathError as error:
        raise refusal(error, asked.root_path, context) from error
    except DeadlineExceeded as error:
        had, passed = (1000 * (end - start) for end in (budget.deadline, time.monotonic()))
        limit = ""
        if round(had) < asked.timeout_ms:
            limit = f": the caller waits no longer, whatever timeout_ms {asked.timeout_ms} says"
        found = passes[0] if passes else None
        raise timeout(found, passed, limit, includes=bool(asked.include)) from error
    return result


def _check(asked: Arguments) -> None:
    """Refuse a pattern and flags that the parameters alone do not refuse (search 5)."""
    name, problem, length = "pattern", "", size(asked.pattern)
    if not asked.pattern.strip():
        problem = "is blank: give text or a regular expression to look for"
    elif length > MAX_PATTERN_BYTES:
        problem = f"has {length} bytes, more than the {MAX_PATTERN_BYTES} allowed"
    elif not set(asked.flags) <= set("gimsu"):
        name, problem = "flags", f"may hold the letters g i m s u, but it is {quote(asked.flags)}"
    elif len(set(asked.flags)) < len(asked.flags):
        name, problem = "flags", f"has a letter twice: {quote(asked.flags)}"
    if problem:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument '{name}' {problem}")


@dataclass(frozen=True, slots=True)
class Search:
    """A search for `wording` in `files`, within the budget of `matchers`."""

    asked: Arguments
    wording: Wording
    files: Searched
    matchers: Matchers
    context: Context

    def result(self, passes: list[Pass], start: float) -> Result:
        """Return the page. The `passes` show how far the search came, if it raises.

        Raises `BadRegexp`, `DeadlineExceeded` and `Cancelled`.
        """
        asked, is_model, limit = self.asked, self.context.text_only, self.context.text_limit()
        files = self.files
        wanted = Wanted(asked.definitions, asked.exclude_tests, self.matchers.budget)
        patterns = (self.wording.python(), *self.wording.variants())
        passes.append(Pass(files, files.scan(self._job(wanted, patterns), most=self._most())))
        self._count(passes[0], wanted)
        if not (is_model and (asked.offset or passes[0].counted >= self._most())):
            result = self._answer(passes[0], wanted).result(limit, start)
            if not is_model or result.data["next_offset"] is None:
                return result
        late = list[Note]()
        try:
            if weighed := self._weighed(wanted):
                return self._answer(weighed, wanted).result(limit, start)
        except (DeadlineExceeded, NoMatcher):
            late = [Note(NoteKind.TIME, UNWEIGHED, "give a root_path or include")]
        return self._answer(passes[0], wanted, late).result(limit, start)

    def _most(self) -> int:
        """The number of matches, or of files, after which a pass by path ends: one too many."""
        return self.asked.offset + self.asked.max_results + 1

    def _job(self, wanted: Wanted, patterns: Sequence[Pattern]) -> Job:
        """Return the job for the processes that counts wanted matches."""
        if wanted.chooses:
            output = "lines" if wanted.definitions else "content"
            return Job(patterns, output=output, window=(0, MOST_AT_ONCE), with_text=True)
        return Job(patterns, output="files" if self.asked.output == Output.FILES else "count")

    def _count(self, found: Pass, wanted: Wanted) -> None:
        """Count the wanted matches of each file of a pass, until there are enough."""
        for hits in found.scan.hits(self.matchers):
            kept = wanted.of(hits)
            if kept.count:
                found.hits.append(replace(kept, matches=(), text=b""))
                found.counted += kept.count if self.asked.output == Output.CONTENT else 1
            if found.counted >= self._most():
                break
        found.is_whole = not found.scan.is_early()

    def _weighed(self, wanted: Wanted) -> Pass | None:
        """Return the files by their worth, or None if the pattern has no words.

        Raises `DeadlineExceeded`, `NoMatcher` and `Cancelled`.
        """
        question = question_of(self.wording.pattern, literal=self.wording.literal)
        if not question.words:
            return None
        within = replace(self.matchers, budget=self.matchers.budget.share(WEIGH_SHARE))
        pattern, files = self.wording.python(), self.files
        scan = files.scan(Job((pattern,), words=question.forms(), output="count"))
        found = list(scan.hits(within))
        hits = [one.hits for one in files.weighed(question, found, scan, within.budget)]
        if not wanted.chooses:
            counted = sum(one.count for one in hits)
            return Pass(files, scan, hits, counted, is_whole=True, is_weighed=True)
        job, paths = self._job(wanted, (pattern,)), [one.path for one in hits]
        ordered = Pass(files, files.scan(job, paths, most=self._most()), is_weighed=True)
        self._count(ordered, wanted)
        ordered.scan = scan
        return ordered

    def _answer(self, found: Pass, wanted: Wanted, late: Sequence[Note] = ()) -> "Answer":
        """Fetch the matches of the page, and find the notes of the answer."""
        asked, files = self.asked, self.files
        if asked.output == Output.CONTENT:
            least = max(LEAST_SHARE, asked.max_results // FILES_A_PAGE)
            counts = [(one.path, one.count) for one in found.hits]
            least *= self.context.text_only  # programs and people get all matches
            page = page_of(counts, asked.offset, asked.max_results, least=least)
            shown, folded = self._fetched(page, wanted)
        else:
            rest, folded = found.hits[asked.offset :], Counter[str]()
            shown = rest[: asked.max_results]
            page = Page((), {one.path: 1 for one in rest[asked.max_results :]})
        most = MAX_CONTEXT
        notes = [
            Note(NoteKind.LIMIT, f"{name} {lines} is more than {most}: {most} are shown")
            for name in ("context_lines", "context_after")
            if (lines := getattr(asked, name) or 0) > most
        ]
        notes += [*files.notes, *late, *self._order_notes(found)]
        near = Near(self.wording, files, found.scan, self.matchers)
        if found.hits and not shown:
            text = f"offset {asked.offset} is after the last of {found.counted:,}"
            notes.append(Note(NoteKind.PATTERN, text))
        elif not found.hits:
            ignored = not asked.include_ignored
            notes += near.reasons(asked.include, ignored=ignored, lines=asked.definitions)
        notes += self.wording.about_empty(shown)
        made, is_late = self._outlines(shown)
        is_all = found.is_whole and not (page.left or asked.offset or wanted.cut)
        if asked.output == Output.CONTENT and is_all:
            notes += near.alternatives_without_matches([one.path for one in found.hits])
        notes += [
            Note(NoteKind.TIME, f"no definitions: {show(path)} {one.problem}")
            for path, one in made.items()
            if one.problem
        ]
        notes += [Note(NoteKind.TIME, LATE)] * is_late + wanted.notes(files.unwanted)
        unsaved = files.unsaved(found.scan.files[: found.scan.looked_at])
        notes += about_unsaved(unsaved)
        shown = [replace(one, path=files.prefix + one.path) for one in shown]
        return Answer(asked, files, found, page, shown, folded, notes, unsaved, made)

    def _fetched(self, page: Page, wanted: Wanted) -> tuple[list[Hits], Counter[str]]:
        """Return the matches of a page, and how many others each of its files only counts.

        A generated file on a shared page shows its first match.
        """
        pattern, shares = self.wording.python(), {one.path: one for one in page.shares}
        windows = {path: (one.passed, one.shown) for path, one in shares.items()}
        job = Job((pattern,), output="content", windows=windows, with_text=True)
        if wanted.chooses:
            job = self._job(wanted, (pattern,))
        found, folded, text_bytes = list[Hits](), Counter[str](), 0
        for hits in self.files.scan(job, list(shares)).hits(self.matchers) if shares else ():
            share, kept = shares[hits.path], wanted.of(hits)
            matches = kept.matches
            if wanted.chooses:
                matches = matches[share.passed :][: share.shown]
            folded[hits.path] = share.folded
            if page.is_shared and len(matches) > 1 and is_generated(hits.path, hits.text):
                folded[hits.path] += len(matches) - 1
                matches = matches[:1]
            text_bytes += len(hits.text)
            text = hits.text if text_bytes <= MOST_TEXT_BYTES else b""
            if matches:  # else the file has changed meanwhile
                found.append(replace(kept, matches=matches, text=text))
        return found, folded

    def _outlines(self, shown: Sequence[Hits]) -> tuple[dict[str, Outline], bool]:
        """Return the outlines of the files, by path, and True if time was up before the last."""
        wanted, made = shown if self.asked.enclosing else (), dict[str, Outline]()
        texts = {self.files.prefix + one.path: one.text.decode() for one in wanted if one.text}
        try:
            made.update((path, one) for path, one in outlines(texts, self.matchers.budget) if one)
        except DeadlineExceeded:
            return made, True
        return made, False

    def _order_notes(self, found: Pass) -> list[Note]:
        """Say that the order is new, if files have changed since the page before."""
        asked = replace(self.asked, offset=0, max_results=1)
        key = self.files.place.path, asked
        order, before = hash(tuple((one.path, one.count) for one in found.hits)), _ORDERS.get(key)
        if not found.is_weighed:
            return []
        _ORDERS.put(key, order)
        is_new = self.asked.offset > 0 and before not in (None, order)
        return [Note(NoteKind.PATTERN, NEW_ORDER, "offset=0")] * is_new


_ORDERS: LRUCache[tuple[str, Arguments], int] = LRUCache(64)
"""A hash of the order of the latest searches by worth: their next pages have the same one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A page of a search that is over: the files `shown`, by their paths from the root on.

    `folded` counts the matches of a file that its last row counts. `outlines` are by path.
    """

    asked: Arguments
    files: Searched
    found: Pass
    page: Page
    shown: Sequence[Hits]
    folded: Counter[str]
    reasons: Sequence[Note]
    unsaved: Sequence[str]
    outlines: Mapping[str, Outline]

    def result(self, limit: int, start: float) -> Result:
        """The page in `limit` bytes, of a call that began at `start`.

        The data hold no more than the text, so a reader of either finds the rest at `next_offset`.
        """
        asked, scan, files, found = self.asked, self.found.scan, self.files, self.shown
        more, items = bool(self.page.left) or not self.found.is_whole, self._items()
        counts = skipped(files.project, files.choice, scan)
        notes = [*self.reasons, not_searched(counts, files, scan)]
        last = bracketed(notes)
        head = self._head(len(items), more=True)
        is_bare = False
        if asked.output == Output.CONTENT:
            room, lines = limit - size(head + last), asked.around()
            several = asked.definitions and len(items) > TO_ENDS
            if lines is None and (more or asked.offset or several):
                lines = Around()
            most = limit // (WANTED_SHARE if asked.definitions else ENDS_SHARE)
            rows, is_bare = rows_within(found, self.outlines, lines, room, most)
        else:
            count = asked.output == Output.COUNT
            rows = [path_in_text(one.path) + f": {one.count}" * count + "\n" for one in found]
        # How many matches each row stands for, with those that it counts.
        worth, at = [1] * len(rows), -1
        for one in found:
            at += len(one.matches) or 1
            if others := self.folded[one.path.removeprefix(files.prefix)]:
                rows[at] += f"+{others} more in this file: give it as root_path\n"
                worth[at] += others

        def offset(shown: int) -> int | None:
            """Where the next page begins; None if there is none."""
            done = max(shown, 1)  # else the next page would be this one again
            return asked.offset + sum(worth[:done]) if more or done < len(rows) else None

        def text(shown: int) -> str:
            end, following = "", offset(shown)
            if rows and not shown:
                end = f"[a match of {size(rows[0])} bytes is left out for {limit} bytes]\n"
            if following is not None:
                end += self._more(following, items[: max(shown, 1)], worth, limit)
            head = self._head(sum(worth[:shown]), more=following is not None)
            return "".join((head, *rows[:shown], end, last))

        answer, shown = fit(text, len(rows), map(size, rows), limit)
        next_offset = offset(shown)
        output = {
            "query": {"pattern": asked.pattern, "flags": asked.flags},
            "root_path": files.base,
            "truncated": next_offset is not None or self.folded.total() > 0,
            "scanned_files": scan.searched,
            "items": [item for item, _ in items[:shown]],
            "warnings": [
                f"skipped_{name}_files={counts[key]}"
                for name, key in (("binary", "binary"), ("size_limit", "too_large"))
                if counts[key]
            ],
            "skipped": counts,
            "next_offset": next_offset,
            "unsaved": self.unsaved,
        }
        took_ms = round((time.monotonic() - start) * 1000)
        in_units = [item | units for item, units in items[:shown]]
        data = output | {"notes": [note.data() for note in notes]}
        if around := lines_near(found, asked.around(), {item["path"] for item, _ in items[:shown]}):
            data["around"] = around
        return Result(
            text=answer,
            data=data,
            output=output | {"took_ms": took_ms, "items": in_units},
            truncated=bool(output["truncated"]) or is_bare,  # lines around a match have no room
            labels=lambda: labels(path_in_text, (one.path for one in found)),
        )

    def _items(self) -> list[Item]:
        """Return the matches, or the files, for the data."""
        if self.asked.output == Output.CONTENT:
            return list(items_of(self.shown, self.outlines, enclosing=self.asked.enclosing))
        keys = ("path", "count")[: 1 + (self.asked.output == Output.COUNT)]
        return [({key: getattr(one, key) for key in keys}, {}) for one in self.shown]

    def _more(self, offset: int, items: Sequence[Item], worth: Sequence[int], limit: int) -> str:
        """How to go on at `offset`, and the files that are left, with the number of their matches.

        `items` are those that are shown, and each stands for `worth` matches. `limit` is that of
        the text.
        """
        counts = list[str]()
        if self.asked.output == Output.CONTENT:
            prefix = self.files.prefix
            left = Counter({prefix + one.path: 0 for one in self.page.shares})
            for one in self.page.shares:
                left[prefix + one.path] = one.shown + one.folded
            for (item, _), matches in zip(items, worth, strict=False):
                left[str(item["path"])] -= matches
            left.update({prefix + path: count for path, count in self.page.left.items()})
            counts = [f"{word(path)} {count}" for path, count in (+left).items()]
        room = min(MAX_LEFT_BYTES, limit // LEFT_PART) - len("; left: and more")
        shown = fitting((size(one) + len(", ") for one in counts[:LEFT_FILES]), room)
        told = f"; left: {', '.join(counts[:shown])}" if shown else ""
        told += " and more" if shown and (shown < len(counts) or not self.found.is_whole) else ""
        return f"[more: offset={offset}{told}]\n"

    def _head(self, shown: int, *, more: bool) -> str:
        asked, scan, found = self.asked, self.found.scan, self.found
        searched, all_files = scan.searched, len(scan.files)
        of = counted(searched, "file")
        if more and not found.is_whole:
            of = f"{searched:,} of {all_files:,} files"
        among = f"for {asked.wanted()} ({of} searched{self.files.where()})\n"
        is_content = asked.output == Output.CONTENT
        which = f"{asked.offset + 1:,}-{asked.offset + shown:,}"
        which += f" of {found.counted:,}" if found.is_weighed and found.is_whole else ""
        is_ordered = found.is_weighed and len(found.hits) > 1
        order = ", the most telling files first," if is_ordered else ""
        files = counted(len(found.hits), "file")
        if found.hits and not self.shown:
            return f"No more {'matches' if is_content else 'files with matches'} {among}"
        if not is_content and (more or (found.hits and asked.offset)):
            return f"Files {which} with matches{order} {among}"
        if not is_content:
            return f"{files} with matches {among}"
        if not found.hits:
            return f"No matches {among}"
        if more or asked.offset:
            in_files = f" in {files}" if found.is_weighed and found.is_whole else ""
            return f"Matches {which}{in_files}{order} {among}"
        return f"{counted(shown, 'match', 'matches')} in {files}{order} {among}"


TOOL = Tool(
    description=(
        "Searches workspace text files with a regular expression and returns deterministic match"
        " locations."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    preset=5,
    categories=(ESSENTIAL, "filesystem", "navigation", "search"),
    reads_content=True,
    settings=Settings,
    table="regexp_search",
)

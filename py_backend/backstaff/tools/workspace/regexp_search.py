r"""workspace/regexp_search: where a regular expression matches in the files below a directory.

The dialect is Python's `re`; `contents.dialects` translates what JavaScript alone has. A match is
within one line, and `\r\n`, `\n` and `\r` end lines. Order is by path (UTF-16 units), line, column.

Files are those of `project.files`: what git ignores is left out unless `include_ignored` is
given, and hidden files are not. Directories and files with a name in `EXCLUDED` are left out
always, also where git tracks them or `include` names them (search 3). The text names the first of
these directories; to search one, give it as `root_path`. Globs are about the whole path from the
workspace on, whatever the `root_path`. The text of a modified buffer takes the place of its file,
which need not exist yet. Links are not followed; binary files, those over 1 MiB and those that are
not UTF-8 are skipped, and so are files that may hold secrets, whoever has approved of the search.
The last line of the text always counts what was not looked at, and the data's `skipped` does, too:
names that git ignores, where a directory is one name, and files else.

The contract's `took_ms` is in the JSON only: a reply has its own. Columns count UTF-16 units in the
JSON, and characters in the data. Of a line with more than 1,000 characters `line_text` is a part.
Lines around a match are in the text only, and unasked only if they have room: else the reply, but
not its data, is truncated. Matches in a definition stand below its name and lines (`_matches`);
where the time is up, without them. For the output `files`, an item is a path, and for `count` a
path and the number of its matches; max_results and offset then count files.
"""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from backstaff.budget import Budget
from backstaff.contents.choice import Choice, Rules, above_excluded, choose, first_of
from backstaff.contents.dialects import BadRegexp, translated
from backstaff.contents.near import WALK_SHARE, Near, about_include, shallow_include
from backstaff.contents.regexp import NoMatcher, Regexp
from backstaff.contents.scan import Found, Scan, text_of
from backstaff.errors import DeadlineExceeded, ErrorCode, NotADirectory, PathError, ToolError
from backstaff.fs.contents import Contents
from backstaff.fs.entry import Kind
from backstaff.fs.root import Place
from backstaff.globs.globs import BadGlob, Globs, compile_globs
from backstaff.names import suggestions
from backstaff.project.files import ProjectFiles, project_files
from backstaff.project.packed import Closed
from backstaff.render.lines import bracketed, counted, fitting, size, some_of
from backstaff.render.names import MAX_ECHO, labels, quote, show, visible, word
from backstaff.result import Note, NoteKind
from backstaff.structure.outline import Outline, outline
from backstaff.tool import ESSENTIAL, Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._matches import Around, lines_near, path_in_text
from backstaff.tools.workspace._matches import rows as matches_in_text
from backstaff.tools.workspace._not_searched import not_searched, skipped
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._texts import EXCLUDED, MAX_FILE_BYTES, codings, unsaved_texts
from backstaff.tools.workspace._wanted import Wanted

MAX_PATTERN_BYTES = 1000
MAX_RESULTS, MAX_OFFSET, MAX_TIMEOUT_MS = 500, 1_000_000, 30_000
AUTOMATIC, SOME, FEW, ROWS = 15, 5, 10, 20
"""Lines beside the only match; beside each of at most `FEW`, where all get some `ROWS` together."""
TO_ENDS = 3
"""Matches that are shown with all of the definition around them, if there is room for that."""
ENDS_SHARE = 2
"""The part of the limit that these may take: a half."""
MAX_LEFT, LEFT_SHARE, LEFT_SECONDS = 20, 0.5, 1.0
"""Files with matches after a page that are counted, and the time for that."""
MAX_LEFT_BYTES, LEFT_PART = 400, 16
"""Bytes that tell of them at most, also as a part of the limit."""
LATE = "the time was up before all definitions around matches were found"
TIMEOUT, INVALID_REGEX = "TIMEOUT", "INVALID_REGEX"


class Output(StrEnum):
    """What is told: matches, files that have any, or how many a file has."""

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
    literal: bool = argument("The pattern is text, and no character is special.", default=False)
    output: str = argument(
        "Matches, only the files that have any, or how many each has.",
        choices=tuple(Output),
        default=Output.CONTENT.value,
    )
    context_lines: int | None = argument(
        "Lines to show around each match (default: some if there are few matches).",
        limits=(0, 10),
        whole=True,
    )
    enclosing: bool = argument(
        "Name the definition around each match, with its lines.", default=True, hidden=True
    )
    definitions: bool = argument(
        "Only lines that define something: finds a function by its name.", default=False
    )
    exclude_tests: bool = argument("Leave out tests, also those inside sources.", default=False)
    include_ignored: bool = argument(
        "Search what git ignores, too, and repositories within.", default=False
    )
    offset: int = argument(
        "How many of the first to skip: an answer names the next page's.",
        default=0,
        minimum=0,
        maximum=MAX_OFFSET,
    )

    def wanted(self) -> str:
        """How an answer names what was searched for: `/def run/i`, or 'text'."""
        pattern = visible(self.pattern).replace("\n", r"\n")
        if self.literal:
            return quote(self.pattern) + self.flags
        return f"/{pattern if len(pattern) <= MAX_ECHO else pattern[:MAX_ECHO] + '…'}/{self.flags}"


def run(arguments: Arguments, context: Context) -> Result:
    """Search, and return a page of the matches. Raises `ToolError`."""
    start = time.monotonic()
    budget = context.budget.at_most(arguments.timeout_ms / 1000)
    everything = arguments.include_ignored or not context.settings.respect_gitignore
    asked = replace(arguments, include_ignored=everything)
    _check(asked)
    globs = _globs("include", asked.include), _globs("exclude", asked.exclude)
    scan, pattern, prefix = Scan([]), asked.pattern, ""
    try:
        pattern = re.escape(pattern) if asked.literal else translated(pattern)
        # A bad pattern is refused before a bad path.
        with Regexp(pattern, "i" in asked.flags, budget) as regexp, _place(asked, context) as place:
            prefix, rules = place.prefix, Rules(EXCLUDED, place.prefix, *globs)
            project = project_files(place, budget.share(WALK_SHARE), include_ignored=everything)
            texts = unsaved_texts(prefix, context)
            with Contents(place, MAX_FILE_BYTES, texts) as contents:
                scan.codings = codings(prefix, context)
                new = [path for path in texts if not contents.exists(path)]
                choice = choose(project, rules, budget, new)
                scan.output = str(asked.output)
                scan.skipped, scan.most = asked.offset, asked.max_results + 1
                wanted = Wanted(asked.definitions, asked.exclude_tests, budget)
                scan.files = wanted.some_of(choice.files)
                choice = replace(choice, files=scan.files)
                if asked.definitions or asked.exclude_tests:
                    scan.chosen, scan.one_a_line = wanted.choose, asked.definitions
                scan.run(regexp, contents, budget)
                words = asked.pattern, asked.flags, asked.literal
                near = Near(*words, scan, regexp, contents, budget)
                reasons = [] if scan.found else list(_reasons(asked, near, place, project, rules))
                reasons += _about_exclude(asked.exclude, choice, project, rules, budget)
                unsaved = {path for path in texts if isinstance(contents.data(path), bytes)}
                outlines, late = _outlines(scan.found, asked, prefix, budget)
                has_more = scan.matches > asked.max_results
                left = _left(scan, regexp, contents, budget) if has_more else Counter[str]()
                reasons += [Note(NoteKind.TIME, LATE)] * late + wanted.told()
            found = Answer(
                asked,
                place.relative,
                prefix,
                project,
                choice,
                scan,
                reasons,
                unsaved,
                outlines,
                left,
            )
    except BadRegexp as error:
        raise _invalid_regex(asked, pattern, error) from error
    except PathError as error:
        raise refusal(error, asked.root_path, context) from error
    except DeadlineExceeded as error:
        had, passed = budget.deadline - start, time.monotonic() - start
        raise _timeout(asked, scan, prefix, had * 1000, passed * 1000) from error
    took_ms = round((time.monotonic() - start) * 1000)
    return found.result(context.text_limit(), took_ms)


def _outlines(
    found: Sequence[Found], asked: Arguments, prefix: str, budget: Budget
) -> tuple[dict[str, Outline], bool]:
    """The outlines of the files `found`, by path, and whether the time was up before the last."""
    outlines = dict[str, Outline]()
    try:
        for one in found if asked.enclosing and asked.output == Output.CONTENT else ():
            text = text_of(one.text)
            made = outline(text.decode(), one.path, budget) if isinstance(text, bytes) else None
            if made:
                outlines[prefix + one.path] = made
    except DeadlineExceeded:
        return outlines, True
    return outlines, False


def _left(scan: Scan, regexp: Regexp, contents: Contents, budget: Budget) -> Counter[str]:
    """How many matches the files have that `scan` did not come to, as far as that costs little."""
    if scan.output != Output.CONTENT or scan.chosen or not scan.found:
        return Counter()
    last = scan.found[-1]
    first = scan.looked_at - 1
    rest = Scan(scan.files[first:], "count", most=MAX_LEFT, codings=scan.codings)
    regexp.budget = budget.share(LEFT_SHARE).at_most(LEFT_SECONDS)
    with suppress(DeadlineExceeded, NoMatcher, BadRegexp):
        rest.run(regexp, contents, regexp.budget)
    counts = Counter({one.path: one.count for one in rest.found})
    # The last of those found is on no page yet.
    counts[last.path] -= last.count + len(last.matches) - 1
    return +counts


def _check(asked: Arguments) -> None:
    """Refuse what the parameters alone do not (search 5)."""
    length = size(asked.pattern)
    if not asked.pattern.strip():
        raise _invalid("pattern", "is blank: give text or a regular expression to look for")
    if length > MAX_PATTERN_BYTES:
        raise _invalid("pattern", f"has {length} bytes, more than the {MAX_PATTERN_BYTES} allowed")
    if not set(asked.flags) <= set("gimsu"):
        raise _invalid("flags", f"may hold the letters g i m s u, but it is {quote(asked.flags)}")
    if len(set(asked.flags)) < len(asked.flags):
        raise _invalid("flags", f"has a letter twice: {quote(asked.flags)}")


def _invalid(name: str, problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument '{name}' {problem}")


def _globs(name: str, patterns: Sequence[str]) -> Globs | None:
    try:
        return compile_globs(tuple(patterns)) if patterns else None
    except BadGlob as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument '{name}': {error}") from error


def _place(asked: Arguments, context: Context) -> Place:
    """The directory to search, which is no link (search 4). Raises `PathError`."""
    place = context.root.resolve(asked.root_path.replace("\\", "/"))
    if place.through_link or place.kind is not Kind.DIRECTORY:
        with place:
            raise NotADirectory("it is not a directory", last=True)
    return place


def _invalid_regex(asked: Arguments, pattern: str, error: BadRegexp) -> ToolError:
    where = "" if error.position is None else f" (at character {error.position + 1})"
    # What was translated is not what the caller wrote.
    of = "" if pattern == asked.pattern or not where else f" in {quote(pattern)}"
    remedy = "write it for Python's re, or give literal=true to look for the text"
    problem = f"Argument 'pattern' is no regular expression: {error}{where}{of}"
    return ToolError(
        INVALID_REGEX, f"{problem}; {remedy}", problem=problem, remedy=remedy, reason=str(error)
    )


def _timeout(asked: Arguments, scan: Scan, prefix: str, had: float, passed: float) -> ToolError:
    """The error that says how far the search came (search 5), and what helps.

    No match is told (search 5), but the first files with any are. `prefix` stands before each path.
    `had` are the milliseconds that there were, of which some `passed`: the caller's deadline may
    allow no more, and then a higher timeout_ms would change nothing.
    """
    if number := scan.waits_for or scan.looked_at:
        matches = ("match", "matches") if scan.output == Output.CONTENT else ("matching file",)
        how_far = (
            f"the search had come to file {number:,} of {len(scan.files):,},"
            f" {show(prefix + scan.files[number - 1])},"
            f" with {counted(scan.matches, *matches)} so far"
        )
        if scan.found:
            how_far += f" ({first_of([one.path for one in scan.found], prefix)})"
    else:
        how_far = "no file was searched yet"
    remedy = {
        (False, False): "give a root_path or include",
        (True, False): "give an include",
        (False, True): "give a root_path",
        (True, True): "exclude that file" if scan.waits_for else "give a deeper root_path",
    }[bool(prefix), bool(asked.include)]
    limit, simpler = f"after {round(passed)} ms", ", or a simpler pattern"
    if round(had) < asked.timeout_ms:
        limit += f": the caller waits no longer, whatever timeout_ms {asked.timeout_ms} says"
    elif asked.timeout_ms < MAX_TIMEOUT_MS:
        simpler = ", a simpler pattern, or a higher timeout_ms"
    problem, remedy = f"When the time was up ({limit}), {how_far}", remedy + simpler
    return ToolError(TIMEOUT, f"{problem}; {remedy}", problem=problem, remedy=remedy)


# ------------------------------------------------------------------ the answer


def _reasons(
    asked: Arguments, near: Near, place: Place, project: ProjectFiles, rules: Rules
) -> Iterator[Note]:
    """Why nothing matches, and what would, in what is left of the time. Raises `Cancelled`."""
    if passed := asked.offset - near.scan.skipped:  # the scan counts down what it skips
        text = f"offset {asked.offset} is after the last of {passed:,}"
        yield Note(NoteKind.PATTERN, text)
        return
    if asked.include and not near.scan.files:
        why = about_include(asked.include[0], place, project, rules, near.budget)
        yield Note(NoteKind.PATTERN, why)
    elif shallow := shallow_include(asked.include, project, rules, near.budget):
        yield Note(NoteKind.PATTERN, shallow)
    with suppress(DeadlineExceeded, NoMatcher):
        yield from near.reasons()
        if not asked.include_ignored and (project.ignored or project.closed(Closed.REPOSITORY)):
            yield from near.ignored(place, project, rules)


def _about_exclude(
    patterns: Sequence[str], choice: Choice, project: ProjectFiles, rules: Rules, budget: Budget
) -> Iterator[Note]:
    """Which `patterns` of `exclude` do nothing, as far as that costs little."""
    useless = list(suggestions.useless_excludes(patterns))
    if patterns and not choice.by_exclude:  # else each pattern would have to be tried by itself
        directories = (f"{one.path}/" for one in project.directories if one.path)
        entered = [path for path in directories if not above_excluded(path, rules.excluded)]
        searched = [rules.prefix + path for path in (*choice.files, *entered)]
        useless += suggestions.shallow_excludes(patterns, (), searched, "searched", budget)
    return (Note(NoteKind.PATTERN, text) for text in useless)


@dataclass(frozen=True, slots=True)
class Answer:
    """A search that is over. `base` is the searched directory, `prefix` stands before each path."""

    asked: Arguments
    base: str
    prefix: str
    project: ProjectFiles
    choice: Choice
    scan: Scan
    reasons: Sequence[Note]
    unsaved: AbstractSet[str]
    outlines: Mapping[str, Outline]
    left: Counter[str]

    def result(self, limit: int, took_ms: int) -> Result:
        """The page in `limit` bytes. The data hold no more than the text.

        So a reader of either finds the rest at `next_offset`.
        """
        asked = self.asked
        found, more = self._page()
        items = list(self._items(found))
        unsaved = self._unsaved()
        notes = list(self.reasons)
        if unsaved:
            told = some_of(map(word, unsaved), len(unsaved)) or f"{len(unsaved)} with long names"
            notes.append(Note(NoteKind.UNSAVED, f"not saved, searched as in Emacs: {told}"))
        counts = skipped(self.project, self.choice, self.scan.unread_by_reason())
        notes.append(not_searched(counts, self.project, self.choice, self.prefix, self.scan))
        longest = self._head(found, len(items), more=True) + self._more(MAX_OFFSET, (), 0)
        room = limit - size(longest) - size(bracketed(notes))
        room -= min(MAX_LEFT_BYTES, limit // LEFT_PART) * (len(items) > FEW)
        rows, is_bare = self._fitting_rows(found, len(items), room, limit, more=more)
        shown = done = fitting(map(size, rows), room)
        left_out = ""
        if rows and not shown:
            done = 1  # else the next page would be this one again
            left_out = f"[a match of {size(rows[0])} bytes is left out for {limit} bytes]\n"
        more = more or done < len(rows)
        next_offset = asked.offset + done if more else None
        head = self._head(found, shown, more=more)
        end = left_out + bracketed(notes)
        if next_offset is not None:
            end = left_out + self._more(next_offset, items[done:], limit) + bracketed(notes)
        output = {
            "query": {"pattern": asked.pattern, "flags": asked.flags},
            "root_path": self.base,
            "truncated": more,
            "scanned_files": self.scan.searched,
            "items": [item for item, _ in items[:shown]],
            "warnings": [
                f"{name}={counts[key]}"
                for name, key in (
                    ("skipped_binary_files", "binary"),
                    ("skipped_size_limit_files", "too_large"),
                )
                if counts[key]
            ],
            "skipped": counts,
            "next_offset": next_offset,
            "unsaved": unsaved,
        }
        in_units = [item | units for item, units in items[:shown]]
        there = {item["path"] for item, _ in items[:shown]}
        around = [
            {
                "path": one.path,
                "lines": [{"line": n, "text": text} for n, text in lines_near(one, width).items()],
            }
            for one in found
            if (width := asked.context_lines) and one.path in there
        ]
        return Result(
            text="".join((head, *rows[:shown], end)),
            data=output
            | {"notes": [note.data() for note in notes]}
            | ({"around": around} if around else {}),
            output=output | {"took_ms": took_ms, "items": in_units},
            truncated=more or is_bare,  # lines around a match have no room
            labels=lambda: labels(path_in_text, (one.path for one in found)),
        )

    def _page(self) -> tuple[list[Found], bool]:
        """What was found, with paths from the workspace; and whether there is more."""
        found = [replace(one, path=self.prefix + one.path) for one in self.scan.found]
        more = self.scan.matches > self.asked.max_results
        if more:
            # The last match is there to know of.
            last = found.pop()
            if len(last.matches) > 1:
                found.append(replace(last, matches=last.matches[:-1]))
        return found, more

    def _items(self, found: Sequence[Found]) -> Iterator[tuple[dict[str, object], dict[str, int]]]:
        """The items of the data, and what is different in the JSON."""
        for one in found:
            match self.asked.output:
                case Output.FILES:
                    yield {"path": one.path}, {}
                case Output.COUNT:
                    yield {"path": one.path, "count": one.count}, {}
            for number, start, end, left, _, part, units in one.matches:
                item: dict[str, object] = {
                    "path": one.path,
                    "line": number,
                    "column": start + 1,
                    "match": part[start - left : end - left],
                    "line_text": part,
                }
                if self.asked.enclosing:
                    made = self.outlines.get(one.path)
                    inner = made.around(number) if made else None
                    item["enclosing"] = inner and {
                        "qualified": inner.qualified,
                        "line": inner.line,
                        "last_line": inner.last_line,
                    }
                yield item, {"column": units + 1}

    def _fitting_rows(
        self, found: Sequence[Found], count: int, room: int, limit: int, *, more: bool
    ) -> tuple[Sequence[str], bool]:
        """The text of each of `count` items, and whether lines around them have no `room`."""
        asked, outlines = self.asked, self.outlines
        if asked.output == Output.FILES:
            return [f"{path_in_text(one.path)}\n" for one in found], False
        if asked.output == Output.COUNT:
            return [f"{path_in_text(one.path)}: {one.count}\n" for one in found], False
        bare = matches_in_text(found, Around(asked.context_lines or 0), outlines)
        if asked.context_lines is not None or more or asked.offset or not 0 < count <= FEW:
            return bare, False
        lines = AUTOMATIC if count == 1 else min(SOME, ROWS // count)
        whole = matches_in_text(found, Around(lines, to_ends=count <= TO_ENDS), outlines)
        if sum(map(size, whole)) <= min(room, limit // ENDS_SHARE):
            return whole, False
        rows = matches_in_text(found, Around(lines), outlines)
        has_room = sum(map(size, rows)) <= room
        return rows if has_room else bare, not has_room

    def _more(
        self, offset: int, items: Sequence[tuple[dict[str, object], object]], limit: int
    ) -> str:
        """How to go on at `offset`, and the files that are left, with the number of their matches.

        `items` are those of this page for which there is no room. `limit` is that of the text.
        """
        left = Counter(str(item["path"]) for item, _ in items)
        left += Counter({self.prefix + path: count for path, count in self.left.items()})
        counts = [f"{word(path)} {count}" for path, count in left.items()]
        is_told = self.asked.output == Output.CONTENT
        told = some_of(counts, len(counts), between=", ") if is_told else ""
        room = min(MAX_LEFT_BYTES, limit // LEFT_PART) - len("; left: ")
        told = f"; left: {told}" if told and size(told) <= room else ""
        return f"[more: offset={offset}{told}]\n"

    def _head(self, found: Sequence[Found], shown: int, *, more: bool) -> str:
        asked, scan = self.asked, self.scan
        searched, all_files = scan.searched, len(scan.files)
        below = "" if self.base == "." else f" in {show(f'{self.base}/')}"
        of = f"{searched:,} of {all_files:,} files" if more else counted(searched, "file")
        among = f"{asked.wanted()} ({of} searched{below})\n"
        first = asked.offset + 1
        which = f"{first:,}-{asked.offset + shown:,}"
        if not found and scan.skipped < asked.offset:
            what = "matches" if asked.output == Output.CONTENT else "files with matches"
            return f"No more {what} for {among}"
        if asked.output != Output.CONTENT:
            if more or (found and asked.offset):
                return f"Files {which} with matches for {among}"
            return f"{counted(len(found), 'file')} with matches for {among}"
        if not found:
            return f"No matches for {among}"
        if more or asked.offset:
            return f"Matches {which} for {among}"
        files = counted(len(found), "file")
        return f"{counted(shown, 'match', 'matches')} in {files} for {among}"

    def _unsaved(self) -> list[str]:
        """The paths that were searched as Emacs's unsaved text."""
        searched = self.scan.files[: self.scan.looked_at] if self.unsaved else ()
        return [self.prefix + path for path in searched if path in self.unsaved]


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

r"""workspace/regexp_search: where a regular expression matches in the files below a directory.

The dialect is Python's `re`; `contents.dialects` translates parts that only JavaScript has. A match
is within one line, and `\r\n`, `\n` and `\r` end lines. Order is by path (UTF-16 units), line,
column.

Files are those of `project.files`: those that git ignores are left out unless `include_ignored` is
given, and hidden files are not. Directories and files with a name in `EXCLUDED` are left out
always, even if git tracks them or `include` names them (search 3). The text names the first of
these directories; to search one, give it as `root_path`. A file as `root_path` is searched alone.
Globs are about the whole path from the workspace on, whatever the `root_path`; where `include`
leaves no file so, it counts from `root_path`. The text of a modified buffer takes the place of its
file, which need not exist yet. Links are not followed; binary files, those over 1 MiB and those
that are not UTF-8 are skipped, and so are files that may hold secrets, whoever has approved of the
search. The last line of the text always counts them, and so does `skipped` in the data: names that
git ignores, where a directory is one name, and files else.

The contract's `took_ms` is in the JSON only: a reply has its own. Columns count UTF-16 units in the
JSON, and characters in the data. Of a line with more than 1,000 characters `line_text` is a part.
Lines around a match are in the text only, and unasked only if they have room, else the reply, but
not its data, is truncated; with `definitions`, more than three have none. Matches in a definition
stand below its name and lines (`_matches`); where the time is up, without them. Where matches are
more than a page for a model holds, each file gets a share of it, and its last row counts its
others; `offset` counts these as well. For the output `files`, an item is a path, and for `count` a
path and the number of its matches; max_results and offset then count files.
"""

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from backstaff.budget import Budget
from backstaff.contents.choice import Choice, Rules, choose
from backstaff.contents.dialects import BadRegexp, translated
from backstaff.contents.near import WALK_SHARE, Near
from backstaff.contents.outlines import outlines
from backstaff.contents.regexp import Matchers, NoMatcher
from backstaff.contents.scan import Found, Scan, page_of
from backstaff.errors import DeadlineExceeded, ErrorCode, NotADirectory, PathError, ToolError
from backstaff.fs.contents import MAX_FILE_BYTES, Contents
from backstaff.fs.entry import Kind
from backstaff.fs.root import Place
from backstaff.globs.globs import BadGlob, Globs, compile_globs
from backstaff.project.files import Directory, ProjectFiles, project_files
from backstaff.project.running_git import NoGit
from backstaff.render.lines import bracketed, counted, fit, fitting, paths_in_a_note, size
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
from backstaff.tools.workspace._not_searched import not_searched, skipped
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._search_errors import invalid_regex, timeout
from backstaff.tools.workspace._texts import EXCLUDED, codings, contents_of, unsaved_texts
from backstaff.tools.workspace._wanted import Wanted

MAX_PATTERN_BYTES = 1000
MAX_RESULTS, MAX_OFFSET, MAX_TIMEOUT_MS = 500, 1_000_000, 30_000
MAX_CONTEXT = 10
"""Maximum number of lines that a caller gets on each side of a match."""
LEFT_FILES, LEFT_SHARE, LEFT_SECONDS = 5, 0.5, 1.0
"""Number of files after a page that are named with their matches; maximum time for counting."""
MAX_LEFT_BYTES, LEFT_PART = 400, 16
"""Maximum number of bytes for their names, which is also the sixteenth part of the limit."""
REBASED = "'include' matches no file from the workspace on: here it counts from"
LATE = "the time was up before all definitions around matches were found"


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
    globs = _globs("include", asked.include), _globs("exclude", asked.exclude)
    rules = Rules(EXCLUDED, "", *globs)
    ignore_case, pattern = "i" in asked.flags, asked.pattern
    scan = Scan(("", ignore_case), [], str(asked.output), asked.offset, asked.max_results + 1)
    try:
        pattern = re.escape(pattern) if asked.literal else translated(pattern)
        scan.pattern = pattern, ignore_case
        with Matchers(budget) as matchers:
            matchers.check(scan.pattern)  # a bad pattern is refused before a bad path
            answer = _answer(asked, rules, scan, matchers, context)
    except BadRegexp as error:
        raise invalid_regex(error, asked.pattern, pattern) from error
    except PathError as error:
        raise refusal(error, asked.root_path, context) from error
    except DeadlineExceeded as error:
        had, passed = (1000 * (end - start) for end in (budget.deadline, time.monotonic()))
        limit, more = "", "timeout_ms" if asked.timeout_ms < MAX_TIMEOUT_MS else ""
        if round(had) < asked.timeout_ms:  # a higher timeout_ms would change nothing
            limit = f": the caller waits no longer, whatever timeout_ms {asked.timeout_ms} says"
            more = ""
        raise timeout(scan, passed, limit, more, includes=bool(asked.include)) from error
    took_ms = round((time.monotonic() - start) * 1000)
    return answer.result(context.text_limit(), took_ms)


def _answer(
    asked: Arguments, rules: Rules, scan: Scan, matchers: Matchers, context: Context
) -> "Answer":
    """Search. Raises `PathError`, `BadRegexp`, `DeadlineExceeded` and `Cancelled`."""
    budget = matchers.budget
    notes = [
        Note(NoteKind.LIMIT, f"{name} {lines} is more than {MAX_CONTEXT}: {MAX_CONTEXT} are shown")
        for name in ("context_lines", "context_after")
        if (lines := getattr(asked, name) or 0) > MAX_CONTEXT
    ]
    place, alone = _place(asked, context)
    with place:
        if alone:  # the file is searched wherever it is
            rules = replace(rules, excluded=frozenset())
            project = ProjectFiles([Directory("", (alone,))], (alone,), NoGit.NO_WORK_TREE)
        else:
            walking, everything = budget.share(WALK_SHARE), asked.include_ignored
            project = project_files(place, walking, include_ignored=everything)
        scan.prefix = prefix = place.prefix
        rules = replace(rules, prefix=prefix, include_prefix=prefix)
        texts, scan.codings = unsaved_texts(prefix, context), codings(prefix, context)
        with contents_of(place, texts) as contents:
            new = [path for path in texts if not (alone or contents.exists(path))]
            choice = choose(project, rules, budget, new)
            if rules.include and prefix and not choice.files:
                below = choose(project, replace(rules, include_prefix=""), budget, new)
                choice = below if below.files else choice
                notes += [Note(NoteKind.PATTERN, f"{REBASED} {show(prefix)}")] * bool(below.files)
            wanted = Wanted(asked.definitions, asked.exclude_tests, asked.max_results, budget)
            scan.files = wanted.some_of(choice.files)
            choice = replace(choice, files=scan.files)
            if asked.definitions or asked.exclude_tests:
                scan.chosen, scan.one_a_line = wanted.choose, asked.definitions
            if context.text_only:  # programs and people get all matches
                scan.share = wanted.share
            words = asked.pattern, asked.flags, asked.literal
            near = Near(*words, place, project, rules, scan, matchers, contents, budget)
            scan.others = near.others
            scan.run(matchers, contents)
            passed = asked.offset - scan.skipped  # the scan counts down
            if passed and not scan.found:
                text = f"offset {asked.offset} is after the last of {passed:,}"
                notes.append(Note(NoteKind.PATTERN, text))
            elif not scan.found:
                notes += near.reasons(asked.include, ignored=not asked.include_ignored)
            notes += near.about_exclude(asked.exclude, choice)
            made, unknown = _outlines(scan, asked, budget)
            has_more = scan.matches > asked.max_results
            if asked.output == Output.CONTENT and not (has_more or asked.offset or scan.files_cut):
                notes += near.alternatives_without_matches()
            left = _left(scan, matchers, contents, budget) if has_more else Counter[str]()
            notes += unknown + wanted.notes(scan.files_cut)
            shown = {path for path in texts if isinstance(contents.data(path), bytes)}  # no secret
            unsaved = [prefix + one for one in scan.files[: scan.looked_at] if one in shown]
            as_in_emacs = f"not saved, searched as in Emacs: {paths_in_a_note(unsaved)}"
            notes += [Note(NoteKind.UNSAVED, as_in_emacs)] * bool(unsaved)
        base = prefix + alone if alone else place.relative
        return Answer(asked, base, project, choice, scan, notes, unsaved, made, left)


def _outlines(
    scan: Scan, asked: Arguments, budget: Budget
) -> tuple[dict[str, Outline], list[Note]]:
    """The outlines of the files with matches, by path, and notes on those that are not known."""
    wanted = scan.found if asked.enclosing and asked.output == Output.CONTENT else ()
    made, notes = dict[str, Outline](), list[Note]()
    try:
        texts = {scan.prefix + one.path: one.text.decode() for one in wanted}
        made.update((path, one) for path, one in outlines(texts, budget) if one)
    except DeadlineExceeded:
        notes.append(Note(NoteKind.TIME, LATE))
    problems = {path: one.problem for path, one in made.items() if one.problem}
    told = (f"no definitions: {show(path)} {problem}" for path, problem in problems.items())
    return made, [Note(NoteKind.TIME, text) for text in told] + notes


def _left(scan: Scan, matchers: Matchers, contents: Contents, budget: Budget) -> Counter[str]:
    """How many matches the files have that `scan` did not come to, as far as that costs little."""
    if scan.output != Output.CONTENT or scan.chosen:
        return Counter()
    files = scan.files[scan.looked_at :]
    rest = Scan(scan.pattern, files, "count", most=LEFT_FILES + 1, codings=scan.codings)
    matchers.budget = budget.share(LEFT_SHARE).at_most(LEFT_SECONDS)
    with suppress(DeadlineExceeded, NoMatcher, BadRegexp):
        rest.run(matchers, contents)
    return Counter({scan.prefix + one.path: one.count for one in rest.found})


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


def _globs(name: str, patterns: Sequence[str]) -> Globs | None:
    try:
        return compile_globs(tuple(patterns)) if patterns else None
    except BadGlob as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument '{name}': {error}") from error


def _place(asked: Arguments, context: Context) -> tuple[Place, str]:
    """The directory to search, and the name of the only file to search there, or "".

    Neither is a link (search 4). Raises `PathError`.
    """
    place = context.root.resolve(asked.root_path.replace("\\", "/"))
    if place.kind is Kind.DIRECTORY and not place.through_link:
        return place, ""
    with place:
        if place.kind is Kind.FILE and not place.through_link:
            parent, _, name = place.relative.rpartition("/")
            return context.root.directory(parent or "."), name
        raise NotADirectory("it is not a directory", last=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """A search that is over. `base` is the searched directory or file.

    `left` counts the matches in files that the search did not come to, as far as they are known.
    """

    asked: Arguments
    base: str
    project: ProjectFiles
    choice: Choice
    scan: Scan
    reasons: Sequence[Note]
    unsaved: Sequence[str]
    outlines: Mapping[str, Outline]
    left: Counter[str]

    def result(self, limit: int, took_ms: int) -> Result:
        """The page in `limit` bytes. The data hold no more than the text.

        So a reader of either finds the rest at `next_offset`.
        """
        asked, scan = self.asked, self.scan
        found, folded, more, items = self._page()
        counts = skipped(self.project, self.choice, scan)
        notes = [*self.reasons, not_searched(counts, self.project, self.choice, scan)]
        last = bracketed(notes)
        head = self._head(found, len(items), more=True)
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
            if others := folded[one.path]:
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
            head = self._head(found, sum(worth[:shown]), more=following is not None)
            return "".join((head, *rows[:shown], end, last))

        answer, shown = fit(text, len(rows), map(size, rows), limit)
        next_offset = offset(shown)
        output = {
            "query": {"pattern": asked.pattern, "flags": asked.flags},
            "root_path": self.base,
            "truncated": next_offset is not None or folded.total() > 0,
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

    def _page(self) -> tuple[list[Found], Counter[str], bool, list[Item]]:
        """Return the files of the page, as `page_of` does, and their items."""
        asked, scan = self.asked, self.scan
        found = [replace(one, path=scan.prefix + one.path) for one in scan.found]
        if asked.output == Output.CONTENT:
            shared = scan.share is not None
            found, folded, more = page_of(found, asked.max_results, shared=shared)
            items = list(items_of(found, self.outlines, enclosing=asked.enclosing))
            return found, folded, more, items
        page = found[: asked.max_results]
        keys = ("path", "count")[: 1 + (asked.output == Output.COUNT)]
        files: list[Item] = [({key: getattr(one, key) for key in keys}, {}) for one in page]
        return page, Counter(), len(found) > len(page), files

    def _more(self, offset: int, items: Sequence[Item], worth: Sequence[int], limit: int) -> str:
        """How to go on at `offset`, and the files that are left, with the number of their matches.

        `items` are those that are shown, and each stands for `worth` matches. `limit` is that of
        the text.
        """
        counts = list[str]()
        # How many matches in a file are wanted is known once it is searched.
        if self.asked.output == Output.CONTENT and not self.scan.chosen:
            prefix = self.scan.prefix
            left = Counter({prefix + one.path: one.count - one.passed for one in self.scan.found})
            for (item, _), matches in zip(items, worth, strict=False):
                left[str(item["path"])] -= matches
            counts = [f"{word(path)} {count}" for path, count in (+left + self.left).items()]
        room = min(MAX_LEFT_BYTES, limit // LEFT_PART) - len("; left: and more")
        shown = fitting((size(one) + len(", ") for one in counts[:LEFT_FILES]), room)
        told = f"; left: {', '.join(counts[:shown])}" if shown else ""
        told += " and more" if 0 < shown < len(counts) else ""
        return f"[more: offset={offset}{told}]\n"

    def _head(self, found: Sequence[Found], shown: int, *, more: bool) -> str:
        asked, scan = self.asked, self.scan
        searched, all_files = scan.searched, len(scan.files)
        where = scan.prefix if scan.prefix == f"{self.base}/" else self.base
        below = "" if where == "." else f" in {show(where)}"
        of = f"{searched:,} of {all_files:,} files" if more else counted(searched, "file")
        among = f"{asked.wanted()} ({of} searched{below})\n"
        which = f"{asked.offset + 1:,}-{asked.offset + shown:,}"
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

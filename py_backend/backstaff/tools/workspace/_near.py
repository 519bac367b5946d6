"""What is said where a search of contents finds nothing, or ends with an error.

Each reason is tried: a note about another pattern or glob says how many files that one matches.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from backstaff.budget import Budget
from backstaff.contents.choice import above_excluded, choose
from backstaff.contents.dialects import BadRegexp, translated
from backstaff.contents.regexp import Matchers, NoMatcher
from backstaff.contents.regexp_worker import Job, Pattern
from backstaff.contents.scan import Hits, Scan
from backstaff.contents.words import question
from backstaff.errors import DeadlineExceeded, ToolError
from backstaff.names import suggestions
from backstaff.project.files import Closed, project_files
from backstaff.render.lines import paths_in_a_note, plural
from backstaff.render.names import quote, show
from backstaff.result import Note, NoteKind
from backstaff.tools.workspace._searched import WALK_SHARE, Searched

SECONDS, MANY = 1.0, 20  # for a search for another pattern, and files that it counts
BEST_FILES = 3  # that are named for a pattern of several words

_OVER_LINES = re.compile(r"\n|\\[nsWDS]|\[\^|\(\?[a-z]*s")  # it can match an end of a line
_FLAGS = re.compile(r"\A\(\?(?=[a-z]+\))")  # the beginning of a pattern with flags
_PLAIN_WORDS = re.compile(r"\s*\w+(?:\s+\w+)+\s*")


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a caller: a `pattern` with `flags`, which is text if it is `literal`."""

    pattern: str
    flags: str
    literal: bool

    def python(self) -> Pattern:
        """Return it for the matchers. Raises `BadRegexp`."""
        pattern = re.escape(self.pattern) if self.literal else translated(self.pattern)
        return pattern, "i" in self.flags

    def variants(self) -> dict[Pattern, Note]:
        """Return other patterns to try, each with a note whose text follows `3 files match`."""
        (python, ignore_case), variants = self.python(), dict[Pattern, Note]()
        if not ignore_case:
            flags = f"flags={self.flags}i"
            variants[python, True] = Note(NoteKind.CASE, "without regard to case", flags)
        if not self.literal and (text := re.escape(self.pattern)) != python.replace(" ", r"\ "):
            note = Note(NoteKind.LITERAL, "with the pattern as text", "literal=true")
            variants[text, ignore_case] = note
        return variants

    def refusal(self, error: BadRegexp, python: str) -> ToolError:
        """Return the tool's error for `error`, which the pattern raised as `python` has it."""
        where = "" if error.position is None else f" (at character {error.position + 1})"
        # The position counts in the translated pattern, which is not the caller's.
        of = "" if self.pattern == python or not where else f" in {quote(python)}"
        remedy = "write it for Python's re, or give literal=true to look for the text"
        problem = f"Argument 'pattern' is no regular expression: {error}{where}{of}"
        return ToolError("INVALID_REGEX", f"{problem}; {remedy}", problem=problem, remedy=remedy)


@dataclass(frozen=True, slots=True)
class Near:
    """Explains why a search for `wording` in the files of `searched` by `scan` finds nothing."""

    wording: Wording
    searched: Searched
    scan: Scan
    matchers: Matchers

    def reasons(self, include: Sequence[str], *, ignored: bool) -> Iterator[Note]:
        """Yield reasons why nothing matches, as long as there is time. Raises `Cancelled`."""
        project = self.searched.project
        with suppress(DeadlineExceeded, NoMatcher):
            yield from about_globs(self.searched, include, self.matchers.budget)
            if self.scan.matches:
                told = plural(self.scan.matches, "match is", "matches are")
                text = f"{told} on no line that defines something"
                yield Note(NoteKind.PATTERN, text, "definitions=false")
                return
            yield from self._about_patterns()
            yield from self._about_words()
            if ignored and (project.ignored or project.closed(Closed.REPOSITORY)):
                yield from self._about_ignored()

    def _about_patterns(self) -> Iterator[Note]:
        """Yield how many files other patterns match, and that a match is within one line."""
        pattern, ignore_case = self.wording.python()
        likely = [self.scan.files[number] for number in sorted(self.scan.likely)]
        for variant, note in self.wording.variants().items():
            if told := self._count(likely, variant):
                yield replace(note, text=f"{told} {note.text}")
        whole = pattern
        if "s" in self.wording.flags:
            whole = _FLAGS.sub("(?s", pattern) if _FLAGS.match(pattern) else f"(?s){pattern}"
        if "s" in self.wording.flags or _OVER_LINES.search(pattern):
            told = self._count(self.scan.files, (whole, ignore_case), "text")
            if told or "\n" in self.wording.pattern or r"\n" in pattern:
                text = f"{told} over several lines, but " * bool(told)
                text += "a match is within one line"
                yield Note(NoteKind.PATTERN, text, "look for a part that is in one")

    def _about_words(self) -> Iterator[Note]:
        """Yield the best files for a pattern of several plain words (contract 009)."""
        if not _PLAIN_WORDS.fullmatch(self.wording.pattern):
            return
        asked, within = question(self.wording.pattern), self._within_seconds()
        scan = self.searched.scan(Job((), words=asked.forms()))
        found = list(scan.hits(within))
        best = self.searched.weighed(asked, found, scan, within.budget)[:BEST_FILES]
        if best:
            shown = paths_in_a_note([self.searched.prefix + one.hits.path for one in best])
            yield Note(NoteKind.PATTERN, f"the best files for these words: {shown}")

    def _about_ignored(self) -> Iterator[Note]:
        """Yield how many files match among those that git ignores and in inner repositories."""
        files, budget = self.searched, self.matchers.budget
        everything = project_files(files.place, budget.share(WALK_SHARE), include_ignored=True)
        known = set(files.project.paths)
        ignored = [one for one in choose(everything, files.rules, budget).files if one not in known]
        if told := self._count(ignored, self.scan.job.patterns[0]):
            text = f"{told} among those that git ignores"
            yield Note(NoteKind.IGNORED, text, "include_ignored=true")

    def _count(self, files: Sequence[str], pattern: Pattern, output: str = "files") -> str:
        """Return how many of `files` match `pattern`: `3 files match`, or "" if none does.

        `at least 3 files match` says that not all could be searched, or that there are `MANY`.
        """
        found, least = list[Hits](), "at least "
        scan = self.searched.scan(Job((pattern,), output=output), files, most=MANY)
        with suppress(DeadlineExceeded, BadRegexp, NoMatcher):
            found.extend(islice(scan.hits(self._within_seconds()), MANY))
            least = "at least " * (len(found) == MANY)
        return least + plural(len(found), "file matches", "files match") if found else ""

    def _within_seconds(self) -> Matchers:
        """Return the same processes, for `SECONDS` at most."""
        return replace(self.matchers, budget=self.matchers.budget.at_most(SECONDS))


def about_globs(files: Searched, include: Sequence[str], budget: Budget) -> Iterator[Note]:
    """Yield a glob that would match more files deeper, or the first if no file is left."""
    excluded, choice, paths = files.rules.excluded, files.choice, files.project.paths
    known = [files.prefix + one for one in paths if not above_excluded(one, excluded)]
    within, globs = budget.at_most(suggestions.SECONDS), () if choice.by_exclude else include
    why = next(filter(None, (suggestions.deeper_glob(one, known, within) for one in globs)), "")
    if globs and not (choice.files or choice.tests):
        why = f"no file matches include {quote(globs[0])}{': ' * bool(why)}{why}"
    if why:
        yield Note(NoteKind.PATTERN, why)


def timeout(scan: Scan | None, prefix: str, *, more: str) -> ToolError:
    """Return the error that says how far the `scan` came, and how to narrow it (search 5).

    It names no match. `more` is the argument for more time, or "" if that would not help.
    """
    how_far = "no file was searched yet"
    if scan and (number := scan.waits_for or scan.looked_at):
        last = show(prefix + scan.files[number - 1])
        how_far = f"the search had come to file {number:,} of {len(scan.files):,}, {last}"
    remedy = "give a root_path, include or exclude that leaves fewer files, a simpler pattern"
    remedy += f", or a higher {more}" if more else ""
    problem = f"When the time was up, {how_far}"
    return ToolError("TIMEOUT", f"{problem}; {remedy}", problem=problem, remedy=remedy)

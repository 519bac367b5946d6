"""Other searches that would find something where a search of contents finds nothing.

They take no more than the time that is left of the call.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from backstaff.budget import Budget
from backstaff.contents.choice import Choice, Rules, above_excluded, choose, told_by_name
from backstaff.contents.dialects import (
    BadRegexp,
    alternatives,
    from_emacs,
    from_posix,
    translated,
)
from backstaff.contents.regexp import Matchers, NoMatcher
from backstaff.contents.regexp_worker import Pattern
from backstaff.contents.scan import Scan
from backstaff.errors import DeadlineExceeded
from backstaff.fs.contents import Contents
from backstaff.fs.root import Place
from backstaff.globs.globs import BadGlob, compile_globs
from backstaff.names import suggestions
from backstaff.names.suggestions import Searched
from backstaff.project.files import Closed, ProjectFiles, project_files
from backstaff.render.lines import plural, some_of
from backstaff.render.names import visible
from backstaff.result import Note, NoteKind

SECONDS = 1.0
"""Maximum number of seconds for one search for other patterns."""
MANY = 20
"""Maximum number of files that such a search counts."""
MAX_NAMED = 20
"""Maximum number of alternatives without matches that are named."""
WALK_SHARE = 0.75
"""The part of the time for finding the files that git ignores."""


@dataclass(frozen=True, slots=True)
class Near:
    """Other searches, for a `pattern` that may be found nowhere.

    `scan` is the search for it by `matchers`, in the files of `project` that the `rules` leave
    below `place`. `notes` are about the other patterns.
    """

    pattern: str
    flags: str
    literal: bool
    place: Place
    project: ProjectFiles
    rules: Rules
    scan: Scan
    matchers: Matchers
    contents: Contents
    budget: Budget
    notes: dict[Pattern, Note] = field(default_factory=dict)

    def others(self) -> Sequence[Pattern]:
        """Return the other patterns that can be compiled."""
        for pattern, flags, note in self._variants():
            with suppress(BadRegexp):
                other = translated(pattern), "i" in flags
                self.matchers.check(other)
                self.notes.setdefault(other, note)
        return list(self.notes)

    def reasons(self, include: Sequence[str], *, ignored: bool) -> Iterator[Note]:
        """Yield reasons why nothing matches, as long as there is time.

        They are about the globs of `include`, about other patterns and, if `ignored`, about the
        files that git ignores. Raises `Cancelled`.
        """
        if include and not self.scan.files:
            yield Note(NoteKind.PATTERN, self._about_include(include[0]))
        elif shallow := self._shallow_include(include):
            yield Note(NoteKind.PATTERN, shallow)
        hidden = self.project.ignored or self.project.closed(Closed.REPOSITORY)
        with suppress(DeadlineExceeded, NoMatcher):
            yield from self._about_patterns()
            if ignored and hidden:
                yield from self._about_ignored()

    def alternatives_without_matches(self) -> Iterator[Note]:
        """Yield which alternatives of the pattern match nothing, while others do.

        All matches have to be known. Then no file without any can match an alternative alone. An
        alternative is not named if it matches in these files, though no such match was chosen.
        """
        parts = [] if self.literal else alternatives(self.pattern)
        files, nothing = [one.path for one in self.scan.found], list[str]()
        self.matchers.budget = self.budget.at_most(SECONDS)
        with suppress(DeadlineExceeded, BadRegexp, NoMatcher):
            for part in dict.fromkeys(parts) if files and len(parts) > 1 else ():
                pattern = translated(part), "i" in self.flags
                scan = Scan(pattern, files, codings=self.scan.codings)
                scan.run(self.matchers, self.contents)
                nothing += [visible(part)] * (not scan.matches)
        if nothing:
            told = some_of(nothing, len(nothing), between=" | ", most=MAX_NAMED)
            told = told or plural(len(nothing), "long alternative")
            yield Note(NoteKind.PATTERN, f"nothing for: {told}")

    def about_exclude(self, patterns: Sequence[str], choice: Choice) -> Iterator[Note]:
        """Yield which `patterns` of `exclude` do nothing, as far as that costs little."""
        rules, useless = self.rules, list(suggestions.useless_excludes(patterns))
        if patterns and not choice.by_exclude:  # else each pattern would have to be tried alone
            directories = (f"{one.path}/" for one in self.project.directories if one.path)
            entered = [path for path in directories if not above_excluded(path, rules.excluded)]
            searched = [rules.prefix + path for path in (*choice.files, *entered)]
            useless += suggestions.shallow_excludes(patterns, (), searched, "searched", self.budget)
        return (Note(NoteKind.PATTERN, text) for text in useless)

    def _about_patterns(self) -> Iterator[Note]:
        if "\n" in self.pattern or (r"\n" in self.pattern and not self.literal):
            remedy = "look for a part that is in one"
            yield Note(NoteKind.PATTERN, "a match is within one line", remedy)
        # The other patterns are looked for on all lines, so they say nothing about definitions.
        if self.scan.one_a_line and (told := self._count(self.scan.files, self.scan.pattern)):
            text = f"{told}, but on no line of a definition that is wanted"
            yield Note(NoteKind.PATTERN, text, "definitions=false")
            return
        likely = [self.scan.files[number] for number in sorted(self.scan.likely)]
        for pattern, note in self.notes.items():
            if told := self._count(likely, pattern):
                yield replace(note, text=f"{told} {note.text}")

    def _about_ignored(self) -> Iterator[Note]:
        """Yield how many files match among those that git ignores and in inner repositories."""
        budget, known = self.budget, set(self.project.paths)
        everything = project_files(self.place, budget.share(WALK_SHARE), include_ignored=True)
        chosen = choose(everything, self.rules, budget).files
        files = [path for path in chosen if path not in known]
        if told := self._count(files, self.scan.pattern):
            text = f"{told} among those that git ignores"
            yield Note(NoteKind.IGNORED, text, "include_ignored=true")

    def _count(self, files: Sequence[str], pattern: Pattern) -> str:
        """Return how many of `files` match `pattern`: `3 files match`, or "" if none does.

        `at least 3 files match` says that the time was up, or that one takes too much memory.
        Raises `Cancelled`.
        """
        scan, least = Scan(pattern, files, most=MANY + 1, codings=self.scan.codings), ""
        self.matchers.budget = self.budget.at_most(SECONDS)
        try:
            scan.run(self.matchers, self.contents)
        except (DeadlineExceeded, BadRegexp, NoMatcher):
            least = "at least "
        if scan.matches > MANY:
            return f"more than {MANY} files match"
        told = plural(scan.matches, "file matches", "files match")
        return least + told if scan.matches else ""

    def _variants(self) -> Iterator[tuple[str, str, Note]]:
        """Yield patterns and flags to try, each with its note. The text follows `3 files match`."""
        pattern, flags, literal = self.pattern, self.flags, self.literal
        if "i" not in flags:
            note = Note(NoteKind.CASE, "without regard to case", f"flags={flags}i")
            yield re.escape(pattern) if literal else pattern, flags + "i", note
        if literal:
            return
        if (escaped := re.escape(pattern)) != pattern.replace(" ", r"\ "):
            note = Note(NoteKind.LITERAL, "with the pattern as text", "literal=true")
            yield escaped, flags, note
        posix = from_posix(pattern)
        if posix != pattern:
            words, remedy = "with the classes in Python's words", f"/{visible(posix)}/"
            yield posix, flags, Note(NoteKind.PATTERN, words, remedy)
        python = from_emacs(pattern) if "\\" in pattern else pattern
        if python not in {pattern, posix}:
            words, remedy = "as Emacs's regexp", f"in Python it is /{visible(python)}/"
            yield python, flags, Note(NoteKind.PATTERN, words, remedy)
        if between := re.fullmatch(r"/(.+)/([gimsu]*)", pattern):
            note = Note(NoteKind.PATTERN, "without the slashes around the pattern")
            yield between[1], "".join(sorted({*flags, *between[2]})), note

    def _about_include(self, pattern: str) -> str:
        """Say why the globs of `include`, whose first is `pattern`, leave no file."""
        place, project, rules = self.place, self.project, self.rules
        prefix, budget = rules.prefix, self.budget.at_most(suggestions.SECONDS)
        remedy, matching = ", to be given as root_path", list[str]()
        with suppress(DeadlineExceeded):
            matching += rules.included(project.paths, budget)
            if project.ignored and not matching:
                # Git ignores most directories with such names as well.
                walking = budget.share(WALK_SHARE)
                everything = project_files(place, walking, include_ignored=True).paths
                ignored = rules.included(everything, budget)
                matching += [path for path in ignored if above_excluded(path, rules.excluded)]
                remedy += " with include_ignored=true"
        by_name = Counter(above_excluded(path, rules.excluded) for path in matching)
        by_exclude = by_name.pop("", 0)
        left_out = [*told_by_name(by_name, prefix, remedy)]
        left_out += [f"{by_exclude:,} by exclude"] * (by_exclude > 0)
        if left_out:
            return f"'include' does not override exclusions: {', '.join(left_out)}"
        files = [
            prefix + path for path in project.paths if not above_excluded(path, rules.excluded)
        ]
        paths = [(prefix + one.path).rstrip("/") for one in project.directories]
        directories = [path for path in paths if path]
        searched = Searched(files, directories, "./", budget)
        # An absolute path is no glob here, but its author may know no other.
        root = place.path.removesuffix(prefix.removesuffix("/")).rstrip("/") + "/"
        rebased = pattern.removeprefix(root)
        if rebased == pattern:
            rebased = prefix and prefix + pattern.removeprefix("./").lstrip("/")
        why = suggestions.explain_glob(
            pattern, lambda tried: compile_globs((tried,)), searched, rebased
        )
        return why or "no file is left that 'include' matches"

    def _shallow_include(self, patterns: Sequence[str]) -> str | None:
        """Say which pattern of `include` would match more files at any depth."""
        budget = self.budget.at_most(suggestions.SECONDS)

        def count(glob: str) -> int:
            rules = replace(self.rules, include=compile_globs((glob,)))
            return len(choose(self.project, rules, budget).files)

        with suppress(DeadlineExceeded, BadGlob):  # it became too long
            told = (suggestions.shallow_glob(pattern, count) for pattern in patterns)
            return next(filter(None, told), None)
        return None

"""Other searches that would find something where a search of contents finds nothing.

They take no more than the time that is left of the call.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from backstaff.budget import Budget
from backstaff.contents.choice import Rules, above_excluded, choose, told_by_name
from backstaff.contents.dialects import BadRegexp, from_emacs, from_posix, translated
from backstaff.contents.regexp import NoMatcher, Regexp
from backstaff.contents.scan import Scan
from backstaff.errors import DeadlineExceeded
from backstaff.fs.contents import Contents
from backstaff.fs.root import Place
from backstaff.globs.globs import BadGlob, compile_globs
from backstaff.names import suggestions
from backstaff.names.suggestions import Searched
from backstaff.project.files import ProjectFiles, project_files
from backstaff.render.lines import plural
from backstaff.render.names import visible
from backstaff.result import Note, NoteKind

SECONDS = 1.0
"""Maximum number of seconds for one search for other patterns."""
MANY = 20
"""Maximum number of files that such a search counts."""
WALK_SHARE = 0.75
"""The part of the time for finding the files that git ignores."""


@dataclass(frozen=True, slots=True)
class Near:
    """Other searches, for a `pattern` that may be found nowhere.

    `scan` is the search for it with `regexp`, where it is number 0; `notes` have the numbers of
    the others.
    """

    pattern: str
    flags: str
    literal: bool
    scan: Scan
    regexp: Regexp
    contents: Contents
    budget: Budget
    notes: dict[int, Note] = field(default_factory=dict)

    def compiled(self) -> Sequence[int]:
        """Compile the other patterns, and return their numbers."""
        for number, (pattern, flags, note) in enumerate(self._variants(), 1):
            with suppress(BadRegexp):
                self.regexp.compile(number, translated(pattern), ignore_case="i" in flags)
                self.notes[number] = note
        return list(self.notes)

    def reasons(self) -> Iterator[Note]:
        """Yield the patterns that match in these files.

        Raises `DeadlineExceeded` and `Cancelled`.
        """
        if "\n" in self.pattern or (r"\n" in self.pattern and not self.literal):
            remedy = "look for a part that is in one"
            yield Note(NoteKind.PATTERN, "a match is within one line", remedy)
        likely = [self.scan.files[number] for number in self.scan.likely]
        for number, told in self._count(likely, self.notes):
            yield replace(self.notes[number], text=f"{told} {self.notes[number].text}")

    def ignored(self, place: Place, known: ProjectFiles, rules: Rules) -> Iterator[Note]:
        """Say how many files match that are not `known`, because git ignores them.

        The files of inner repositories are among them. Raises `DeadlineExceeded` and `Cancelled`.
        """
        everything = project_files(place, self.budget.share(WALK_SHARE), include_ignored=True)
        names = set(known.paths)
        files = [path for path in choose(everything, rules, self.budget).files if path not in names]
        for _, told in self._count(files, [0]):
            text = f"{told} among those that git ignores"
            yield Note(NoteKind.IGNORED, text, "include_ignored=true")

    def _count(self, files: Sequence[str], numbers: Collection[int]) -> Iterator[tuple[int, str]]:
        """Yield how many of `files` match each of the patterns with `numbers`: `3 files match`.

        A pattern without matches is left out. Each file is read once. If the time is up, raises
        `DeadlineExceeded` after the last number. Raises `Cancelled`.
        """
        found, late = dict.fromkeys(numbers, 0), False
        scan = Scan(files, codings=self.scan.codings)
        self.regexp.budget = self.budget.at_most(SECONDS)
        try:
            for batch in scan.batches(self.contents, self.regexp.budget):
                for number in numbers:
                    self.regexp.search(batch.texts, "files", 0, MANY + 1, [number])
                    for _ in self.regexp.candidates()[1]:
                        found[number] += self.regexp.answer()[0]
                if min(found.values(), default=MANY) > MANY:
                    break
        except (DeadlineExceeded, BadRegexp, NoMatcher):  # a pattern can take too much memory
            late = True
        for number, count in found.items():
            if count > MANY:
                yield number, f"more than {MANY} files match"
            elif count:
                least = "at least " if late else ""
                yield number, least + plural(count, "file matches", "files match")
        if late:
            raise DeadlineExceeded

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


def about_include(
    pattern: str, place: Place, project: ProjectFiles, rules: Rules, budget: Budget
) -> str:
    """Say why the globs of `include`, whose first is `pattern`, leave no file of `project`.

    The project is below `place`, and the `rules` keep files out.
    """
    prefix, include, budget = rules.prefix, rules.include, budget.at_most(suggestions.SECONDS)
    files = [prefix + path for path in project.paths]
    also, matching = "", list[str]()
    with suppress(DeadlineExceeded):
        matching = project.paths.picked(include.files(files, budget)) if include else []
        if include and project.ignored and not matching:
            # Git ignores most directories with such names as well.
            everything = project_files(place, budget.share(WALK_SHARE), include_ignored=True).paths
            found = include.files([prefix + path for path in everything], budget)
            ignored = everything.picked(found)
            matching = [path for path in ignored if above_excluded(path, rules.excluded)]
            also = " with include_ignored=true"
    by_name = Counter(above_excluded(path, rules.excluded) for path in matching)
    by_exclude = by_name.pop("", 0)
    left_out = [
        *told_by_name(by_name, prefix, also),
        *[f"{by_exclude:,} by exclude"] * (by_exclude > 0),
    ]
    if left_out:
        return f"'include' does not override exclusions: {', '.join(left_out)}"
    files = [prefix + path for path in project.paths if not above_excluded(path, rules.excluded)]
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


def shallow_include(
    patterns: Sequence[str], project: ProjectFiles, rules: Rules, budget: Budget
) -> str | None:
    """Say which pattern of `include` would match more files of `project` at any depth."""
    budget = budget.at_most(suggestions.SECONDS)

    def count(glob: str) -> int:
        return len(choose(project, replace(rules, include=compile_globs((glob,))), budget).files)

    with suppress(DeadlineExceeded, BadGlob):  # it became too long
        told = (suggestions.shallow_glob(pattern, count) for pattern in patterns)
        return next(filter(None, told), None)
    return None

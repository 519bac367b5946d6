"""The files below a directory that a search of contents looks at, and their texts.

Files are those of `project.files`: those that git ignores are left out unless everything is asked
for, and hidden files are not. Directories and files with a name in `EXCLUDED` are left out always,
even if git tracks them or `include` names them; to search one, it is given as `root_path`. A file
as `root_path` is searched alone, wherever it is.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from heapq import nlargest
from math import inf
from operator import attrgetter

from backstaff.budget import Budget
from backstaff.contents.choice import EXCLUDED, Choice, Rules, choose
from backstaff.contents.outlines import outlines
from backstaff.contents.regexp_worker import Job, judged
from backstaff.contents.scan import Hits, Scan
from backstaff.contents.words import Question
from backstaff.contents.worth import CUT_FILES, Worthy, by_words, weights, with_places
from backstaff.errors import DeadlineExceeded, ErrorCode, NoGit, NotADirectory, ToolError
from backstaff.fs.contents import MAX_FILE_BYTES, Contents, Unread
from backstaff.fs.entry import Kind
from backstaff.fs.root import Place
from backstaff.globs.globs import BadGlob, Globs, compile_globs
from backstaff.project.files import Directory, ProjectFiles, project_files
from backstaff.reading.encoding import codec
from backstaff.render.names import show
from backstaff.result import Note, NoteKind
from backstaff.tool import Context

score_of = attrgetter("score")
WALK_SHARE = 0.75  # of the time, for finding the files
REBASED = "no file matches 'include' from the workspace on, so here it counts from"


@dataclass(frozen=True, slots=True)
class Searched:
    """The chosen files of `project`, by their paths from `place` on."""

    place: Place
    base: str  # the searched directory, or the only file, from the root on
    project: ProjectFiles
    rules: Rules
    choice: Choice  # made by `rules`
    contents: Contents  # reads the files
    notes: Sequence[Note]  # how the choice differs from the caller's globs

    def scan(self, job: Job, files: Sequence[str] | None = None, *, most: float = inf) -> Scan:
        """Return a pass through all chosen files, or through some `files` that are there."""
        if files is not None:
            return Scan(files, job, self.contents, most)
        return Scan(self.choice.files, job, self.contents, most, self._confirm)

    def _confirm(self, number: int) -> None:
        """Raise `Changed` if the first `number` files may be others now."""
        files = self.choice.files
        self.project.confirm(files[number - 1] if number < len(files) else "")

    def weighed(
        self, question: Question, found: Sequence[Hits], scan: Scan, budget: Budget
    ) -> list[Worthy]:
        """Return the files `found` by `scan`, the best first (`contents.worth`); ties are by path.

        If the scan had a pattern, those are left out that do not match it. Raises `Cancelled`.
        """
        weight = weights(question, found, scan.searched)
        files = [one for one in found if one.count] if scan.job.patterns else found
        worthy = {one.hits.path: one for one in by_words(question, files, weight)}
        best = [one.hits.path for one in nlargest(CUT_FILES, worthy.values(), key=score_of)]
        with suppress(DeadlineExceeded):
            texts = {path: self.text(path) for path in budget.checked(best, 1)}
            made = dict(outlines(texts, budget))
            for path in budget.checked(best, 1):
                one, outline = worthy[path], made[path]
                worthy[path] = with_places(one, question, weight, texts[path], outline)
        return sorted(worthy.values(), key=score_of, reverse=True)

    def text(self, path: str) -> str:
        """Return the text of the file `path`; "" if it is no text or cannot be read."""
        data = self.contents.data(path)
        data = judged(data) if isinstance(data, bytes) else ""
        return data.decode() if isinstance(data, bytes) else ""

    @property
    def prefix(self) -> str:
        """The text before each path in an answer: "" or a directory and a slash."""
        return self.place.prefix

    def where(self) -> str:
        """Name the searched directory for the head of an answer: ` in src/`, or "" for all."""
        whole = self.prefix if self.prefix == f"{self.base}/" else self.base
        return "" if whole == "." else f" in {show(whole)}"


Share = tuple[int, int, int]  # how many matches of a file a page passes, shows, and only counts


@dataclass(slots=True)
class Pass:
    """The files with wanted matches, as far as `scan` came, without these matches."""

    scan: Scan
    hits: list[Hits] = field(default_factory=list)
    counted: int = 0  # all their matches, or the files where these are the items
    is_whole: bool = False  # all files were searched
    is_weighed: bool = False  # the hits stand by worth, else by path
    order: int = 0  # a hash of the order of all files with a match

    def shares(self, offset: int, room: int, *, most: int) -> tuple[dict[str, Share], bool]:
        """Return by path what a page of `room` matches shows after the first `offset`.

        The second value is True if matches are left for later pages. Where not all have room, each
        file shows at most `most`, and the page counts its others, which no later page shows.
        """
        shares, has_more = dict[str, Share](), False
        fits = len(self.hits) == 1 or sum(one.count for one in self.hits) - offset <= room
        for one in self.hits:
            passed = min(offset, one.count)
            offset -= passed
            shown = min(one.count - passed, room, room if fits else most)
            room -= shown
            folded = one.count - passed - shown if shown == most and not fits else 0
            if shown:
                shares[one.path] = passed, shown, folded
            has_more = has_more or one.count > passed + shown + folded
        return shares, has_more


def rules_of(
    include: Sequence[str] = (), exclude: Sequence[str] = (), *, exclude_tests: bool = False
) -> Rules:
    """Return the rules of the arguments with these names. Raises `ToolError`."""
    globs = list[Globs | None]()
    for name, patterns in ("include", include), ("exclude", exclude):
        try:
            globs.append(compile_globs(tuple(patterns)) if patterns else None)
        except BadGlob as error:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument '{name}': {error}") from error
    return Rules(EXCLUDED, "", "", globs[0], globs[1], exclude_tests=exclude_tests)


@contextmanager
def searched(  # noqa: PLR0913 - the arguments of a caller, and the limits
    root_path: str,
    rules: Rules,
    context: Context,
    budget: Budget,
    *,
    include_ignored: bool = False,
    lazily: bool = False,
) -> Iterator[Searched]:
    """Choose the files below `root_path`. Raises `PathError`, `DeadlineExceeded` and `Cancelled`.

    Where `include` leaves no file from the workspace on, it counts from `root_path`. With `lazily`,
    what follows may raise `Changed`, and a second call is needed without it.
    """
    place, alone = _place(root_path, context)
    with place:
        prefix = place.prefix
        rules = replace(rules, prefix=prefix, include_prefix=prefix)
        if alone:  # the file is searched wherever it is
            rules = replace(rules, excluded=frozenset())
            project = ProjectFiles([Directory("", (alone,))], (alone,), NoGit.NO_WORK_TREE)
        else:
            walking = budget.share(WALK_SHARE)
            project = project_files(place, walking, include_ignored=include_ignored, lazily=lazily)
        texts = {  # unsaved ones stand for files
            path[len(prefix) :]: Unread.TOO_LARGE.value
            if len(one.data) > MAX_FILE_BYTES
            else judged(one.data, *filter(None, [codec(one.coding)]))
            for path, one in context.unsaved.items()
            if path.startswith(prefix)
        }
        with Contents(place.directory, place.root.guard, prefix, texts) as contents:
            new = [path for path in texts if not (alone or contents.exists(path))]
            choice, notes = choose(project, rules, budget, new), list[Note]()
            if rules.include and prefix and not (choice.files or choice.tests):
                rules = replace(rules, include_prefix="")
                choice = choose(project, rules, budget, new)
                if choice.files or choice.tests:
                    notes = [Note(NoteKind.PATTERN, f"{REBASED} {show(prefix)}")]
            if notes or not choice.files:
                project.confirm()  # no pass does, or a note is about all files
            base = prefix + alone if alone else place.relative
            yield Searched(place, base, project, rules, choice, contents, notes)


def _place(root_path: str, context: Context) -> tuple[Place, str]:
    """The directory to search, and the name of the only file there or ""; no link (search 4)."""
    place = context.root.resolve(root_path)
    if place.kind is Kind.DIRECTORY and not place.through_link:
        return place, ""
    with place:
        if place.kind is Kind.FILE and not place.through_link:
            parent, _, name = place.relative.rpartition("/")
            return context.root.directory(parent or "."), name
        raise NotADirectory("it is not a directory", last=True)

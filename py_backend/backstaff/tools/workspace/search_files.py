"""workspace/search_files: where is X: the files below a directory whose paths match a query.

Files are regular files and links; what git ignores is left out unless `include_ignored` says
otherwise (`fs.survey`), `.git` always. A query is about the path from `path` on; paths are told
from the root, so that they can be passed on.

glob        the whole path, as in workspace/tree: `*.py` is at the top, `**/*.py` anywhere, `{a,b}`
            either; with regard to case. Matches stand by directory, then by name.
substring   each word of the query stands somewhere in the path.
fuzzy       the characters of each word stand in the path, in their order, with others between.

For the last two, words end at blanks, and case counts only if the query has a capital letter (smart
case). The best come first. A word is found, from best to worst: as the whole name, with or without
its extension; as the start of the name; at the start of a word in it; elsewhere in it; across names
of the path; and for fuzzy with gaps, in the name and then in the path, the fewer runs the better.
With several words, the sum counts. Ties go to the shorter path, then to the first by directory.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from heapq import nsmallest
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING

from backstaff import misses
from backstaff.errors import (
    ErrorCode,
    NotADirectory,
    PathError,
    ToolError,
)
from backstaff.fs.entry import Kind
from backstaff.fs.globs import BadGlob, Globs, compile_globs
from backstaff.fs.root import Place
from backstaff.render.lines import fitted
from backstaff.render.names import quote, show, word
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.workspace._words import refusal

if TYPE_CHECKING:
    from backstaff.fs.survey import Folder, Survey

DEFAULT_TEXT_BYTES = 1 << 20
MAX_QUERY_CHARACTERS = 1024
MAX_WORDS = 16
MAX_RESULTS = 1000
RANKED = 300
"""How many matches are ranked at least."""
SAMPLE = 256
"""How many paths tell which characters are rare."""
MAX_OFFSET = 1_000_000
MAX_INDEXED = 1_000_000
"""Paths in all kept indexes together."""
MAX_NAMED = 5
"""Directories in a note."""

RAREST = 3
"""How many characters a path must hold before it is looked at closely."""
INSIDE, ABOVE, GAPS = 2, 4, 5
"""How badly a word is found: within the file's name, in a directory only, or with gaps in it."""


class SearchKind(StrEnum):
    """How a query is meant."""

    FUZZY = "fuzzy"
    SUBSTRING = "substring"
    GLOB = "glob"


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is asked for."""

    query: str
    path: str
    kind: str
    include_ignored: bool
    max_results: int
    offset: int


class Index:
    """The paths below a directory, from there, ready to be searched.

    They stand by code point, a directory's own files before those further down.
    """

    def __init__(self, start: "Folder") -> None:
        """Collect the files of START."""
        self.start = start
        self._joined = _joined(start)
        self.paths = _apart(self._joined)
        self._folded: list[str] | None = None
        self.latest: tuple[Query, list[int]] | None = None
        self.ranked: tuple[Query, list[int]] | None = None

    def texts(self, *, folded: bool) -> list[str]:
        """The paths, or without regard to case if FOLDED."""
        if not folded:
            return self.paths
        joined = self._joined  # before the look, as another thread may just have done with it
        if self._folded is None:
            small = joined.casefold()
            self._folded = self.paths if small == joined else _apart(small)
            self._joined = ""
        return self._folded


def _joined(start: "Folder") -> str:
    """The paths of all files, with a NUL between, as that is in no name: joined at once."""
    folders = (folder for folder in start if folder.names)
    prefixes = ((f"{folder.path}/" if folder.path else "", folder.names) for folder in folders)
    return "\0".join([prefix + f"\0{prefix}".join(names) for prefix, names in prefixes])


def _apart(joined: str) -> list[str]:
    return joined.split("\0") if joined else []


@dataclass(slots=True)
class Indexes:
    """The indexes of surveys that were searched, the latest last."""

    _kept: OrderedDict[tuple[str, bool], Index] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, key: tuple[str, bool], start: "Folder") -> Index:
        """The index of START, the kept one if that is the very same survey."""
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept.start is start:
            return kept
        made = Index(start)
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while sum(len(index.paths) for index in self._kept.values()) > MAX_INDEXED:
                self._kept.popitem(last=False)
        return made

    def forget(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()


INDEXES = Indexes()


class Query:
    """A query, taken apart. Raises INVALID_ARGUMENT."""

    def __init__(self, text: str, kind: str) -> None:
        """Read TEXT as KIND says."""
        if not text.strip():
            raise _invalid("is empty")
        if len(text) > MAX_QUERY_CHARACTERS:
            raise _invalid(f"is longer than {MAX_QUERY_CHARACTERS} characters")
        self.text, self.kind = text, SearchKind(kind)
        self.globs = _globs(text) if self.kind is SearchKind.GLOB else None
        self.folded = text == text.lower() and self.globs is None
        self.words = (text.casefold() if self.folded else text).split()[:MAX_WORDS]

    def matches(self, index: Index) -> list[int]:
        """Which paths of INDEX match, by their places, in order.

        What was searched for last is known; so what goes on from there starts from there.
        """
        latest = index.latest
        if latest is not None and latest[0].text == self.text and latest[0].kind is self.kind:
            return latest[1]
        if self.globs is not None:
            found = self.globs.files(index.paths)
        else:
            texts = index.texts(folded=self.folded)
            goes_on = latest is not None and self._goes_on(latest[0])
            among: Sequence[int] = latest[1] if latest and goes_on else range(len(texts))
            if self.kind is SearchKind.FUZZY:
                among = _narrowed("".join(self.words), texts, among)
            for one in self.words:
                among = self._with(one, texts, among)
            found = list(among)
        index.latest = (self, found)
        return found

    def _goes_on(self, other: "Query") -> bool:
        """Whether all that matches this one matches the OTHER."""
        alike = self.kind is other.kind and self.folded is other.folded
        whole = len(self.words) == len(other.words) < MAX_WORDS
        return alike and whole and all(map(str.startswith, self.words, other.words))

    def _with(self, one: str, texts: Sequence[str], among: Sequence[int]) -> list[int]:
        if self.kind is SearchKind.SUBSTRING or len(one) == 1:
            return [number for number in among if one in texts[number]]
        found = _gapped(one).search
        return [number for number in among if found(texts[number])]

    def best(self, index: Index, matches: Sequence[int], most: int) -> list[int]:
        """The MOST best of the MATCHES in INDEX, the best first.

        More than are asked for are ranked, so that the next page need not do it again.
        """
        if self.globs is not None:
            return list(matches[:most])
        latest = index.ranked
        if latest is None or latest[0].text != self.text or latest[0].kind is not self.kind:
            latest = None
        if latest is None or len(latest[1]) < min(most, len(matches)):
            latest = index.ranked = self, self._ranked(index, matches, max(most, RANKED))
        return latest[1][:most]

    def _ranked(self, index: Index, matches: Sequence[int], most: int) -> list[int]:
        """The MOST best of MATCHES; what can surely not be among them is not ranked."""
        texts = index.texts(folded=self.folded)
        rank = _ranker(self.words)
        best: list[tuple[int, ...]] = []
        for among, least in self._stages(texts, matches):
            if len(among) >= most or least is None:
                best = nsmallest(most, ((*rank(texts[number]), number) for number in among))
                if least is None or best[-1][0] < least:
                    break
        return [number for *_, number in best]

    def _stages(
        self, texts: Sequence[str], matches: Sequence[int]
    ) -> Iterator[tuple[Sequence[int], int | None]]:
        """More and more of MATCHES, each with the least way that all the others have (`_way`)."""
        whole = matches
        for one in self.words:
            whole = [number for number in whole if one in texts[number]]
        named = whole
        for one in self.words:
            named = [n for n in named if texts[n].find(one, texts[n].rfind("/") + 1) >= 0]
        if len(self.words) == 1:
            only, *_ = self.words
            first = [n for n in named if texts[n].startswith(only, texts[n].rfind("/") + 1)]
            yield first, INSIDE
        yield named, ABOVE
        yield whole, GAPS
        if len(self.words) == 1:
            found = _gapped(only).search
            near = [n for n in matches if found(texts[n], texts[n].rfind("/") + 1)]
            yield sorted({*whole, *near}), GAPS + 1
        yield matches, None


def _narrowed(letters: str, texts: Sequence[str], among: Sequence[int]) -> Sequence[int]:
    """Those AMONG which hold the rarest characters of LETTERS, so that few have to be tried."""
    some = [texts[number] for number in among[:: len(among) // SAMPLE + 1]]
    common = {
        character: sum(character in text for text in some) for character in sorted(set(letters))
    }
    for character in sorted(common, key=common.__getitem__)[:RAREST]:
        among = [number for number in among if character in texts[number]]
    return among


Rank = tuple[int, int, int]


def _ranker(words: Sequence[str]) -> Callable[[str], Rank]:
    """Tells how bad a match a path is: how its words were found, their gaps, and its length."""
    gapped = [(one, _gapped(one, grouped=True).search) for one in words]

    def rank(path: str) -> Rank:
        start = path.rfind("/") + 1
        way = gaps = 0
        for one, search in gapped:
            if one in path:
                way += _way(one, path[start:])
                continue
            found = search(path, start)
            way += GAPS + (found is None)
            found = found or search(path)
            gaps += sum(map(bool, found.groups())) if found else len(one)
        return way, gaps, len(path)

    return rank


def _way(one: str, name: str) -> int:
    """How well the word ONE, which is in the path, is found in its NAME; 0 is best."""
    at = name.find(one)
    if at < 0:
        return ABOVE
    if at == 0:
        return 0 if len(one) == len(name) or name[: name.rfind(".")] == one else 1
    while at > 0:
        if not name[at - 1].isalnum():
            return INSIDE
        at = name.find(one, at + 1)
    return INSIDE + 1


def _gapped(one: str, *, grouped: bool = False) -> "re.Pattern[str]":
    """Finds the characters of ONE with gaps between, GROUPED or not. Nothing is tried twice."""
    gap = "([^{0}]*+){0}" if grouped else "[^{0}]*+{0}"
    return re.compile(re.escape(one[0]) + "".join(gap.format(re.escape(c)) for c in one[1:]))


def _globs(text: str) -> Globs:
    try:
        return compile_globs((text.removeprefix("./"),))
    except BadGlob as error:
        raise _invalid(f"is no glob: {error}") from error


def _invalid(problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")


@dataclass(frozen=True, slots=True)
class Answer:
    """The matches on a page: their paths from the root; `total` of `searched` files match.

    `notes` are what a reader has to know of what is not there.
    """

    arguments: Arguments
    base: str
    paths: Sequence[str]
    total: int
    searched: int
    notes: Sequence[str]

    @property
    def next_offset(self) -> int | None:
        """Where the next page starts, if there is one."""
        after = self.arguments.offset + len(self.paths)
        return after if self.paths and after < self.total else None

    def head(self) -> str:
        """The first line of the text."""
        query, among = quote(self.arguments.query), f"{self.searched} searched in {self._where}"
        if not self.total:
            return f"No file matches {query} ({self.arguments.kind}; {among})\n"
        noun = "file matches" if self.total == 1 else "files match"
        order = "" if self.arguments.kind == SearchKind.GLOB else ", the best first"
        return f"{self.total} {noun} {query} ({self.arguments.kind}{order}; {among})\n"

    @property
    def _where(self) -> str:
        return show(f"{self.base}/")

    def data(self) -> dict[str, object]:
        """The page."""
        return {
            "query": self.arguments.query,
            "kind": SearchKind(self.arguments.kind),
            "path": self.base,
            "files": list(self.paths),
            "total": self.total,
            "searched": self.searched,
            "offset": self.arguments.offset,
            "next_offset": self.next_offset,
            "notes": list(self.notes),
        }


def run(arguments: Arguments, context: Context) -> Result:
    """Survey the directory, search what is there, and tell a page of it."""
    query = Query(arguments.query, arguments.kind)
    try:
        with context.root.resolve(arguments.path) as place:
            if place.kind is not Kind.DIRECTORY:
                raise NotADirectory("it is not a directory", last=True)
            return _searched(query, arguments, context, place)
    except PathError as error:
        raise refusal(error, arguments.path) from error


def _searched(query: Query, arguments: Arguments, context: Context, place: Place) -> Result:
    from backstaff.fs.survey import survey  # nobody searches at the start

    found = survey(place, context.budget, everything=arguments.include_ignored)
    index = INDEXES.of((place.path, arguments.include_ignored), found.start)
    matches = query.matches(index)
    page = query.best(index, matches, arguments.offset + arguments.max_results)
    prefix = "" if place.relative == "." else f"{place.relative}/"
    paths = [prefix + index.paths[number] for number in page[arguments.offset :]]
    why = () if matches else _why(query, arguments, context, place, found, index)
    notes = (*why, *_beyond(arguments.offset, len(matches)), *_notes(found))
    answer = Answer(arguments, place.relative, paths, len(matches), len(index.paths), notes)
    return _told(answer, context.text_limit(DEFAULT_TEXT_BYTES), expired=found.expired)


def _told(answer: Answer, limit: int, *, expired: bool = False) -> Result:
    """The result; its page holds no more than its text, so that the next one misses nothing."""
    notes = "".join(f"[{note}]\n" for note in answer.notes)
    rows = [f"{show(path)}\n" for path in answer.paths]
    room = limit - sum(map(_bytes, (answer.head(), notes, _more(MAX_OFFSET, MAX_OFFSET))))
    fitting = sum(1 for cost in accumulate(map(_bytes, rows)) if cost <= room)
    shown = replace(answer, paths=answer.paths[:fitting])
    if shown.next_offset is not None:
        notes += _more(answer.total - shown.next_offset, shown.next_offset)
    text, whole = fitted(answer.head(), rows[:fitting], notes, limit)
    cut = shown.next_offset is not None or fitting < len(rows)
    return Result(
        text=text,
        data=shown.data(),
        truncated=cut or not whole or expired,
    )


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def _more(count: int, offset: int) -> str:
    return f"[{count} more: offset={offset}]\n"


def _beyond(offset: int, total: int) -> Iterator[str]:
    """Why a page of some matches is empty."""
    if 0 < total <= offset:
        yield f"offset {offset} is after the last of {total}"


def _notes(found: "Survey") -> Iterator[str]:
    """What was not searched."""
    if found.expired:
        yield "the time was up before all was searched: give a directory as path"
    if found.uncertain:
        yield "git could not say which ignored files are tracked: they are left out"
    if unreadable := [folder.path for folder in found.start if folder.unreadable]:
        yield f"cannot be read: {_some(unreadable)}"
    if inner := [folder.path for folder in found.start if folder.repository]:
        yield f"repositories of their own, to be searched by giving one as path: {_some(inner)}"


def _some(paths: Sequence[str]) -> str:
    """The first of PATHS, and how many there are besides."""
    first = " ".join(f"{word(path)}/" for path in paths[:MAX_NAMED])
    return first + (f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else "")


def _why(  # noqa: PLR0913, PLR0917 - the whole situation explains
    query: Query,
    asked: Arguments,
    context: Context,
    place: Place,
    found: "Survey",
    index: Index,
) -> Iterator[str]:
    """Why nothing matches, and what would."""
    from backstaff.fs.survey import survey

    start = found.start
    hidden = start.ignored or any(folder.repository for folder in start)
    if hidden and not asked.include_ignored and not found.expired:
        everything = survey(place, context.budget, everything=True).start
        if count := len(query.matches(Index(everything))):
            noun = "file matches" if count == 1 else "files match"
            yield f"{count} ignored {noun}: include_ignored shows them"
    prefix = "" if place.relative == "." else f"{place.relative}/"
    directories = [folder.path for folder in start if folder.path]
    where, budget = show(f"{place.relative}/"), misses.hurried(context.budget)
    searched = misses.Searched(index.paths, directories, where, budget, prefix)
    if query.globs is not None:
        reason = misses.of_glob(asked.query, _globs, searched)
    else:
        reason = _without_case(query, index) or _as_glob(query, index)
    if reason is None:
        reason = misses.nearest(asked.query, searched)
    if reason:
        yield reason


def _without_case(query: Query, index: Index) -> str | None:
    """What words would match but for their capital letters."""
    if query.folded:
        return None
    anyhow = Query(query.text.lower(), query.kind)
    count = len(anyhow.matches(index))
    noun = "matches" if count == 1 else "match"
    return f"{count} {noun} without regard to case: {quote(anyhow.text)}" if count else None


def _as_glob(query: Query, index: Index) -> str | None:
    """What words would match that look like a glob, if they were meant as one."""
    if not set("*?[{") & set(query.text):
        return None
    try:
        count = len(_globs(query.text).files(index.paths))
    except ToolError:
        return None
    noun = "file" if count == 1 else "files"
    return f"as a glob it matches {count} {noun}: kind=glob" if count else None


TOOL = Tool(
    name="search_files",
    description=(
        "Find files by name: paths that match a query, the best first, without what git ignores."
        " Use it to learn where something is; workspace/tree shows what is around it."
    ),
    parameters=(
        Parameter(
            name="query",
            type=ParameterType.STRING,
            required=True,
            description=(
                "What to look for in paths. Case counts only where there is a capital letter;"
                " words may stand in any order. For a glob: the whole path from 'path' on,"
                " such as '**/*.py'."
            ),
        ),
        Parameter(
            name="path",
            type=ParameterType.STRING,
            default=".",
            description="Directory to search in.",
        ),
        Parameter(
            name="kind",
            type=ParameterType.STRING,
            choices=tuple(SearchKind),
            default=SearchKind.FUZZY.value,
            description="How the query is meant: fuzzy allows for gaps in a word.",
        ),
        Parameter(
            name="include_ignored",
            type=ParameterType.BOOLEAN,
            default=False,
            description="Search what git ignores, too, and repositories within.",
        ),
        Parameter(
            name="max_results",
            type=ParameterType.NUMBER,
            whole=True,
            default=50,
            minimum=1,
            maximum=MAX_RESULTS,
            description="How many paths to return.",
        ),
        Parameter(
            name="offset",
            type=ParameterType.NUMBER,
            whole=True,
            default=0,
            minimum=0,
            maximum=MAX_OFFSET,
            description="How many of the first to skip: the next page's offset is in the answer.",
        ),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem", "navigation", "search"),
)

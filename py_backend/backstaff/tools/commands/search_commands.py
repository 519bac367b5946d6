"""commands/search_commands: the commands that a query is about, the best first.

How a command is scored. The query is taken apart into words, without regard to case and marks of
punctuation. Each word is worth what the best place is worth in which it is found, times how well it
is found there:

    name 1.0, title 0.75, description 0.65, tags 0.6     a whole word 1.0, the start of one 0.9,
                                                         within one 0.8; in names only, a word that
                                                         is like it 0.5
    the content below the front matter 0.4               anywhere in the first 64 KiB

The score is the mean over the query's words, of which at least half must be found, times 0.95, plus
0.05 times the share of the name's words that the query names: so a name that is the query scores 1.
Commands of one score stand by name. Dependencies are hidden, as in list_commands.

Contents are read only of commands that could come among the best by them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from heapq import nlargest
from operator import attrgetter

from backstaff.errors import PathError, ToolError
from backstaff.frontmatter.block import parse
from backstaff.fs.budget import Budget
from backstaff.render.lines import bracketed, fitted, left_out
from backstaff.render.names import quote
from backstaff.tool import Context, Parameter, ParameterType, Result, ResultKind, Tool
from backstaff.tools.commands._catalog import HEAD_BYTES, Command, read_catalog
from backstaff.tools.commands._directories import TABLE, Folders, Settings, open_folders
from backstaff.tools.commands._format import (
    DEFAULT_TEXT_BYTES,
    command_labels,
    counted,
    folder_in_output,
    line,
)

MAX_QUERY_CHARACTERS = 500
MAX_WORDS = 16
MAX_RESULTS = 100

LEAST_FOUND = 0.5
LEAST_ALIKE = 0.8
SHORTEST_ALIKE = 4
"""A word of fewer characters is like too many others."""
NAMED = 0.05

_WORD = re.compile(r"[^\W_]+")
_RUN = re.compile(r"\S{1,1000}")


class Code(StrEnum):
    """The error of this tool."""

    INVALID_QUERY = "INVALID_QUERY"


class Place(StrEnum):
    """Where a word can be found."""

    NAME = "name"
    TITLE = "title"
    DESCRIPTION = "description"
    TAGS = "tags"
    CONTENT = "content"


WORTH = {
    Place.NAME: 1.0,
    Place.TITLE: 0.75,
    Place.DESCRIPTION: 0.65,
    Place.TAGS: 0.6,
    Place.CONTENT: 0.4,
}


class Way(StrEnum):
    """How a word can be found, as a reason words it."""

    WORD = "is a word of"
    START = "begins a word of"
    WITHIN = "is part of"
    ALIKE = "is like a word of"
    ANYWHERE = "stands in"


VALUE = {Way.WORD: 1.0, Way.START: 0.9, Way.WITHIN: 0.8, Way.ALIKE: 0.5, Way.ANYWHERE: 1.0}


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is asked for."""

    query: str
    max_results: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A word of the query, and where and how it was found."""

    word: str
    place: Place
    way: Way

    @property
    def value(self) -> float:
        """What it is worth."""
        return WORTH[self.place] * VALUE[self.way]


@dataclass(frozen=True, slots=True)
class Match:
    """A command with what was found in it, by the query's words, and the words of its name."""

    command: Command
    hits: Mapping[str, Hit]
    asked: Sequence[str]
    named: Sequence[str]

    @property
    def found(self) -> bool:
        """Whether enough of the query was found."""
        return len(self.hits) >= LEAST_FOUND * len(self.asked)

    @property
    def score(self) -> float:
        """From 0 to 1, to three decimals."""
        mean = sum(hit.value for hit in self.hits.values()) / len(self.asked)
        share = sum(word in self.asked for word in self.named) / max(len(self.named), 1)
        return round((1 - NAMED) * mean + NAMED * share, 3)

    @property
    def missing(self) -> list[str]:
        """The words of the query that were not found."""
        return [word for word in self.asked if word not in self.hits]

    @property
    def places(self) -> list[Place]:
        """Where something was found, the worthiest first."""
        found = {hit.place for hit in self.hits.values()}
        return [place for place in Place if place in found]

    def reason(self) -> str:
        """What was found where."""
        found = (self.hits[word] for word in self.asked if word in self.hits)
        return ", ".join(f"{quote(hit.word)} {hit.way} the {hit.place}" for hit in found)

    def with_content(self, words: Iterable[str]) -> "Match":
        """The same with WORDS found in the content."""
        hits = {word: Hit(word, Place.CONTENT, Way.ANYWHERE) for word in words}
        return replace(self, hits={**self.hits, **hits})


class Query:
    """A query, taken apart. Raises INVALID_QUERY if there is no word in it, or far too much."""

    def __init__(self, text: str) -> None:
        """Take TEXT apart."""
        if len(text) > MAX_QUERY_CHARACTERS:
            raise _invalid(f"is longer than {MAX_QUERY_CHARACTERS} characters")
        self.words = tuple(dict.fromkeys(_words(text)))[:MAX_WORDS]
        if not self.words:
            raise _invalid("holds no word to search for" if text.strip() else "is empty")
        self._alike: dict[tuple[str, str], bool] = {}

    def match(self, command: Command) -> Match:
        """What of the query is in COMMAND, its content aside."""
        about = command.about
        named = _words(command.name)
        texts = {
            Place.NAME: _folded(command.name),
            Place.TITLE: _folded(about.title),
            Place.DESCRIPTION: _folded(about.description),
            Place.TAGS: _folded(" ".join(about.tags)),
        }
        hits = (_hit(word, texts) or self._like(word, named) for word in self.words)
        return Match(command, {hit.word: hit for hit in hits if hit}, self.words, named)

    def _like(self, word: str, named: Sequence[str]) -> Hit | None:
        alike = len(word) >= SHORTEST_ALIKE and any(self._is_like(word, other) for other in named)
        return Hit(word, Place.NAME, Way.ALIKE) if alike else None

    def _is_like(self, word: str, other: str) -> bool:
        if (word, other) not in self._alike:
            matcher = SequenceMatcher(None, other, word, autojunk=False)
            ratios = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
            self._alike[word, other] = all(ratio() >= LEAST_ALIKE for ratio in ratios)
        return self._alike[word, other]


def run(arguments: Arguments, context: Context) -> Result:
    """Score every command that is no dependency, and tell the best."""
    query = Query(arguments.query)
    with open_folders(context) as folders:
        catalog = read_catalog(folders, context.budget)
        commands = catalog.primary
        search = Search(query, folders, context.budget)
        matches = search.best(commands, arguments.max_results)
        catalog.complete &= not context.budget.expired()
        partly = sum(command.stamp.size > HEAD_BYTES for command in commands)
        answer = Answer(arguments.query, matches, len(commands), folders.several, partly)
        warnings = tuple(catalog.warnings([match.command for match in matches]))
        told = (*_notes(answer, arguments, complete=catalog.complete), *counted(warnings))
        limit, lines = context.text_limit(DEFAULT_TEXT_BYTES), list(answer.lines())
        text, shown = fitted(
            answer.head(),
            lines,
            bracketed(told),
            limit,
            lambda shown: left_out(len(lines) - shown, limit, "list_commands tells all"),
        )
        return Result(
            text=text,
            data=answer.data(),
            output=answer.output(),
            truncated=shown < len(lines) or not catalog.complete,
            warnings=warnings,
            labels=lambda: command_labels(match.command for match in matches),
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The best matches among the commands that were searched."""

    query: str
    matches: Sequence[Match]
    searched: int
    several: bool
    partly: int

    def head(self) -> str:
        """The first line of the text."""
        query, among = quote(self.query), f"({self.searched} searched)"
        if not self.matches:
            return f"No command matches {query} {among}; list_commands tells all\n"
        noun = "command" if len(self.matches) == 1 else "commands"
        return f"{len(self.matches)} {noun} for {query}, the best first {among}\n"

    def lines(self) -> Iterator[str]:
        """A line of text for each match: score, name, description, reason."""
        for match in self.matches:
            before, after = f"{match.score:.3f} ", f" [{match.reason()}]"
            yield line(match.command, several=self.several, before=before, after=after)

    def data(self) -> dict[str, object]:
        """The matches, with each command's file and folder."""
        results = [
            _told(match) | {"path": match.command.path, "folder": match.command.folder}
            for match in self.matches
        ]
        return {"query": self.query, "results": results, "searched": self.searched}

    def output(self) -> dict[str, object]:
        """The matches, with the folder where there are several."""
        results = [
            _told(match) | folder_in_output(match.command, several=self.several)
            for match in self.matches
        ]
        return {"query": self.query, "results": results, "searched": self.searched}


def _notes(answer: Answer, arguments: Arguments, *, complete: bool) -> Iterator[str]:
    """What may be missing, and how to see it."""
    if not complete:
        yield "the time was up: there may be better ones"
    if len(answer.matches) == arguments.max_results:
        raised = f"raise max_results (at most {MAX_RESULTS})"
        least = arguments.max_results == MAX_RESULTS
        yield f"there may be more: {'list_commands tells all' if least else raised}"
    if answer.partly:
        noun = "command is" if answer.partly == 1 else "commands are"
        yield f"{answer.partly} {noun} searched in the first {HEAD_BYTES >> 10} KiB only"


def _told(match: Match) -> dict[str, object]:
    return {
        "name": match.command.name,
        "score": match.score,
        "matched_in": match.places,
        "description": match.command.about.description,
        "reason": match.reason(),
    }


@dataclass(frozen=True, slots=True)
class Search:
    """A search for QUERY in the open FOLDERS, while the budget lasts."""

    query: Query
    folders: Folders
    budget: Budget

    def best(self, commands: Sequence[Command], most: int) -> list[Match]:
        """The MOST best matches. Contents are read only where they could make a difference."""
        matches = [self.query.match(command) for command in commands if not self.budget.expired()]
        best = _ranked(matches, most)
        least = best[-1].score if len(best) == most else 0.0
        return _ranked((self._completed(match, least) for match in matches), most)

    def _completed(self, match: Match, least: float) -> Match:
        """MATCH with what the content of its file holds, if it can come to a score of LEAST so."""
        possible = match.with_content(match.missing)
        promising = match.missing and possible.found and possible.score >= least
        if not promising or self.budget.expired():
            return match
        try:
            folder = self.folders.labelled(match.command.folder)
            content = folder.read(match.command.file, HEAD_BYTES)
        except PathError:
            return match
        body = _folded(parse(content.head, whole=content.whole).body())
        return match.with_content(word for word in match.missing if word in body)


def _ranked(matches: Iterable[Match], most: int) -> list[Match]:
    """The MOST first of MATCHES, which stand in the order of names, that found enough."""
    found = (match for match in matches if match.found)
    return nlargest(most, found, key=attrgetter("score"))


def _hit(word: str, texts: Mapping[Place, str]) -> Hit | None:
    """The worthiest way in which WORD is in one of TEXTS."""
    hits = [Hit(word, place, _way(word, text)) for place, text in texts.items() if word in text]
    return max(hits, key=lambda hit: hit.value, default=None)


def _way(word: str, text: str) -> Way:
    words = _words(text)
    if word in words:
        return Way.WORD
    return Way.START if any(other.startswith(word) for other in words) else Way.WITHIN


def _words(text: str) -> list[str]:
    return _WORD.findall(_folded(text))


def _folded(text: str) -> str:
    """TEXT without regard to case and to how its characters are composed."""
    if text.isascii():
        return text.lower()
    # A run of combining marks takes the square of its length, and no other thread runs meanwhile.
    return _RUN.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text).casefold()


def _invalid(problem: str) -> ToolError:
    return ToolError(Code.INVALID_QUERY, f"Argument 'query' {problem}")


TOOL = Tool(
    name="search_commands",
    description=(
        "Search the commands by name, title, description, tags and content. Returns the best"
        " matches with a score from 0 to 1 and the reason; get_command returns a command itself."
    ),
    parameters=(
        Parameter(
            name="query",
            type=ParameterType.STRING,
            required=True,
            description="Words to search for",
            code=Code.INVALID_QUERY,
        ),
        Parameter(
            name="max_results",
            type=ParameterType.NUMBER,
            whole=True,
            description="Maximum number of results",
            default=10,
            minimum=1,
            maximum=MAX_RESULTS,
        ),
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.COMMANDS,
    categories=("commands", "discovery"),
    settings=Settings,
    table=TABLE,
)

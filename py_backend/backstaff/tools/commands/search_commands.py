"""commands/search_commands: the commands that match a query, the best first.

How a command is scored. The query is split into words; case and punctuation do not matter. A word
scores by the best field that holds it (`FIELD_SCORES`), times the way in which it matches there
(`FIT_SCORES`). A word that is only spelt much like a word of the name counts, too. In the content,
the first 64 KiB are searched.

A command matches if it holds at least half of the words. Its score is the mean over all words,
times 0.95, plus 0.05 times the share of the name's words that are in the query: so a name that is
the query scores 1. Commands with the same score stand by name. Dependencies are hidden, as in
list_commands.

Contents are read only where they could bring a command among the best.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache
from heapq import nlargest
from operator import attrgetter
from typing import NamedTuple

from backstaff.errors import PathError, ToolError
from backstaff.frontmatter.block import parse
from backstaff.fs.budget import Budget
from backstaff.render.lines import bracketed, fitted, left_out
from backstaff.render.names import quote
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.commands._catalog import DEFAULT_TEXT_BYTES, read_catalog, warnings_note
from backstaff.tools.commands._command import HEAD_BYTES, Command, command_labels
from backstaff.tools.commands._directories import (
    TABLE,
    CommandDirectory,
    Settings,
    open_directories,
)

MAX_QUERY_CHARACTERS = 500
MAX_WORDS = 16
MAX_RESULTS = 100
TELLS_ALL = "list_commands tells all"

LEAST_SHARE = 0.5
LEAST_SIMILARITY = 0.8
SHORTEST_SIMILAR = 4
"""A word of fewer characters is similar to too many others."""
NAME_SHARE = 0.05

_WORD = re.compile(r"[^\W_]+")
_RUN = re.compile(r"\S{1,1000}")


class Code(StrEnum):
    """The error of this tool."""

    INVALID_QUERY = "INVALID_QUERY"


class Field(StrEnum):
    """A part of a command, the best first."""

    NAME = "name"
    TITLE = "title"
    DESCRIPTION = "description"
    TAGS = "tags"
    CONTENT = "content"


class Fit(StrEnum):
    """How a word matches, in the words of a reason."""

    WORD = "is a word of"
    START = "begins a word of"
    PART = "is part of"
    SIMILAR = "is like a word of"
    ANYWHERE = "stands in"


FIELD_SCORES = dict(zip(Field, (1.0, 0.75, 0.65, 0.6, 0.4), strict=True))
FIT_SCORES = dict(zip(Fit, (1.0, 0.9, 0.8, 0.5, 1.0), strict=True))


@dataclass(frozen=True, slots=True)
class Arguments:
    """A query, and how many results to return."""

    query: str = argument("Words to search for", code=Code.INVALID_QUERY)
    max_results: int = argument(
        "Maximum number of results", default=10, minimum=1, maximum=MAX_RESULTS
    )


class Hit(NamedTuple):
    """A match of one word."""

    field: Field
    fit: Fit

    @property
    def score(self) -> float:
        """From 0 to 1."""
        return FIELD_SCORES[self.field] * FIT_SCORES[self.fit]


IN_CONTENT = Hit(Field.CONTENT, Fit.ANYWHERE)


class Match(NamedTuple):
    """A command, the words of its name and of the query, and a hit for each word found."""

    command: Command
    name_words: Sequence[str]
    words: Sequence[str]
    hits: Mapping[str, Hit]

    @property
    def sufficient(self) -> bool:
        """Whether enough words were found."""
        return len(self.hits) >= LEAST_SHARE * len(self.words)

    @property
    def score(self) -> float:
        """From 0 to 1, to three decimals."""
        mean = sum(hit.score for hit in self.hits.values()) / len(self.words)
        share = sum(word in self.words for word in self.name_words) / max(len(self.name_words), 1)
        return round((1 - NAME_SHARE) * mean + NAME_SHARE * share, 3)

    def with_content(self, words: Iterable[str]) -> "Match":
        """Add hits in the content for WORDS."""
        return self._replace(hits={**self.hits, **dict.fromkeys(words, IN_CONTENT)})

    def reason(self) -> str:
        """Say which words were found where: `'deploy' begins a word of the name`."""
        found = ((word, self.hits[word]) for word in self.words if word in self.hits)
        return ", ".join(f"{quote(word)} {hit.fit} the {hit.field}" for word, hit in found)

    def facts(self, *keys: str) -> dict[str, object]:
        """Return the match in an object of an answer, with the properties KEYS of the command."""
        fields = {hit.field for hit in self.hits.values()}
        return {
            "name": self.command.name,
            "score": self.score,
            "matched_in": [field for field in Field if field in fields],
            "description": self.command.description,
            "reason": self.reason(),
            **self.command.facts(*keys),
        }


def run(arguments: Arguments, context: Context) -> Result:
    """Score every command that is no dependency, and return the best."""
    query, most, budget = arguments.query, arguments.max_results, context.budget
    words, several = _query_words(query), context.settings.several
    with open_directories(context) as (directories, problems):
        catalog = read_catalog(directories, problems, budget)
        commands = catalog.commands
        matches = _best(commands, words, directories, most, budget)
        catalog.complete &= not budget.expired()
    results = [match.facts("path", "folder") for match in matches]
    output = [match.facts(*["folder"] * several) for match in matches]

    among = f"({len(commands)} searched)"
    noun = "command" if len(matches) == 1 else "commands"
    head = f"{len(matches)} {noun} for {quote(query)}, the best first {among}\n"
    if not matches:
        head = f"No command matches {quote(query)} {among}; {TELLS_ALL}\n"
    rows = [
        f"{match.score:.3f} {match.command.summary(several=several)} [{match.reason()}]\n"
        for match in matches
    ]
    found = [match.command for match in matches]
    warnings = catalog.warnings(found)
    notes = [] if catalog.complete else ["the time was up: there may be better ones"]
    notes += _notes(commands, len(matches), most)
    notes += warnings_note(warnings)
    limit = context.text_limit(DEFAULT_TEXT_BYTES)
    text, shown = fitted(
        head,
        rows,
        bracketed(notes),
        limit,
        lambda shown: left_out(len(rows) - shown, limit, TELLS_ALL),
    )
    return Result(
        text=text,
        data={"query": query, "results": results, "searched": len(commands)},
        output={"query": query, "results": output, "searched": len(commands)},
        truncated=shown < len(rows) or not catalog.complete,
        warnings=warnings,
        labels=lambda: command_labels(found),
    )


def _notes(commands: Sequence[Command], found: int, most: int) -> Iterator[str]:
    """Say which results may be missing, and how to get them."""
    if found == most:
        raised = f"raise max_results (at most {MAX_RESULTS})"
        yield f"there may be more: {TELLS_ALL if most == MAX_RESULTS else raised}"
    if large := sum(command.size > HEAD_BYTES for command in commands):
        noun = "command is" if large == 1 else "commands are"
        yield f"{large} {noun} searched in the first {HEAD_BYTES >> 10} KiB only"


def _query_words(query: str) -> list[str]:
    """Return the distinct words of QUERY, at most `MAX_WORDS`. Raises INVALID_QUERY."""
    if len(query) > MAX_QUERY_CHARACTERS:
        problem = f"is longer than {MAX_QUERY_CHARACTERS} characters"
    elif words := list(dict.fromkeys(_words(query))):
        return words[:MAX_WORDS]
    else:
        problem = "holds no word to search for" if query.strip() else "is empty"
    raise ToolError(Code.INVALID_QUERY, f"Argument 'query' {problem}")


def _best(
    commands: Sequence[Command],
    words: Sequence[str],
    directories: Sequence[CommandDirectory],
    most: int,
    budget: Budget,
) -> list[Match]:
    """Return the MOST best matches of WORDS, while the time lasts."""

    def ranked() -> list[Match]:
        # The commands stand by name, and nlargest keeps that order among equals.
        return nlargest(most, (match for match in matches if match.sufficient), attrgetter("score"))

    matches = [_match(command, words) for command in commands if not budget.expired()]
    best = ranked()
    lowest = best[-1].score if len(best) == most else 0.0
    by_label = {directory.label: directory for directory in directories}
    for position, match in enumerate(matches):
        missing = [word for word in words if word not in match.hits]
        possible = match.with_content(missing)
        if not missing or not possible.sufficient or possible.score < lowest or budget.expired():
            continue
        try:
            content = by_label[match.command.folder].read(match.command.file, HEAD_BYTES)
        except PathError:
            continue
        body = _folded(parse(content.head, whole=content.whole).body())
        matches[position] = match.with_content(word for word in missing if word in body)
    return ranked()


def _match(command: Command, words: Sequence[str]) -> Match:
    """Look for WORDS in everything but the content of COMMAND."""
    name_words = _words(command.name)
    texts = {
        Field.NAME: _folded(command.name),
        Field.TITLE: _folded(command.title),
        Field.DESCRIPTION: _folded(command.description),
        Field.TAGS: _folded(" ".join(command.tags)),
    }
    hits: dict[str, Hit] = {}
    for word in words:
        found = [Hit(field, _fit(word, text)) for field, text in texts.items() if word in text]
        if found:
            hits[word] = max(found, key=attrgetter("score"))
        elif len(word) >= SHORTEST_SIMILAR and any(_similar(word, other) for other in name_words):
            hits[word] = Hit(Field.NAME, Fit.SIMILAR)
    return Match(command, name_words, words, hits)


def _fit(word: str, text: str) -> Fit:
    words = _words(text)
    if word in words:
        return Fit.WORD
    return Fit.START if any(other.startswith(word) for other in words) else Fit.PART


@lru_cache(maxsize=1 << 16)  # the same words stand in many names
def _similar(word: str, other: str) -> bool:
    return bool(get_close_matches(word, (other,), cutoff=LEAST_SIMILARITY))


def _words(text: str) -> list[str]:
    return _WORD.findall(_folded(text))


def _folded(text: str) -> str:
    """Return TEXT in one form, whatever the case and the composition of its characters."""
    if text.isascii():
        return text.lower()
    # A run of combining marks takes the square of its length, and no other thread runs meanwhile.
    return _RUN.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text).casefold()


TOOL = Tool(
    description=(
        "Search the commands by name, title, description, tags and content. Returns the best"
        " matches with a score from 0 to 1 and the reason; get_command returns a command itself."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.COMMANDS,
    categories=("commands", "discovery"),
    settings=Settings,
    table=TABLE,
)

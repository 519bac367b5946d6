"""commands/search_commands: the commands that match a query, the best first.

How a command is scored. The query is split into words; case and punctuation do not matter. A word
scores by the best field that holds it (`FIELD_SCORES`), times the way in which it matches there
(`FIT_SCORES`). A word in another form counts, as `validating` for `validate` (`names.stems`), and
one that is only spelt much like a word of the name. In the content, the first 64 KiB are searched.

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
from functools import lru_cache
from heapq import nlargest
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.errors import PathError, ToolError
from backstaff.frontmatter.block import parse
from backstaff.names.stems import stem
from backstaff.render.lines import bracketed, cut, left_out, plural
from backstaff.render.names import quote
from backstaff.tool import Context, Keyword, Result, ResultKind, Tool, argument
from backstaff.tools.commands._catalog import read_catalog, warnings_note
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
"""Lowest ratio of `difflib` for a word that is like a word of a name."""
# Of 500 words with one edit, .93 are like the word that is meant with .8, and .47 with .9. Of 1,000
# pairs of different words, .3 are alike with .8, and 1.4 with .7.
NAME_SHARE = 0.05

_WORD = re.compile(r"[^\W_]+")
_RUN = re.compile(r"\S{1,1000}")

INVALID_QUERY = "INVALID_QUERY"
"""The error code of this tool."""

FIELD_SCORES = {"name": 1.0, "title": 0.75, "description": 0.74, "tags": 0.6, "content": 0.4}
"""The score of a word, by the field that holds it.

Two words in the description outweigh one that is half of a name beside one in the content.
"""
A_FORM = "is a form of a word of"
FIT_SCORES = {
    "is a word of": 1.0,
    "begins a word of": 0.9,
    "is part of": 0.8,
    A_FORM: 0.85,
    "is like a word of": 0.5,
    "stands in": 1.0,
    "has a form in": 0.4,
}
"""The score by the way in which the word matches there, and the words for that reason."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A query, and how many results to return."""

    query: str = argument("Words to search for", code=INVALID_QUERY)
    max_results: int = argument(
        "Maximum number of results", default=10, minimum=1, maximum=MAX_RESULTS
    )


class Match(NamedTuple):
    """A command, the words of the query, and for each word found its field and how it matches."""

    command: Command
    words: Sequence[str]
    hits: Mapping[str, tuple[str, str]]

    def score(self) -> float:
        """Return 0 to 1, to three decimals; 0 if too few words were found."""
        if len(self.hits) < LEAST_SHARE * len(self.words):
            return 0.0
        scores = (FIELD_SCORES[field] * FIT_SCORES[fit] for field, fit in self.hits.values())
        name_words = _words(self.command.name)
        share = sum(word in self.words for word in name_words) / max(len(name_words), 1)
        mean = sum(scores) / len(self.words)
        return round((1 - NAME_SHARE) * mean + NAME_SHARE * share, 3)

    def with_content(self, words: Iterable[str], fit: str = "stands in") -> "Match":
        """Add hits in the content for `words`, which match there by `fit`."""
        in_content = dict.fromkeys(words, ("content", fit))
        return self._replace(hits={**self.hits, **in_content})

    def reason(self) -> str:
        """Say which words were found where: `'deploy' begins a word of the name`."""
        found = ((word, *self.hits[word]) for word in self.words if word in self.hits)
        return ", ".join(f"{quote(word)} {fit} the {field}" for word, field, fit in found)

    def facts(self, *keys: str) -> dict[str, object]:
        """Return the match in an object of an answer, with the properties `keys` of the command."""
        fields = {field for field, _ in self.hits.values()}
        return {
            "name": self.command.name,
            "score": self.score(),
            "matched_in": [Keyword(field) for field in FIELD_SCORES if field in fields],
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
    results = [match.facts("path", "folder", *context.settings.more_keys) for match in matches]
    output = [match.facts(*["folder"] * several) for match in matches]

    among = f"({len(commands)} searched)"
    head = f"{plural(len(matches), 'command')} for {quote(query)}, the best first {among}\n"
    if not matches:
        head = f"No command matches {quote(query)} {among}; {TELLS_ALL}\n"
    rows = [
        f"{match.score():.3f} {match.command.summary(several=several)} [{match.reason()}]\n"
        for match in matches
    ]
    found = [match.command for match in matches]
    warnings = catalog.warnings(found)
    notes = [] if catalog.complete else ["the time was up: there may be better ones"]
    notes += _notes(commands, len(matches), most)
    limit = context.text_limit()
    last = bracketed([*notes, *catalog.nested_note(), *warnings_note(warnings)])
    text, shown = cut(
        head,
        rows,
        lambda shown: last + left_out(len(rows) - shown, limit, TELLS_ALL),
        limit,
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
    """Name the results that may be missing, and say how to get them."""
    if found == most:
        raised = f"raise max_results (at most {MAX_RESULTS})"
        yield f"there may be more: {TELLS_ALL if most == MAX_RESULTS else raised}"
    if large := sum(command.size > HEAD_BYTES for command in commands):
        which = plural(large, "command is", "commands are")
        yield f"{which} searched in the first {HEAD_BYTES >> 10} KiB only"


def _query_words(query: str) -> list[str]:
    """Return the distinct words of `query`, at most `MAX_WORDS`. Raises INVALID_QUERY."""
    if len(query) > MAX_QUERY_CHARACTERS:
        problem = f"is longer than {MAX_QUERY_CHARACTERS} characters"
    elif words := list(dict.fromkeys(_words(query))):
        return words[:MAX_WORDS]
    else:
        problem = "holds no word to search for" if query.strip() else "is empty"
    raise ToolError(INVALID_QUERY, f"Argument 'query' {problem}")


def _best(
    commands: Sequence[Command],
    words: Sequence[str],
    directories: Sequence[CommandDirectory],
    most: int,
    budget: Budget,
) -> list[Match]:
    """Return the `most` best matches of `words`, while the time lasts."""

    def ranked() -> list[Match]:
        # The commands stand by name, and nlargest keeps that order among equals.
        return nlargest(most, filter(Match.score, matches), Match.score)

    matches = [_match(command, words) for command in commands if not budget.expired()]
    best = ranked()
    lowest = best[-1].score() if len(best) == most else 0.0
    by_label = {directory.label: directory for directory in directories}
    for position, match in enumerate(matches):
        missing = [word for word in words if word not in match.hits]
        possible = match.with_content(missing).score()
        if not missing or not possible or possible < lowest or budget.expired():
            continue
        try:
            content = by_label[match.command.folder].read(match.command.file, HEAD_BYTES)
        except PathError:
            continue
        body = _folded(parse(content.head, whole=content.whole).body())
        forms = [word for word in missing if word not in body and f" {stem(word)}" in body]
        whole = match.with_content(word for word in missing if word in body)
        matches[position] = whole.with_content(forms, "has a form in")
    return ranked()


def _match(command: Command, words: Sequence[str]) -> Match:
    """Look for `words` in all fields of `command` except its content."""
    texts = {
        "name": _folded(command.name),
        "title": _folded(command.title),
        "description": _folded(command.description),
        "tags": _folded(" ".join(command.tags)),
    }
    name_words = _WORD.findall(texts["name"])
    stems = {field: _stems(text) for field, text in texts.items()}
    hits: dict[str, tuple[str, str]] = {}
    for word in words:
        found = [(field, _fit(word, text)) for field, text in texts.items() if word in text]
        if not found:
            form = stem(word)
            found = [(field, A_FORM) for field, those in stems.items() if form in those]
        if found:
            hits[word] = max(found, key=lambda hit: FIELD_SCORES[hit[0]] * FIT_SCORES[hit[1]])
        elif any(_similar(word, other) for other in name_words):
            hits[word] = "name", "is like a word of"
    return Match(command, words, hits)


@lru_cache(maxsize=1 << 14)  # the same commands are searched again
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, _WORD.findall(text)))


def _fit(word: str, text: str) -> str:
    words = _WORD.findall(text)
    if word in words:
        return "is a word of"
    starts = any(other.startswith(word) for other in words)
    return "begins a word of" if starts else "is part of"


@lru_cache(maxsize=1 << 16)  # the same words stand in many names
def _similar(word: str, other: str) -> bool:
    return bool(get_close_matches(word, (other,), cutoff=LEAST_SIMILARITY))


def _words(text: str) -> list[str]:
    return _WORD.findall(_folded(text))


def _folded(text: str) -> str:
    """Return `text` in one form, whatever the case and the composition of its characters."""
    if text.isascii():
        return text.lower()
    # A run of combining marks takes time in the square of its length, while no other thread runs.
    return _RUN.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text).casefold()


TOOL = Tool(
    description=(
        "Search the project's slash commands, which are prompts in Markdown, not programs: by name,"
        " title, description, tags and content. Take this where a few words say what is needed;"
        " list_commands pages through all, and get_command returns one."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.COMMANDS,
    categories=("commands", "discovery"),
    settings=Settings,
    table=TABLE,
)

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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from heapq import nlargest
from operator import attrgetter
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
FIT_SCORES = {
    "is a word of": 1.0,
    "begins a word of": 0.9,
    "is part of": 0.8,
    "is a form of a word of": 0.85,
    "is like a word of": 0.5,
    "stands in": 1.0,
    "has a form in": 0.4,
}
"""The score by the way in which the word matches there, and the words for that reason."""
IN_CONTENT, FORM_IN_CONTENT = ("content", "stands in"), ("content", "has a form in")

Hit = tuple[str, str]
"""The field that holds a word of the query, and the way in which it matches there."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A query, and how many results to return."""

    query: str = argument("Words to search for", code=INVALID_QUERY)
    max_results: int = argument(
        "Maximum number of results", default=10, minimum=1, maximum=MAX_RESULTS
    )


class Match(NamedTuple):
    """A command, and for each word of the query that was found its field and how it matches."""

    command: Command
    hits: dict[str, Hit]
    score: float

    def reason(self) -> str:
        """Say which words were found where: `'deploy' begins a word of the name`."""
        found = ((word, fit, field) for word, (field, fit) in self.hits.items())
        return ", ".join(f"{quote(word)} {fit} the {field}" for word, fit, field in found)

    def facts(self, *keys: str) -> dict[str, object]:
        """Return the match in an object of an answer, with the properties `keys` of the command."""
        fields = {field for field, _ in self.hits.values()}
        return {
            "name": self.command.name,
            "score": self.score,
            "matched_in": [Keyword(field) for field in FIELD_SCORES if field in fields],
            "description": self.command.description,
            "reason": self.reason(),
            **self.command.facts(*keys),
        }


def run(arguments: Arguments, context: Context) -> Result:
    """Score every command that is no dependency, and return the best."""
    query, most, several = arguments.query, arguments.max_results, context.settings.several
    if len(query) > MAX_QUERY_CHARACTERS:
        problem = f"is longer than {MAX_QUERY_CHARACTERS} characters"
        raise ToolError(INVALID_QUERY, f"Argument 'query' {problem}")
    words = list(dict.fromkeys(_words(query)))[:MAX_WORDS]
    if not words:
        problem = "holds no word to search for" if query.strip() else "is empty"
        raise ToolError(INVALID_QUERY, f"Argument 'query' {problem}")
    with open_directories(context) as (directories, problems):
        catalog = read_catalog(directories, problems, context.budget)
        commands = catalog.commands
        matches = _best(commands, words, directories, most, context.budget)
        catalog.complete &= not context.budget.expired()
    results = [match.facts("path", "folder") for match in matches]
    output = [match.facts(*["folder"] * several) for match in matches]

    among = f"({len(commands)} searched)"
    head = f"{plural(len(matches), 'command')} for {quote(query)}, the best first {among}\n"
    if not matches:
        head = f"No command matches {quote(query)} {among}; {TELLS_ALL}\n"
    rows = [
        f"{match.score:.3f} {match.command.summary(several=several)} [{match.reason()}]\n"
        for match in matches
    ]
    found = [match.command for match in matches]
    warnings = catalog.warnings(found)
    notes = [] if catalog.complete else ["the time was up: there may be better ones"]
    if len(matches) == most:
        raised = f"raise max_results (at most {MAX_RESULTS})"
        notes.append(f"there may be more: {TELLS_ALL if most == MAX_RESULTS else raised}")
    if large := sum(command.size > HEAD_BYTES for command in commands):
        which = plural(large, "command is", "commands are")
        notes.append(f"{which} searched in the first {HEAD_BYTES >> 10} KiB only")
    last = bracketed([*notes, *warnings_note(warnings)])
    limit = context.text_limit()
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


def _best(
    commands: Sequence[Command],
    words: Sequence[str],
    directories: Sequence[CommandDirectory],
    most: int,
    budget: Budget,
) -> list[Match]:
    """Return the `most` best matches of `words`, while the time lasts."""

    def scored(command: Command, hits: dict[str, Hit]) -> Match:
        """Score from 0 to 1, to three decimals: 0 if too few words were found."""
        ordered = {word: hits[word] for word in words if word in hits}
        if len(hits) < LEAST_SHARE * len(words):
            return Match(command, ordered, 0.0)
        name_words = _words(command.name)
        share = sum(word in words for word in name_words) / max(len(name_words), 1)
        mean = sum(map(_score, hits.values())) / len(words)
        return Match(command, ordered, round((1 - NAME_SHARE) * mean + NAME_SHARE * share, 3))

    def ranked() -> list[Match]:
        # The commands stand by name, and nlargest keeps that order among equals.
        return nlargest(most, (match for match in matches if match.score), attrgetter("score"))

    matches = [scored(command, _hits(command, words)) for command in budget.within(commands)]
    best = ranked()
    lowest = best[-1].score if len(best) == most else 0.0
    by_label = {directory.label: directory for directory in directories}
    for position, (command, hits, _) in enumerate(matches):
        missing = [word for word in words if word not in hits]
        possible = scored(command, {**hits, **dict.fromkeys(missing, IN_CONTENT)}).score
        if not missing or not possible or possible < lowest or budget.expired():
            continue
        with suppress(PathError):
            _, content = by_label[command.folder].read(command.file, HEAD_BYTES)
            body = _folded(parse(content.head, whole=content.whole).body())
            for word in missing:
                if word in body:
                    hits[word] = IN_CONTENT
                elif _fit(word, body):
                    hits[word] = FORM_IN_CONTENT
            matches[position] = scored(command, hits)
    return ranked()


def _hits(command: Command, words: Sequence[str]) -> dict[str, Hit]:
    """Look for `words` in all fields of `command` except its content."""
    given = (command.name, command.title, command.description, " ".join(command.tags))
    texts = dict(zip(FIELD_SCORES, map(_folded, given), strict=False))
    hits = {}
    for word in words:
        if found := [(field, fit) for field, text in texts.items() if (fit := _fit(word, text))]:
            hits[word] = max(found, key=_score)
        elif get_close_matches(word, _WORD.findall(texts["name"]), 1, LEAST_SIMILARITY):
            hits[word] = "name", "is like a word of"
    return hits


def _fit(word: str, text: str) -> str:
    """Return how `word` matches in `text`, or "" if it does not."""
    form = stem(word)  # it is how the word and its other forms begin
    if form not in text:
        return ""
    words = re.findall(rf"(?<![^\W_]){re.escape(form)}[^\W_]*", text)
    if word in words:
        return "is a word of"
    if any(other.startswith(word) for other in words):
        return "begins a word of"
    if form in map(stem, words):
        return "is a form of a word of"
    return "is part of" if word in text else ""


def _score(hit: Hit) -> float:
    field, fit = hit
    return FIELD_SCORES[field] * FIT_SCORES[fit]


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

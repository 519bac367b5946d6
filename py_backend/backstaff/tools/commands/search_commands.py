"""commands/search_commands: the commands that match a query, the best first.

The query is split into words; case and punctuation do not matter. A word scores by the best field
that holds it (`FIELD_SCORES`), times the way in which it matches there (`FIT_SCORES`). A word in
another form counts, as `validating` for `validate` (`names.stems`). The content, of which the first
64 KiB are searched, is read for the words that no other field holds.

A command matches if it holds at least half of the words. Its score is the mean over all words,
times 0.95, plus 0.05 times the share of the name's words that are in the query: so a name that is
the query scores 1. Commands with the same score stand by name. Dependencies are hidden, as in
list_commands.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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

MAX_QUERY_CHARACTERS, MAX_WORDS, MAX_RESULTS = 500, 16, 100
LEAST_SHARE = 0.5
NAME_SHARE = 0.05
INVALID_QUERY = "INVALID_QUERY"
"""The error code of this tool."""

FIELD_SCORES = {"name": 1.0, "title": 0.75, "description": 0.74, "tags": 0.6, "content": 0.4}
"""The score of a word, by the field that holds it.

Two words in the description outweigh one that is half of a name beside one in the content.
"""
FIT_SCORES = {
    "is a word of": 1.0,
    "begins a word of": 0.9,
    "is a form of a word of": 0.85,
    "is part of": 0.8,
}
"""The score by the way in which the word matches there, and the words for that reason."""

_WORD = re.compile(r"[^\W_]+")
_RUN = re.compile(r"\S{1,1000}")


@dataclass(frozen=True, slots=True)
class Arguments:
    """A query, and how many results to return."""

    query: str = argument("Words to search for", code=INVALID_QUERY)
    max_results: int = argument(
        "Maximum number of results", default=10, minimum=1, maximum=MAX_RESULTS
    )


class Match(NamedTuple):
    """A command, and where each word of the query was found: its field, and how it matches."""

    command: Command
    hits: Mapping[str, tuple[str, str]]
    score: float

    def reason(self) -> str:
        """Say which words were found where: `'deploy' begins a word of the name`."""
        hits = self.hits.items()
        return ", ".join(f"{quote(word)} {fit} the {field}" for word, (field, fit) in hits)

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
    words = list(dict.fromkeys(_WORD.findall(_folded(query[: MAX_QUERY_CHARACTERS + 1]))))
    problem = "holds no word to search for" if query.strip() else "is empty"
    if len(query) > MAX_QUERY_CHARACTERS:
        problem, words = f"is longer than {MAX_QUERY_CHARACTERS} characters", []
    if not words:
        raise ToolError(INVALID_QUERY, f"Argument 'query' {problem}")
    with open_directories(context) as (directories, problems):
        catalog = read_catalog(directories, problems, context.budget)
        commands = catalog.commands
        matches = _matches(commands, words[:MAX_WORDS], directories, context.budget)
        # The commands stand by name, and nlargest keeps that order among equals.
        best = nlargest(most, matches, attrgetter("score"))
        catalog.complete &= not context.budget.expired()

    found = [match.command for match in best]
    warnings = catalog.warnings(found)
    notes = [] if catalog.complete else ["the time was up: there may be better ones"]
    all_told = context.hint("{} tells all", "commands/list_commands")
    if len(best) == most:
        raised = f"raise max_results (at most {MAX_RESULTS})"
        remedy = all_told if most == MAX_RESULTS else raised
        notes.append("there may be more" + f": {remedy}" * bool(remedy))
    if large := sum(command.size > HEAD_BYTES for command in commands):
        which = plural(large, "command is", "commands are")
        notes.append(f"{which} searched in the first {HEAD_BYTES >> 10} KiB only")
    among = f"({len(commands)} searched)"
    head = f"{plural(len(best), 'command')} for {quote(query)}, the best first {among}\n"
    if not best:
        head = f"No command matches {quote(query)} {among}{'; ' * bool(all_told)}{all_told}\n"
    rows = [
        f"{match.score:.3f} {match.command.summary(several=several)} [{match.reason()}]\n"
        for match in best
    ]
    last, limit = bracketed([*notes, *warnings_note(warnings)]), context.text_limit()
    text, shown = cut(
        head, rows, lambda shown: last + left_out(len(rows) - shown, limit, all_told), limit
    )
    results = [match.facts("path", "folder") for match in best]
    output = [match.facts(*["folder"] * several) for match in best]
    return Result(
        text=text,
        data={"query": query, "results": results, "searched": len(commands)},
        output={"query": query, "results": output, "searched": len(commands)},
        truncated=shown < len(rows) or not catalog.complete,
        warnings=warnings,
        labels=lambda: command_labels(found),
    )


def _matches(
    commands: Sequence[Command],
    words: Sequence[str],
    directories: Sequence[CommandDirectory],
    budget: Budget,
) -> Iterator[Match]:
    """Yield the commands that hold enough of the `words`, in their order, while the time lasts."""
    by_label = {directory.label: directory for directory in directories}
    for command in budget.within(commands):
        texts = (command.name, command.title, command.description, " ".join(command.tags))
        hits = _hits(words, dict(zip(FIELD_SCORES, texts, strict=False)))
        if (missing := [word for word in words if word not in hits]) and not budget.expired():
            with suppress(PathError):
                _, content = by_label[command.folder].read(command.file, HEAD_BYTES)
                body = parse(content.head, whole=content.whole).body()
                hits |= _hits(missing, {"content": body})
        if len(hits) < LEAST_SHARE * len(words):
            continue
        name_words = _WORD.findall(_folded(command.name))
        share = sum(word in words for word in name_words) / max(len(name_words), 1)
        mean = sum(map(_score, hits.values())) / len(words)
        score = round((1 - NAME_SHARE) * mean + NAME_SHARE * share, 3)
        yield Match(command, {word: hits[word] for word in words if word in hits}, score)


def _hits(words: Sequence[str], texts: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the field of `texts` in which each of `words` matches best, and how."""
    folded = {field: _folded(text) for field, text in texts.items()}
    hits = {}
    for word in words:
        fits = [(field, fit) for field, text in folded.items() if (fit := _fit(word, text))]
        if fits:
            hits[word] = max(fits, key=_score)
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


def _score(hit: tuple[str, str]) -> float:
    field, fit = hit
    return FIELD_SCORES[field] * FIT_SCORES[fit]


def _folded(text: str) -> str:
    """Return `text` in one form, whatever the case and the composition of its characters."""
    if text.isascii():
        return text.lower()
    # A run of combining marks takes time in the square of its length, while no other thread runs.
    return _RUN.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text).casefold()


TOOL = Tool(
    description=(
        "Search the project's slash commands, which are prompts in Markdown, not programs: by name,"
        " title, description, tags and content. Take this where a few words say what is needed."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.COMMANDS,
    categories=("commands", "discovery"),
    settings=Settings,
    table=TABLE,
)

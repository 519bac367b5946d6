"""commands/search_commands: the commands that match a query, the best first.

The query is split into words, whatever their case. A word counts by the best place that holds it
(`SCORES`), also as a part of a longer word. A command matches if it holds at least half of the
words, and its score is the mean over all words. Of those with the same score, the shorter name
comes first. The content, of which the first 64 KiB are searched, counts for the words that are
nowhere else. Dependencies are hidden, as in list_commands.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from backstaff.errors import ErrorCode, PathError, ToolError
from backstaff.frontmatter import MAX_BYTES, parse
from backstaff.render.lines import bracketed, cut, left_out, plural
from backstaff.render.names import quote
from backstaff.tool import Context, Keyword, Result, ResultKind, argument
from backstaff.tools.commands._commands import Command, CommandTool, Directory, open_library

MAX_WORDS, MAX_RESULTS = 16, 100  # of a query that count, and in an answer
SCORES = {"name": 1.0, "description": 0.7, "content": 0.3}

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Arguments:
    """A query, and how many results to return."""

    query: str = argument("Words to search for")
    max_results: int = argument(
        "Maximum number of results", default=10, minimum=1, maximum=MAX_RESULTS
    )


Match = tuple[float, Command, tuple[Keyword, ...]]  # a score, and the places that hold words


def run(arguments: Arguments, context: Context) -> Result:
    """Score every command that is no dependency, and return the best."""
    query, most, limit = arguments.query, arguments.max_results, context.text_limit()
    words = list(dict.fromkeys(_WORD.findall(query.casefold())))[:MAX_WORDS]
    if not words:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Argument 'query' holds no word to search for")
    with open_library(context) as library:
        found = [_match(command, directory, words) for command, directory in library.commands()]
    matches = [match for match in found if match]
    matches.sort(key=lambda one: (-one[0], len(one[1].name), *one[1].order()))
    best = matches[:most]
    notes = library.notes(command for _, command, _ in best)
    all_told = context.hint("{} tells all", "commands/list_commands")
    if len(matches) > most:
        remedy = f"raise max_results (at most {MAX_RESULTS})" if most < MAX_RESULTS else all_told
        notes.append(f"{len(matches) - most} more match" + f": {remedy}" * bool(remedy))
    head = f"{plural(len(best), 'command')} for {quote(query)}, the best first"
    if not best:
        head = "; ".join(filter(None, (f"No command matches {quote(query)}", all_told)))
    text, shown = cut(
        f"{head} ({len(found)} searched)\n",
        [f"{score:.2f} {command} [{', '.join(places)}]\n" for score, command, places in best],
        lambda shown: bracketed(notes) + left_out(len(best) - shown, limit, all_told),
        limit,
    )
    results = [
        command.facts("name", "description") | {"score": score, "matched_in": places}
        for score, command, places in best
    ]
    return Result(
        text=text,
        data={"query": query, "searched": len(found), "results": results},
        truncated=shown < len(best) or library.late,
        warnings=tuple(library.warnings),
    )


def _match(command: Command, directory: Directory, words: Sequence[str]) -> Match | None:
    """Return the match of `command`, or None if it holds fewer than half of the `words`."""
    places = {"name": command.name.casefold(), "description": command.description.casefold()}
    if not all(any(word in text for text in places.values()) for word in words):
        with suppress(PathError):  # it has vanished since
            _, content = directory.read(command.name, MAX_BYTES)
            places["content"] = parse(content.head, whole=content.whole).body().casefold()
    # The places stand in the order of their scores.
    hits = [next((place for place in places if word in places[place]), "") for word in words]
    if 2 * hits.count("") > len(words):
        return None
    score = sum(SCORES.get(hit, 0.0) for hit in hits) / len(words)
    return round(score, 3), command, tuple(Keyword(place) for place in SCORES if place in hits)


TOOL = CommandTool(
    description=(
        "Search the project's slash commands, which are prompts in Markdown, not programs: by name,"
        " description and content. Take this where a few words say what is needed."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.COMMANDS,
)

"""The lines that stand for a long definition, and those of a part that match words (contract 007).

A long class shows its own lines and a row for each member. A long function shows its beginning, and
the lines around the one that was asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from backstaff.contents.dialects import BadRegexp, translated
from backstaff.contents.outlines import lines_matching
from backstaff.errors import ErrorCode, ToolError
from backstaff.render.lines import plural, size
from backstaff.render.names import quote
from backstaff.structure.language import CONTAINERS
from backstaff.structure.outline import Definition
from backstaff.tool import Context
from backstaff.tools.workspace._window import AROUND, BEGINNING, LONG, NEAR, WHOLE_SHARE, File


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The numbers of some `lines` of a part, the `members` between them, and words `about` both."""

    lines: Sequence[int]
    members: Sequence[Definition]
    about: str


def excerpt_of(
    file: File, lines: range, definition: Definition | None, around: int | None, limit: int
) -> Excerpt | None:
    """Return the lines that stand for the `lines` of `definition`; None if all are shown.

    `around` is the line that was asked for, and `limit` that of the answer in bytes.
    """
    if definition is None or file.outline is None or len(lines) <= LONG:
        return None
    text = file.text.split("\n")
    definitions = file.outline.definitions
    members = [one for one in definitions if file.outline.above(one)[-1:] == [definition]]
    if members or definition.kind in CONTAINERS:
        within = {at for one in members for at in range(one.first_line, one.last_line + 1)}
        own = [at for at in lines if at not in within and text[at - 1].strip()]
        return Excerpt(own, members, "its own lines, and the lines of its members")
    written = "\n".join(text[lines.start - 1 : lines.stop - 1])
    if size(written) < limit // WHOLE_SHARE:
        return None
    shown = {*lines[: definition.line - lines.start + BEGINNING]}
    about = "its beginning"
    if around is not None:
        shown |= {at for at in range(around - AROUND, around + AROUND + 1) if at in lines}
        about += f", and lines around {around}"
    return Excerpt(sorted(shown), (), about)


def matching(
    file: File, lines: range, definition: Definition | None, pattern: str, context: Context
) -> Excerpt:
    """Return those of `lines` that `pattern` matches, with the lines near them and the head.

    Raises `ToolError` if it is no regular expression, or takes too long.
    """
    if file.whole.line_count and not file.text:
        problem = f"Path {quote(file.source.path)} is too large for 'match'"
        remedy = context.hint(": {} searches it", "workspace/regexp_search")
        raise ToolError(ErrorCode.INVALID_ARGUMENT, problem + remedy)
    try:
        words = translated(pattern)
        ignore_case = pattern == pattern.lower()
        found = lines_matching(file.text, words, context.budget, ignore_case=ignore_case)
    except BadRegexp as error:
        problem = f"Argument 'match' is no regular expression: {error}"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, problem) from error
    numbers = [at for at in found if at in lines]
    shown = {near for at in numbers for near in range(at - NEAR, at + NEAR + 1) if near in lines}
    shown |= {definition.line} if definition else set()
    count = plural(len(numbers), "line") if numbers else "no line"
    return Excerpt(sorted(shown), (), f"{count} for {quote(pattern)}")

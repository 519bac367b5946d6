"""Matches of a search as text for a model: each file's path once, then its lines.

    src/a.py
    in Server.run 30-60:
    40- before it
    41: the line
    57:5120: …a long line, cut around the match in column 5120…
    70-75: def stop(
    comments: 12 39
    imports: 3 14

A path that looks like one of these lines is quoted. A line with several matches stands once, unless
it was cut. The name of a definition and its lines, with the comments and decorators above it, stand
once, above the first match in it: a match is in the innermost definition whose lines hold it, and
in none if no lines above it do. The line of a definition has its last line, too, and stands below
the definition around it. Of many matches in one definition, the last row counts the later ones and
lists their lines: `+3 more in it: 80 81 92`. Among many matches, those of a file that stand in
imports share a row below the others, unless the word `import` itself matches. Matches in tests, in
comments and docstrings, and in headed text such as Markdown share rows, too, if any are in other
code: `tests: 322 336` or `docs: 58`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice

from backstaff.contents.regexp_worker import Match
from backstaff.contents.scan import Hits
from backstaff.project.file_kinds import is_test_file
from backstaff.render.lines import shortened, size, some_of
from backstaff.render.names import literal, show, visible
from backstaff.structure.headings import HEADINGS
from backstaff.structure.language import CONTAINERS
from backstaff.structure.outline import Definition, Outline
from backstaff.tools.workspace._symbols import lines_of
from backstaff.tools.workspace._wanted import in_test
from backstaff.tools.workspace._window import first_bytes

_LIKE_A_ROW = re.compile(r"\d+[:-]|--|\+\d|(?:imports|tests|docs|comments): |in .*:\Z")
_IMPORTS = {
    language: re.compile(pattern)
    for pattern, languages in {
        r"(?:from +\S+ +)?import\b": ("python",),
        r"import\b(?!\s*\()": ("javascript", "typescript", "java", "kotlin", "swift"),
        r"import +\"": ("go",),
        r"(?:pub(?:\(\w+\))? +)?use\b": ("rust",),
        r"#\s*include\b": ("c", "cpp"),
        r"using +[\w.]+;": ("csharp",),
        r"require(?:_relative)? ": ("ruby",),
        r"\(require '": ("elisp",),
    }.items()
    for language in languages
}
"""Lines that import, by language."""
_AIMED = re.compile(r"\b(?:import|from|use|include|using|require(?:_relative)?)\b")
"""A word in a match, by which the pattern aims at imports."""
IMPORTS, TESTS, DOCS, COMMENTS = "imports", "tests", "docs", "comments"
"""The words that begin a row for several matches."""
MOST = 300
"""Maximum number of bytes of a line; a longer one is cut around its match."""
SHORT = 30
"""Maximum number of lines of a class that is shown whole around a match in it."""
AUTOMATIC, SOME, FEW, ROWS = 15, 5, 10, 20
"""Lines on each side of the only match; on each side of one of at most `FEW`; and in all."""
TO_ENDS, ENDS_SHARE, WANTED_SHARE = 3, 4, 2
"""Maximum number of matches that are shown with all of the definition around them, where that takes
at most this part, a quarter, of the limit: with a half, the mean answer had 40 % more bytes. Where
definitions are searched for, it may take a half."""
MOST_IN_ONE, MOST_LISTED, LAST = 8, 20, 2
"""Maximum number of matches in one definition that are shown where no lines are shown around them,
and of the others' lines that are listed. Of at most two others the lines are shown themselves."""

ENCLOSING = ("qualified", "line", "last_line")
"""The data of the definition around a match."""

Row = tuple[str, str]
"""The text of a match, and the rows that matches share, for a page that ends there."""
Item = tuple[dict[str, object], dict[str, int]]
"""A match or a file for the data, and its parts that differ in the JSON."""


@dataclass(frozen=True, slots=True)
class Around:
    """The lines to show `before` and `after` a match.

    With `within` these are lines of the definition it is in, not blank at the ends, and with
    `to_ends` all of them.
    """

    before: int = 0
    after: int = 0
    within: bool = False
    to_ends: bool = False


def path_in_text(path: str) -> str:
    """Return `path` in a form that no reader can take for a line of a file."""
    return literal(path) if _LIKE_A_ROW.match(path) else show(path)


def items(
    found: Sequence[Hits], outlines: Mapping[str, Outline], *, enclosing: bool
) -> Iterator[Item]:
    """Yield each match for the data, and its parts that differ in the JSON.

    With `enclosing`, a match has the definition around it; `outlines` are by path.
    """
    for one in found:
        made = outlines.get(one.path)
        for number, start, end, left, _, part, units in one.matches:
            item: dict[str, object] = {
                "path": one.path,
                "line": number,
                "column": start + 1,
                "match": part[start - left : end - left],
                "line_text": part,
            }
            if enclosing:
                inner = made.around(number) if made else None
                item["enclosing"] = inner and {key: getattr(inner, key) for key in ENCLOSING}
            yield item, {"column": units + 1}


def rows_within(
    found: Sequence[Hits],
    outlines: Mapping[str, Outline],
    around: Around | None,
    room: int,
    most: int,
) -> tuple[list[Row], bool]:
    """Return the row of each match, and whether lines around the matches have no `room`.

    Where `around` is None, few matches have lines around them, as far as there is room. Whole
    definitions take at most `most` bytes of it.
    """

    def rows(around: Around, folded: Sequence[Mapping[int, str]]) -> list[Row]:
        return [
            row
            for one, words in zip(found, folded, strict=True)
            for row in _rows_and_ends(one, around, outlines.get(one.path), words)
        ]

    count = sum(len(one.matches) for one in found)
    none: list[dict[int, str]] = [{}] * len(found)
    folds = count > FEW and around in (None, Around())
    bare = rows(around or Around(), _folded(found, outlines) if folds else none)
    if around or not 0 < count <= FEW:
        return bare, False
    lines = AUTOMATIC if count == 1 else min(SOME, ROWS // count)
    beside = Around(lines, lines, within=True)
    whole = rows(replace(beside, to_ends=count <= TO_ENDS), none)
    if sum(size(row) for row, _ in whole) <= min(room, most):
        return whole, False
    some = rows(beside, none)
    has_room = sum(size(row) for row, _ in some) <= room
    return (some if has_room else bare), not has_room


def _folded(found: Sequence[Hits], outlines: Mapping[str, Outline]) -> Sequence[Mapping[int, str]]:
    """Return the matches of each file that share a row: the word that begins it, by their numbers.

    Those in tests and in headed text do so only if other code has matches.
    """
    folded, has_code = list[dict[int, str]](), False
    for one in found:
        made, words = outlines.get(one.path), dict[int, str]()
        for position, match in enumerate(one.matches):
            number, start, end, left, _, part, _ = match
            if is_test_file(one.path) or (made and in_test(number, made)):
                words[position] = TESTS
            elif made and made.language in HEADINGS:
                words[position] = DOCS
            elif made and made.in_comment(number):
                words[position] = COMMENTS
            elif made and not (left or made.around(number)):
                pattern = _IMPORTS.get(made.language)
                if pattern and pattern.match(part) and not _AIMED.search(part, start, end):
                    words[position] = IMPORTS
        has_code = has_code or (made is not None and len(words) < len(one.matches))
        folded.append(words)
    if has_code:
        return folded
    return [{at: word for at, word in words.items() if word == IMPORTS} for words in folded]


def _rows_and_ends(
    found: Hits, around: Around, outline: Outline | None, folded: Mapping[int, str]
) -> Iterator[Row]:
    """Yield the row of each match. Those `folded` under a word share one below the others."""
    others = [match for at, match in enumerate(found.matches) if at not in folded]
    rows = _rows_of(replace(found, matches=others), around, outline)
    head, shared = f"{path_in_text(found.path)}\n", dict[str, dict[int, None]]()
    for position, match in enumerate(found.matches):
        row = ""
        if word := folded.get(position):
            shared.setdefault(word, {})[match[0]] = None  # each line is shown once
        else:
            row, head = next(rows), ""
        end = "".join(
            f"{word}: {some_of(map(str, lines), len(lines), most=MOST_LISTED)}\n"
            for word, lines in shared.items()
        )
        end = end and head + end
        yield (row, end) if position + 1 < len(found.matches) else (row + end, "")


def _rows_of(found: Hits, around: Around, outline: Outline | None) -> Iterator[str]:
    """Yield the text of each match, with the file's path before the first, and lines `around` it.

    It is "" for a match that the text of one before shows.
    """
    lines = _lines(found) if around != Around() else []
    numbers = [match[0] for match in found.matches]
    holders = [_holder(number, outline) for number in numbers]
    last = 0  # the last line that was shown
    shown = range(0)  # the part of the last line with a match that stands in text
    head = f"{path_in_text(found.path)}\n"
    said = set[Definition | None]()  # those whose lines are shown, by a heading or their own line
    inner: Definition | None = None
    in_one, hidden = 0, list[int]()

    def named(position: int) -> Definition | None:
        holder, own = holders[position]
        return own if own in said else holder  # comments above its own line have said its name

    for position, match in enumerate(found.matches):
        number, start, end = match[:3]
        holder, own = named(position), holders[position][1]
        in_one = in_one + 1 if holder is inner else 1
        inner = holder
        if number == last and start >= shown.start and end <= shown.stop:
            yield ""
            continue
        same = (numbers[at] for at in range(position, len(numbers)) if named(at) is holder)
        is_many = hidden or (in_one > MOST_IN_ONE and len([*islice(same, LAST + 1)]) > LAST)
        if not lines and holder and is_many:
            hidden.append(number)
            if position + 1 < len(numbers) and named(position + 1) is holder:
                yield ""
                continue
            few = [*map(str, dict.fromkeys(hidden))]
            few[MOST_LISTED:] = ["…"] * (len(few) > MOST_LISTED)
            yield f"+{len(hidden)} more in it: {' '.join(few)}\n"
            hidden = []
            continue
        if holder and holder not in said:
            head += f"in {lines_of(holder)}:\n"
        said |= {holder, own} - {None}
        text, shown = line(match, own.last_line if own else 0)
        first, final = _ends(number, around, own or holder, lines)
        before = range(max(last + 1, first, 1), number)
        later = numbers[position + 1] if position + 1 < len(numbers) else final + 1
        after = range(number + 1, min(final + 1, later, len(lines) + 1))
        is_apart = lines and last and not head and before.start > last + 1
        gap = "--\n" if is_apart else ""
        pieces = [head, gap, *_context(lines, before), text, *_context(lines, after)]
        yield "".join(pieces)
        head, last = "", max(number, after.stop - 1)


def _ends(
    number: int, around: Around, inner: Definition | None, lines: Sequence[str]
) -> tuple[int, int]:
    """Return the first and the last line to show `around` line `number` of the definition `inner`.

    The first one may be before the first of all, and the last one after the last.
    """
    first, final = number - around.before, number + around.after
    if not around.within:
        return first, final
    if inner:
        is_short = inner.last_line - inner.first_line < SHORT
        is_whole = around.to_ends and (inner.kind not in CONTAINERS or is_short)
        first = inner.first_line if is_whole else max(first, inner.first_line)
        final = inner.last_line if is_whole else min(final, inner.last_line)
    shown = [at for at in range(max(first, 1), final + 1) if "".join(lines[at - 1 : at]).strip()]
    return min([number, *shown]), max([number, *shown])


def _holder(number: int, outline: Outline | None) -> tuple[Definition | None, Definition | None]:
    """Return the definition to name above line `number`, and the one that begins there."""
    inner = outline.around(number) if outline else None
    if outline is None or inner is None or inner.line != number:
        return inner, None
    above = outline.above(inner)
    return above[-1] if above else None, inner


def _lines(found: Hits) -> Sequence[str]:
    return found.text.decode().removesuffix("\n").split("\n")


def lines_near(
    found: Sequence[Hits], around: Around | None, paths: AbstractSet[object]
) -> list[dict[str, object]]:
    """Return the lines `around` the matches for the data, of the files with these `paths`."""
    if around is None or not (around.before or around.after):
        return []
    near: list[dict[str, object]] = []
    for one in (one for one in found if one.path in paths):
        lines = _lines(one)
        numbers = {
            number
            for at, *_ in one.matches
            for number in range(max(1, at - around.before), min(len(lines), at + around.after) + 1)
        }
        told = [
            {"line": number, "text": shortened(lines[number - 1], MOST)}
            for number in sorted(numbers)
        ]
        near.append({"path": one.path, "lines": told})
    return near


def _context(lines: Sequence[str], numbers: range) -> Iterator[str]:
    for number in numbers:
        yield f"{number}- {shortened(visible(lines[number - 1]), MOST)}".rstrip() + "\n"


def line(match: Match, to: int = 0) -> tuple[str, range]:
    """Return the row of `match`, and the columns from 0 that it shows.

    If `to` is not 0, the line begins a definition that ends at the line `to`.
    """
    number, start, end, left, length, part, _ = match
    lines = f"{number}-{to}" if to > number else f"{number}"
    if len(part) == length and size(part) <= MOST:
        return f"{lines}: {visible(part)}\n", range(length + 1)
    # The match comes first, then half of the room is for the text before it.
    middle = first_bytes(part[start - left : end - left], MOST)
    room = MOST - size(middle)
    before = first_bytes(part[: start - left][::-1], room // 2)[::-1]
    after = first_bytes(part[start - left + len(middle) :], room - size(before))
    before = first_bytes(part[: start - left][::-1], room - size(after))[::-1]
    shown = range(start - len(before), start + len(middle) + len(after))
    first = "…" if shown.start else ""
    last = "…" if shown.stop < length else ""
    cut = visible(f"{before}{middle}{after}")
    return f"{lines}:{start + 1}: {first}{cut}{last}\n", shown

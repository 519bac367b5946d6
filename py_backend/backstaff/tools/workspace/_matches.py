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
the definition around it. Among more than `FEW` matches, those of a file that stand in imports share
a row below the others, unless the word `import` itself matches. Matches in tests, in comments and
docstrings, and in headed text such as Markdown share rows, too, if any are in other code:
`tests: 322 336` or `docs: 58`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from backstaff.contents.regexp_worker import Match
from backstaff.contents.scan import Hits
from backstaff.file_kinds import is_test_file
from backstaff.render.lines import first_bytes, shortened, size, some_of
from backstaff.render.names import literal, show, visible
from backstaff.structure.headings import HEADINGS
from backstaff.structure.outline import Definition, Outline
from backstaff.tools.workspace._pages import Row
from backstaff.tools.workspace._symbols import lines_of

_LIKE_A_ROW = re.compile(r"\d+[:-]|--|\+\d|(?:imports|tests|docs|comments): |in .*:\Z")
_IMPORT = re.compile(  # lines that import, in any language
    r"(?:from +\S+ +)?import\b(?!\s*\()|#\s*include\b|require(?:_relative)? |\(require '"
    r"|(?:(?:pub(?:\(\w+\))? +)?use|using) +[\w:{}., *]+;"
)
# A word in a match, by which the pattern aims at imports.
_AIMED = re.compile(r"\b(?:import|from|use|include|using|require(?:_relative)?)\b")
IMPORTS, TESTS, DOCS, COMMENTS = "imports", "tests", "docs", "comments"  # begin shared rows
MOST = 300  # bytes of a line; a longer one is cut around its match
ALONE, ONE_OF_THREE, THREE = 15, 5, 3  # lines beside the only match, and one of up to three
FEW, MOST_LISTED = 10, 20  # matches from which on some share a row, and lines in such a row
WHOLE_SHARE = 2  # up to three definitions stand whole if they take a half of the limit
ANY, WITHIN, WHOLE = range(3)  # lines around a match: any, its definition's, all it begins
ENCLOSING = ("qualified", "line", "last_line")  # the data of the definition around a match
Item = tuple[dict[str, object], dict[str, int]]  # for the data, and what differs in the JSON


def path_in_text(path: str) -> str:
    """Return `path` in a form that no reader can take for a line of a file."""
    return literal(path) if _LIKE_A_ROW.match(path) else show(path)


def items_of(found: Sequence[Hits], outlines: Mapping[str, Outline]) -> Iterator[Item]:
    """Yield each match with the definition around it; `outlines` are by path."""
    for one in found:
        made = outlines.get(one.path)
        for number, start, end, left, _, part, units in one.matches:
            inner = made.around(number) if made else None
            item: dict[str, object] = {
                "path": one.path,
                "line": number,
                "column": start + 1,
                "match": part[start - left : end - left],
                "line_text": part,
                "enclosing": inner and {key: getattr(inner, key) for key in ENCLOSING},
            }
            yield item, {"column": units + 1}


def rows_of(
    found: Sequence[Hits], made: Mapping[str, Outline], lines: int | None, limit: int
) -> list[Row]:
    """Return the row of each match, with so many `lines` around it; outlines are `made`.

    If `lines` is None, up to three matches have lines of the definition around them as far as they
    take no more than `limit` bytes; those that begin one have all of it if it takes a half.
    """
    count = sum(len(one.matches) for one in found)
    if lines is None and 0 < count <= THREE:
        around = ALONE if count == 1 else ONE_OF_THREE
        for which, most in (WHOLE, limit // WHOLE_SHARE), (WITHIN, limit):
            texts = [
                row for one in found for row in _rows_of(one, made.get(one.path), around, which)
            ]
            if sum(map(size, texts)) <= most:
                return list(map(Row, texts))
    is_many = count > FEW and not lines
    shared = [
        [_word(one.path, each, made.get(one.path)) if is_many else "" for each in one.matches]
        for one in found
    ]
    if not any("" in words and one.path in made for one, words in zip(found, shared, strict=True)):
        # No other code has matches.
        shared = [[word * (word == IMPORTS) for word in words] for words in shared]
    return [
        row
        for one, words in zip(found, shared, strict=True)
        for row in _with_ends(one, made.get(one.path), lines or 0, words)
    ]


def _word(path: str, match: Match, made: Outline | None) -> str:
    """Return the word of the row that `match` shares with others; "" if it stands alone."""
    number, start, end, left, _, part, _ = match
    inner = made.around(number) if made else None
    holders = (*made.above(inner), inner) if made and inner else ()
    if is_test_file(path) or any(one.is_test for one in holders):
        return TESTS
    if made is None:
        return ""
    if made.language in HEADINGS:
        return DOCS
    if made.in_comment(number):
        return COMMENTS
    is_import = not (left or inner) and _IMPORT.match(part) and not _AIMED.search(part, start, end)
    return IMPORTS if is_import else ""


def _with_ends(
    found: Hits, outline: Outline | None, around: int, shared: Sequence[str]
) -> Iterator[Row]:
    """Yield the row of each match. Those with one word of `shared` share a row below the others."""
    others = [match for match, word in zip(found.matches, shared, strict=True) if not word]
    rows = _rows_of(replace(found, matches=others), outline, around)
    head, listed = f"{path_in_text(found.path)}\n", dict[str, dict[int, None]]()
    for number, (match, word) in enumerate(zip(found.matches, shared, strict=True), 1):
        row = ""
        if word:
            listed.setdefault(word, {})[match[0]] = None  # each line is shown once
        else:
            row, head = next(rows), ""
        end = head * bool(listed) + "".join(
            f"{word}: {some_of(map(str, lines), len(lines), most=MOST_LISTED)}\n"
            for word, lines in listed.items()
        )
        if number < len(shared):
            yield Row(row, end)
        else:
            more = f"+{found.folded} more in this file: give it as root_path\n"
            yield Row(row + end + more * bool(found.folded), worth=1 + found.folded)


def _rows_of(found: Hits, outline: Outline | None, around: int, which: int = ANY) -> Iterator[str]:
    """Yield the text of each match with lines `around` it; "" if one before shows it, too."""
    lines = found.text.decode().removesuffix("\n").split("\n") if around else []
    numbers = [match[0] for match in found.matches]
    head = f"{path_in_text(found.path)}\n"
    last, columns = 0, range(0)  # the last line that was shown, and its part
    named = set[Definition]()  # those whose name is shown, by a heading or their own line
    for position, match in enumerate(found.matches):
        number, start, end = match[:3]
        if number == last and start >= columns.start and end <= columns.stop:
            yield ""
            continue
        # `inner` is the definition named above the line, and `own` the one that begins on it.
        inner, own = outline.around(number) if outline else None, None
        if outline and inner and inner.line == number:
            own = inner
            if own not in named:  # else a comment above its own line has said its name
                inner = next(reversed(outline.above(own)), None)
        heading = f"in {lines_of(inner)}:\n" if inner and inner not in named else ""
        named |= {one for one in (inner, own) if one}
        text, columns = line(match, own.last_line if own else 0)
        first, final = _ends(number, around, which, own or inner, lines)
        later = numbers[position + 1] if position + 1 < len(numbers) else final + 1
        before = range(max(last + 1, first, 1), number)
        after = range(number + 1, min(final + 1, later, len(lines) + 1))
        gap = "--\n" if lines and last and not (head or heading) and before.start > last + 1 else ""
        yield "".join((head, heading, gap, _context(lines, before), text, _context(lines, after)))
        head, last = "", max(number, after.stop - 1)


def _ends(
    number: int, around: int, which: int, inner: Definition | None, lines: Sequence[str]
) -> tuple[int, int]:
    """Return the first and the last line to show; there may be none. `inner` has no blank ones."""
    first, final = number - around, number + around
    if which == ANY:
        return first, final
    if inner:
        is_whole = which == WHOLE and number == inner.line
        first = inner.first_line if is_whole else max(first, inner.first_line)
        final = inner.last_line if is_whole else min(final, inner.last_line)
    shown = [at for at in range(max(first, 1), final + 1) if "".join(lines[at - 1 : at]).strip()]
    return min([number, *shown]), max([number, *shown])


def _context(lines: Sequence[str], numbers: range) -> str:
    rows = (f"{at}- {shortened(visible(lines[at - 1]), MOST)}".rstrip() for at in numbers)
    return "".join(f"{row}\n" for row in rows)


def line(match: Match, to: int = 0) -> tuple[str, range]:
    """Return the row of `match`, which begins a definition up to line `to`; and its columns."""
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
    first, last = "…" * bool(shown.start), "…" * (shown.stop < length)
    return f"{lines}:{start + 1}: {first}{visible(before + middle + after)}{last}\n", shown

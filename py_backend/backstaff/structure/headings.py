"""The sections of Markdown, Org and reStructuredText: a heading and all lines under it."""

import re
from collections.abc import Iterator, Sequence

from backstaff.structure.language import LONGEST
from backstaff.structure.walker import Block

Heading = tuple[int, int, str]
"""The line of a heading, its level, and its text."""
_HASHES = re.compile(r" {0,3}+(#{1,6}+)(?:[ \t]++(.*+))?$")
_FENCE = re.compile(r"\s*+(`{3,}+(?!.*`)|~{3,}+)(.*+)")
_UNDERLINE = re.compile(r"(?:==+|--+)$")
_NO_TITLE = " \t>-*#|`"
"""The first character of a line that is no title. An empty line is none either."""
_STARS = re.compile(r"(\*++) (.*+)")
_ADORNMENT = re.compile(r"([=\-~^\"'`#*+.:_<>])\1*+$")


def sections(text: str, language: str) -> list[Block]:
    """Return the sections of `text` in the order of their lines."""
    lines = [line[:LONGEST].rstrip() for line in text.split("\n")]
    result: list[Block] = []
    above: list[tuple[int, Block]] = []
    for number, level, name in [*HEADINGS[language](lines), (len(lines) + 1, 0, "")]:
        last = number - 1
        while above and above[-1][0] >= level:
            block = above.pop()[1]
            while last > block.line and not lines[last - 1]:
                last -= 1
            block.last = last
        result.append(Block(name, "heading", number, number, name, first=number))
        above.append((level, result[-1]))
    return result[:-1]


def _markdown(lines: Sequence[str]) -> Iterator[Heading]:
    fence = before = ""
    in_front_matter = in_comment = False
    for number, line in enumerate(lines, 1):
        mark = None if in_comment else _FENCE.match(line)
        if in_comment or (not fence and line.lstrip().startswith("<!--")):
            in_comment = "-->" not in line
            before = ""
            continue
        if line == "---" and (number == 1 or in_front_matter):
            in_front_matter = not in_front_matter
        elif in_front_matter:
            pass
        elif mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not mark[2]:
            fence = ""
        elif not fence and (found := _HASHES.match(line)):
            yield number, len(found[1]), (found[2] or "").strip().rstrip("#").rstrip()
        elif not fence and before[:1] not in _NO_TITLE and _UNDERLINE.match(line):
            yield number - 1, 1 if line[0] == "=" else 2, before.strip()
        before = "" if fence or mark else line


def _org(lines: Sequence[str]) -> Iterator[Heading]:
    for number, line in enumerate(lines, 1):
        if found := _STARS.match(line):
            yield number, len(found[1]), found[2].strip()


def _rst(lines: Sequence[str]) -> Iterator[Heading]:
    """Yield the titles that have a line of marks below, and perhaps one above.

    Their style has a level by the order in which the styles come.
    """
    levels = dict[tuple[str, bool], int]()
    rows = zip(["", *lines], lines, lines[1:], strict=False)
    for number, (above, title, line) in enumerate(rows, 1):
        is_title = title.strip() and not _ADORNMENT.match(title)
        if is_title and len(line) > 1 and _ADORNMENT.match(line):
            over = above == line
            if over or (not title[0].isspace() and len(line) >= len(title) - 1):
                yield number, levels.setdefault((line[0], over), len(levels) + 1), title.strip()


HEADINGS = {"markdown": _markdown, "org": _org, "rst": _rst}

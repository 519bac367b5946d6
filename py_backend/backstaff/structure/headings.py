"""The sections of Markdown, Org and reStructuredText: a heading and all lines under it."""

from backstaff.structure.language import LONGEST, finder
from backstaff.structure.walker import Block

_END = r"[ \t\r]*+$"
_ADORNMENT = r"(?:([=\-~^\"'`#*+.:_<>])\{0}+)" + _END
HEADINGS = {  # patterns for a heading, and for what has none
    # Front matter, comments and fenced text have no headings; the last two may lack an end.
    "markdown": rf"\A---{_END}(?s:.*?)\n---{_END}|[ \t]*+<!--(?s:.*?)(?:-->.*|\Z)"
    rf"|[ \t]*+(?P<fence>`{{3,}}+(?!.*`)|~{{3,}}+)"
    rf"(?:.*+\n(?![ \t]*+(?P=fence)[`~]*+{_END}))*.*+\n?.*+"
    r"| {0,3}+(?P<mark>#{1,6}+)(?!\S)(?P<title>.*+)"
    rf"|(?![ \t>\-*#|`])(?P<over>.++)(?=\n(?P<under>=|-)(?P=under)*+{_END})",
    "org": r"(?P<mark>\*++) (?P<title>.*+)",
    "rst": rf"(?:(?P<over>{_ADORNMENT.format(2)})\n)?(?!{_ADORNMENT.format(3)})"
    rf"(?P<title>(?![^\S\n]*+$).++)(?=\n(?P<mark>{_ADORNMENT.format(6)}))",
}


def sections(text: str, language: str) -> list[Block]:
    """Return the sections of `text` in the order of their lines."""
    styles, result, above = dict[tuple[str, bool], int](), list[Block](), list[Block]()
    number, place = 1, 0
    for found in (*finder(rf"^(?:{HEADINGS[language]})")(text), None):
        level, start, name = 0, len(text), ""
        if found:
            mark, title, over = found["mark"], found["title"], found.groupdict().get("over")
            if (title := over if title is None else title) is None:
                continue
            title = title.rstrip()[:LONGEST]
            if language == "rst":  # a style has a level by the order in which the styles come
                is_boxed = over == mark
                if not is_boxed and (title[0].isspace() or len(mark) < len(title) - 1):
                    continue
                level = styles.setdefault((mark[0], is_boxed), len(styles) + 1)
            else:
                level = len(mark) if mark else 1 + (found["under"] == "-")
            start = found.start("title" if language == "rst" else 0)
            name = title.strip().rstrip("#" if language == "markdown" else "").rstrip()
        last = number + text[place:start].rstrip().count("\n")
        number, place = number + text.count("\n", place, start), start
        while above and above[-1].indent >= level:
            above.pop().last = last
        if found:
            above.append(Block(name, "heading", number, number, name, first=number, indent=level))
            result.append(above[-1])
    return result

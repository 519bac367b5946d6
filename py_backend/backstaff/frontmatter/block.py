"""A Markdown file's front matter and body.

A block that holds nothing but `key: plain scalar` lines, as most do, is read line by line, which
costs a hundredth of what the YAML library does and comes to the same. Any other goes through the
library. One that is broken is not lost: what can be made out line by line is taken, with a warning.
"""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from backstaff.frontmatter.values import Value, plain

MAX_CHARACTERS = 64 * 1024

_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_KEY = "[A-Za-z_][A-Za-z0-9_-]{0,99}"
# Neither blank nor break nor anything that YAML's reader refuses.
_VISIBLE = r"[^\x00-\x20\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_WORD = rf"(?:{_VISIBLE}:#]|:(?=[^ \n]))(?:{_VISIBLE}:]|:(?=[^ \n]))*+"
_PLAIN = rf"(?=[^-?:,\[\]{{}}#&*!|>'\"%@`]){_WORD}(?: +{_WORD})*+"
_SIMPLE = re.compile(rf"(?:({_KEY}):(?: +({_PLAIN}))?|#(?: |{_VISIBLE}])*+)? *")
_ANY_PAIR = re.compile(rf"({_KEY})[ \t]*:(?:[ \t]+(.*))?\Z")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_QUOTED = re.compile(r"(['\"])(.*)\1")
_LIST = re.compile(r"\[(.*)\]")


@dataclass(frozen=True, slots=True)
class Document:
    """A file taken apart.

    `warning` tells what is wrong with it, or is empty. `unfinished` tells that the front matter
    did not end in what was given: more of the file may say more.
    """

    fields: Mapping[str, Value] = field(default_factory=dict)
    body: str = ""
    warning: str = ""
    unfinished: bool = False


def parse(head: bytes, *, whole: bool = True) -> Document:
    """Take apart the first bytes of a file; WHOLE tells that they are all. Never raises."""
    if head.startswith(_UTF_16):
        return Document(warning="the text is UTF-16, not UTF-8")
    text, warning = _decoded(head, whole=whole)
    opening = _FENCE.match(text)
    if opening is None or opening.end() == len(text):
        return Document(body=text, warning=warning)
    start = opening.end() + 1
    closing = _FENCE.search(text, start, start + MAX_CHARACTERS)
    if closing is None:
        return _unclosed(text, start, whole=whole)
    body = text[closing.end() + 1 :]
    fields, problem = _fields(text[start : closing.start()])
    return Document(fields, body, problem or warning)


def _decoded(head: bytes, *, whole: bool) -> tuple[str, str]:
    """HEAD as text with plain line ends, and a warning; half a character at its end is dropped."""
    warning = ""
    try:
        text, _ = codecs.utf_8_decode(head, "strict", whole)
    except UnicodeDecodeError as error:
        text, _ = codecs.utf_8_decode(head, "replace", whole)
        warning = f"the text is not UTF-8 at byte {error.start}"
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removeprefix("\ufeff"), warning


def _unclosed(text: str, start: int, *, whole: bool) -> Document:
    """Without an end it may be no front matter at all but a text that begins with a rule."""
    fields = _made_out(text[start : start + MAX_CHARACTERS])
    cut = not whole or len(text) - start > MAX_CHARACTERS
    end = "within 64 KiB" if cut else "by a line ---"
    warning = f"the front matter is not closed {end}"
    return Document(fields, "" if fields or cut else text, warning, unfinished=not whole)


def _fields(block: str) -> tuple[Mapping[str, Value], str]:
    """What BLOCK says, and what is wrong with it."""
    if (simple := scanned(block)) is not None:
        return simple, ""
    from backstaff.frontmatter.events import Unreadable, mapping

    try:
        return mapping(block), ""
    except Unreadable as error:
        return _made_out(block), f"the front matter is no YAML that is read here: {error}"


def scanned(block: str) -> Mapping[str, Value] | None:
    """What BLOCK says if it is simple, else None: the YAML library would say the same."""
    fields: dict[str, Value] = {}
    for line in block.split("\n"):
        match = _SIMPLE.fullmatch(line)
        if match is None:
            return None
        key, value = match.groups()
        if key:
            fields[key] = plain(value or "")
    return fields


def _made_out(block: str) -> Mapping[str, Value]:
    """What those lines of a broken BLOCK say that look like pairs."""
    matches = (_ANY_PAIR.match(line) for line in block.split("\n"))
    return {match[1]: _guessed((match[2] or "").strip()) for match in matches if match}


def _guessed(text: str) -> Value:
    if match := _QUOTED.match(text):
        return match[2]
    if match := _LIST.match(text):
        return tuple(item.strip(" \t'\"") for item in match[1].split(",") if item.strip())
    return plain(_COMMENT.sub("", text).rstrip())

"""The process that matches a regular expression. It can be killed, because `re` has no deadline.

`contents.regexp` starts it, talks to it, and kills it. It gets no other code of ours than that of
`requirements` and of this module, so both import only the standard library. It opens no file. A
message in either direction is a length in four bytes and a value by `marshal`:

    ("compile", KEY, PATTERN, IGNORE_CASE, SECONDS)          -> ("ok", None)
    ("search", KEYS, SIZES, TEXTS, OUTPUT, SKIPPED, MOST, SECONDS)
                                                -> ("ok", (UNREAD, NUMBERS, OTHERS)),
                                        then for each of NUMBERS ("ok", (COUNT, MATCHES))
    either, if the pattern cannot be used             -> ("bad", (REASON, POSITION or None))

KEY is a number that a pattern keeps until another one gets it. TEXTS are the bytes of several
files, with a newline between two; None if they are in the shared memory. SIZES are their lengths.
NUMBERS are those of the texts in which a line can match the first of KEYS, and OTHERS those in
which a line can match another one. UNREAD has numbers and reasons of those that are no text. After
SECONDS the kernel ends this process, even if nobody is left who could.
"""

import marshal
import mmap
import re
import signal
import sys
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate, chain, groupby, islice
from operator import itemgetter
from typing import Any

from backstaff.contents.requirements import Required, in_bytes, parsed_by_re

MEMORY = 1 << 30
"""Maximum number of bytes for a pattern, unless the limit of the system is lower.

Some patterns need a hundred for each character of a line.
"""
ASCII = bytes(range(128))
FOLDED = [one.encode() for one in "\u0130\u0131\u017f\u212a"]
"""The characters beyond ASCII that are i, s or k in another case."""
SHORTEST_PART = 3
"""Number of characters of the part of a literal that is looked for."""
WIDTH = 1000
"""Maximum number of characters of a line in an answer; a longer one is cut around the match."""
HEAD = 8192
"""Number of bytes at the start in which a NUL marks a file as binary."""
BINARY, UNDECODABLE = "binary", "undecodable"

Match = tuple[int, int, int, int, int, str, int]
"""A match: the number of its line from 1; its start and end in the line from 0; the start of the
part of the line that the answer has, the length of the line, and the part; and the match's start in
UTF-16 units."""


def judged(data: bytes, *codings: str) -> bytes | str:
    """Return the text of `data` in UTF-8, or the reason why they are no text.

    The data are in the first of `codings` that fits, else in UTF-8. The text has no byte order
    mark, and a line feed ends each line.
    """
    if data.find(b"\0", 0, HEAD) >= 0:
        return BINARY
    for name in dict.fromkeys((*codings, "utf-8")):  # Python knows not all codings of Emacs
        with suppress(LookupError, UnicodeDecodeError):
            text = data if data.isascii() else data.decode(name).encode(errors="replace")
            return text.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return UNDECODABLE


def is_plain(data: bytes) -> bool:
    """Whether `judged` changes nothing of `data`, one text or several, except byte order marks."""
    if b"\0" in data or b"\r" in data:
        return False
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


class Search:
    """A compiled pattern."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        """Compile `pattern`, and the literals or the run to look for first in each text.

        Raises as `re` does.
        """
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        parsed = parsed_by_re(pattern, flags)
        self.regexp = re.compile(pattern, flags)
        self.ignore_case = bool(self.regexp.flags & re.IGNORECASE)
        found = Required(parsed)
        literals, self._run = found.literals, None
        # A run leaves out more lines than a single character.
        if min(map(len, literals), default=0) <= 1 and (
            run := in_bytes(found.runs, self.regexp.flags)
        ):
            literals, self._run = [], re.compile(run)
        if self.ignore_case:
            literals = [one.lower() for one in literals] if all(map(str.isascii, literals)) else []
            # A part without the letters that are not ASCII in another case is in any text.
            parts = [max(re.split("[iks]", one), key=len) for one in literals]
            literals = parts if min(map(len, parts), default=0) >= SHORTEST_PART else literals
        self.literals = [one.encode("utf-8", "surrogatepass") for one in literals]
        self._has_folded = any(not set("iks").isdisjoint(one) for one in literals)
        folding = re.IGNORECASE if self.ignore_case else re.NOFLAG
        self._literal = re.compile(b"|".join(map(re.escape, self.literals)), folding)

    def has_literals(self, text: bytes) -> bool:
        """Whether each match in `text` holds one of `literals`, in ASCII if case is ignored."""
        if not (self.literals and self.ignore_case and self._has_folded) or text.isascii():
            return bool(self.literals)
        beyond = text.translate(None, ASCII)
        return not any(one in beyond for one in FOLDED)

    def likely(self, together: bytes, ends: Sequence[int]) -> list[int]:
        """Return the numbers of the texts in which a line can match; they end at `ends`."""
        if self.has_literals(together):
            folded = together.lower() if self.ignore_case else together
            finders = [partial(folded.find, literal) for literal in self.literals]
        elif self._run:
            finders = [partial(_position, self._run, together)]
        else:
            return list(range(len(ends)))
        found = set()
        for find in finders:
            at = find(0)
            while at >= 0:
                number = bisect_left(ends, at)
                found.add(number)
                at = find(ends[number] + 1)
        return sorted(found)

    def lines(self, text: bytes) -> Iterator[tuple[int, int, int]]:
        """Yield number, start and end of each line of `text` that can match."""
        likely = self._literal if self.has_literals(text) else self._run
        if likely is None:
            at = 0
            for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), 1):
                yield number, at, at + len(line)
                at += len(line) + 1
            return
        number, counted, end = 1, 0, -1
        while (at := _position(likely, text, end + 1)) >= 0:
            start = text.rfind(b"\n", 0, at) + 1
            end = text.find(b"\n", at)
            end = len(text) if end < 0 else end
            number += text.count(b"\n", counted, start)
            counted = start
            yield number, start, end

    def matches(self, text: bytes) -> Iterator[tuple[int, str, int, int]]:
        """Yield number, line, start and end of each match in `text`.

        An empty match advances by one character (search 1).
        """
        for number, at, end in self.lines(text):
            line = text[at:end].decode()
            for found in self.regexp.finditer(line):
                yield number, line, *found.span()


def _position(regexp: re.Pattern[bytes], text: bytes, at: int) -> int:
    """Return where `regexp` matches in `text` from `at` on, or -1."""
    found = regexp.search(text, at)
    return found.start() if found else -1


def match_of(number: int, line: str, start: int, end: int) -> Match:
    """Return the match from `start` to `end` in `line`, with the part of the line around it."""
    left = 0
    if len(line) > WIDTH:
        left = max(0, min(start - (WIDTH - (end - start)) // 2, len(line) - WIDTH))
        left = min(left, start)
    units = start if line.isascii() else len(line[:start].encode("utf-16-le")) // 2
    return number, start, end, left, len(line), line[left : left + WIDTH], units


def found_in(
    search: Search, texts: Iterable[bytes], output: str, skipped: int, most: int
) -> Iterator[tuple[int, list[Match]]]:
    """Yield, for each of `texts`, the number of its matches, and the matches to return.

    For the `output` "content" these are at most `most` of each text, after the first `skipped` of
    all texts; "lines" is the same with the first match of each line. For "count" none is wanted,
    and for "files" the number is 0 or 1. Both end after `most` texts with matches.
    """
    for text in texts:
        matches = search.matches(text)
        if output in {"files", "count"}:
            count = (
                sum(1 for _ in islice(matches, 1 if output == "files" else None)) if most > 0 else 0
            )
            most -= bool(count)
            yield count, []
            continue
        if output == "lines":
            matches = (next(those) for _, those in groupby(matches, itemgetter(0)))
        passed = sum(1 for _ in islice(matches, skipped))
        skipped -= passed
        wanted = [match_of(*match) for match in islice(matches, most)]
        yield passed + len(wanted) + sum(1 for _ in matches), wanted


def texts_in(together: bytes, sizes: Sequence[int]) -> tuple[bytes, list[int], dict[int, str]]:
    """Return the texts of these `sizes` in one, their ends, and the reasons by number.

    A text with a reason is no text, and is empty.
    """
    starts = list(accumulate((size + 1 for size in sizes), initial=0))
    if is_plain(together) and not any(together.startswith(BOM_UTF8, at) for at in starts[:-1]):
        return together, [at - 1 for at in starts[1:]], {}
    data = (together[at : at + size] for at, size in zip(starts, sizes, strict=False))
    found = [judged(one) for one in data]
    unread = {number: text for number, text in enumerate(found) if isinstance(text, str)}
    texts = [b"" if isinstance(text, str) else text for text in found]
    ends = list(accumulate((len(text) + 1 for text in texts), initial=-1))[1:]
    return b"\n".join(texts), ends, unread


def answers(
    compiled: dict[int, Search],
    shared: mmap.mmap | bytes,
    name: str,
    *words: Any,  # noqa: ANN401 - as a message has them
) -> Iterator[tuple[str, Any]]:
    """Answer a message `name` with `words`; `compiled` has the patterns by their keys."""
    try:
        if name == "compile":
            key, pattern, ignore_case = words
            compiled[key] = Search(pattern, ignore_case=ignore_case)
            yield "ok", None
        else:
            keys, sizes, together, *wanted = words
            if together is None:
                together = shared[: sum(sizes) + len(sizes) - 1]
            together, ends, unread = texts_in(together, sizes)
            starts = [0, *(end + 1 for end in ends)]
            # An empty text has no line.
            likely, *others = (
                [one for one in compiled[key].likely(together, ends) if starts[one] < ends[one]]
                for key in keys
            )
            yield "ok", (list(unread.items()), likely, sorted({*chain(*others)}))
            texts = (together[starts[number] : ends[number]] for number in likely)
            for found in found_in(compiled[keys[0]], texts, *wanted):
                yield "ok", found
    except re.error as error:
        yield "bad", (error.msg, error.pos)
    except (RecursionError, OverflowError):
        yield "bad", ("it is nested too deeply, or a number in it is too large", None)
    except MemoryError:
        yield "bad", ("it takes too much memory", None)


def main() -> None:
    """Answer until stdin ends. The first argument is the shared memory's descriptor, or -1."""
    if sys.platform != "win32":
        import resource

        limits = resource.getrlimit(resource.RLIMIT_AS)
        lowest = min([MEMORY, *(one for one in limits if one != resource.RLIM_INFINITY)])
        resource.setrlimit(resource.RLIMIT_AS, (lowest, lowest))
    descriptor = int(sys.argv[1])
    shared = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) if descriptor >= 0 else b""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    compiled: dict[int, Search] = {}
    while header := source.read(4):
        *message, seconds = marshal.loads(source.read(int.from_bytes(header)))  # noqa: S302
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, seconds)
        for answer in answers(compiled, shared, *message):
            packed = marshal.dumps(answer)
            sink.write(len(packed).to_bytes(4) + packed)
            sink.flush()
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)

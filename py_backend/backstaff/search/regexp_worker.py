"""The process that matches a regular expression, so that it can be killed: `re` knows no deadline.

`search.regexp` starts it, talks to it, and kills it. It gets this module's code and nothing else of
ours, so this module imports only the standard library, and google-re2 from the folder LIBRARY; ""
is none. It opens no file. A message in either direction is a length in four bytes and a value by
`marshal`:

    ("compile", KEY, PATTERN, IGNORE_CASE, LIBRARY, SECONDS)      -> ("ok", None)
    ("search", KEY, SIZES, TEXTS, OUTPUT, SKIPPED, MOST, SECONDS) -> ("ok", (UNREAD, NUMBERS))
                                        then for each of NUMBERS ("ok", (COUNT, MATCHES))
    either, if the pattern cannot be used             -> ("bad", (REASON, POSITION or None))

KEY is a number that a pattern keeps until another one gets it. TEXTS are the bytes of several
files, with a newline between two; None if they are in the shared memory. SIZES are their lengths.
NUMBERS are those of the texts in which a line can match; UNREAD has numbers and reasons of those
that are no text. After SECONDS the kernel ends this process, even if nobody is left who could.
"""

import marshal
import mmap
import re
import signal
import sys
import time
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate, groupby, islice
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]  # the only way to a pattern's parts
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MEMORY = 1 << 30
"""Bytes that a pattern may take: some need a hundred for each character of a line."""
MOST_LITERALS = 16
MAX_REPEAT = 1000
"""The most repetitions that RE2 counts."""
SLOW = 0.05
"""Seconds for some texts after which RE2 is not asked any more. Most take a thousandth of that."""
WIDTH = 1000
"""Characters of a line that an answer holds; more are cut around the match."""
HEAD = 8192
"""A NUL in so many first bytes says that a file is binary."""
BINARY, UNDECODABLE = "binary", "undecodable"

Match = tuple[int, int, int, int, int, str, int]
"""A match: the number of its line from 1, its start and end in the line from 0; the start of the
part of the line that is told, the length of all of it, and the part; its start in UTF-16 units."""

_NEWLINE = 10
_NOTHING = r"[^\x00-\x7f]"
_BEYOND = r"[\x80-\xff]+"
_FOLDED = "\u0130\u0131\u017f\u212a"
"""What differs from the letters i, k, s only by its case, and is not ASCII."""
_ONE_CHARACTER = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.ANY_ALL, op.IN)
_ANCHORS = {
    op.AT_BEGINNING: "(?m:^)",
    op.AT_BEGINNING_STRING: "(?m:^)",
    op.AT_END: "(?m:$)",
    op.AT_END_STRING: "(?m:$)",
    op.AT_BOUNDARY: r"\b",
}


def judged(data: bytes, *codings: str) -> bytes | str:
    """The text of DATA, in the first of CODINGS that fits, else UTF-8; or why they are no text.

    It is in UTF-8 without a byte order mark, and a line feed ends each line.
    """
    if data.find(b"\0", 0, HEAD) >= 0:
        return BINARY
    for name in dict.fromkeys((*codings, "utf-8")):  # Python knows not all codings of Emacs
        with suppress(LookupError, UnicodeDecodeError):
            text = data if data.isascii() else data.decode(name).encode(errors="replace")
            return text.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return UNDECODABLE


def is_plain(data: bytes) -> bool:
    """Whether DATA, one text or several, surely are what `judged` would make of each."""
    if b"\0" in data or b"\r" in data:
        return False
    try:
        return data.isascii() or "\ufeff" not in data.decode()
    except UnicodeDecodeError:
        return False


class Required:
    """Literals, one of which is in every text that a pattern matches.

    `run` collects the characters of a literal, `best` is the best set of literals so far: the one
    whose shortest literal is the longest.
    """

    def __init__(self) -> None:
        self.best: list[str] = []
        self.run = ""

    def offer(self, literals: list[str]) -> None:
        """Keep LITERALS if they are better than the best."""
        if len(literals) <= MOST_LITERALS and min(map(len, literals), default=0) > min(
            map(len, self.best), default=0
        ):
            self.best = literals

    def end_run(self) -> None:
        """The next part is no single character."""
        self.offer([self.run])
        self.run = ""

    def add(self, kind: object, value: Any) -> None:  # noqa: ANN401 - as `re` has it
        """Look at one part of a parsed pattern."""
        if kind is op.LITERAL:
            self.run += chr(value)
            return
        self.end_run()
        if kind is op.BRANCH:
            branches = [required(branch) for branch in value[1]]
            if all(branches):
                self.offer([literal for branch in branches for literal in branch])
        elif kind is op.SUBPATTERN and not (value[1] or value[2]):  # it sets no flags
            self.offer(required(value[3]))
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT) and value[0]:
            self.offer(required(value[2]))
        elif kind is op.ATOMIC_GROUP:
            self.offer(required(value))


def required(parts: Any) -> list[str]:  # noqa: ANN401 - as `re` has it
    """The literals of which each match of a parsed pattern has one; none if there are no such."""
    found = Required()
    for kind, value in parts:
        found.add(kind, value)
    found.end_run()
    return found.best


class Linear:
    """A parsed pattern in the words of RE2, for texts in UTF-8 where each line ends with LF.

    `exact` finds in lines of ASCII what the original finds there; it is "" where RE2 cannot.
    `loose` matches in each line that the original matches in, of any characters, and in others.
    What RE2 does not know, such as what is ahead, is left out of it. What a class of characters
    holds, `re` itself says.
    """

    def __init__(self, parsed: Any, flags: int) -> None:  # noqa: ANN401 - as `re` has it
        """Translate what was PARSED under FLAGS."""
        # After an empty match, `re` looks for another one in the same place.
        self._is_exact, self._is_loose = parsed.getwidth()[0] > 0, False
        exact = self._words(parsed, flags)
        self.exact = exact if self._is_exact else ""
        self._is_loose = True
        self.loose = self._words(parsed, flags)

    def _words(self, parts: Any, flags: int) -> str:  # noqa: ANN401 - as `re` has it
        return "".join(f"(?:{self._word(kind, value, flags)})" for kind, value in parts)

    def _word(self, kind: object, value: Any, flags: int) -> str:  # noqa: ANN401, PLR0911 - a table
        if kind in _ONE_CHARACTER:
            return _class(kind, value, flags, is_loose=self._is_loose)
        if kind is op.BRANCH:
            return "|".join(self._words(branch, flags) for branch in value[1])
        if kind is op.SUBPATTERN:
            return self._words(value[3], (flags | value[1]) & ~value[2])
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            low, high, repeated = value
            # RE2 may leave the last empty turn of a loop out.
            self._is_exact &= repeated.getwidth()[0] > 0 and _counts(low) and _counts(high)
            times = f"{{{min(low, MAX_REPEAT)},{high if high <= MAX_REPEAT else ''}}}"
            lazy = "?" if kind is op.MIN_REPEAT else ""
            return f"(?:{self._words(repeated, flags)}){times}{lazy}"
        if kind is op.AT and value in _ANCHORS:
            # For RE2, no letter beyond ASCII is part of a word.
            return "" if value is op.AT_BOUNDARY and self._is_loose else _ANCHORS[value]
        self._is_exact = False
        if kind is op.POSSESSIVE_REPEAT:
            return self._word(op.MAX_REPEAT, value, flags)
        if kind is op.ATOMIC_GROUP:
            return self._words(value, flags)
        if kind is op.GROUPREF_EXISTS:
            return "|".join(self._words(branch or (), flags) for branch in value[1:])
        return r"[^\n]*" if kind is op.GROUPREF else ""


def _counts(times: Any) -> bool:  # noqa: ANN401 - as `re` has it
    return times <= MAX_REPEAT or times is op.MAXREPEAT


def _class(kind: object, value: Any, flags: int, *, is_loose: bool) -> str:  # noqa: ANN401 - as `re` has it
    """The class of the ASCII characters that one character of a parsed pattern stands for.

    If it IS_LOOSE, bytes beyond ASCII are in it if any such character may be.
    """
    state = parser.State()
    state.flags = flags
    one = compiler.compile(parser.SubPattern(state, [(kind, value)]), flags)
    codes = [code for code in range(128) if code != _NEWLINE and one.match(chr(code))]
    ranges = []
    for _, run in groupby(enumerate(codes), lambda item: item[1] - item[0]):
        (_, first), *_, (_, last) = [*run] * 2
        ranges.append(rf"\x{first:02x}-\x{last:02x}")
    within = f"[{''.join(ranges)}]" if ranges else _NOTHING
    if is_loose and (_names_beyond(kind, value) or any(map(one.match, _FOLDED))):
        return f"{within}|{_BEYOND}"
    return within


def _names_beyond(kind: object, value: Any) -> bool:  # noqa: ANN401 - as `re` has it
    """Whether more than single characters of ASCII and ranges of these are named."""
    if kind is op.IN:
        return any(_names_beyond(*part) for part in value)
    last = value[1] if kind is op.RANGE else value if kind is op.LITERAL else sys.maxunicode
    return bool(last > 127)  # noqa: PLR2004  # the last of ASCII


class Search:
    """A compiled pattern. Raises what `re` raises."""

    def __init__(self, pattern: str, *, ignore_case: bool, library: str) -> None:
        """Compile PATTERN, also with google-re2 where LIBRARY has it."""
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        parsed = parser.parse(pattern, flags)
        self.regexp = re.compile(pattern, flags)
        self.ignore_case = bool(self.regexp.flags & re.IGNORECASE)
        linear = Linear(parsed, self.regexp.flags)
        self.loose = in_re2(linear.loose, library)
        self.exact = in_re2(linear.exact, library) if self.loose and linear.exact else None
        literals = required(parsed)
        if self.ignore_case:
            literals = [one.lower() for one in literals] if all(map(str.isascii, literals)) else []
        self.literals = [one.encode("utf-8", "surrogatepass") for one in literals]
        folding = re.IGNORECASE if self.ignore_case else re.NOFLAG
        self._likely = re.compile(b"|".join(map(re.escape, self.literals)), folding)

    def has_literals(self, text: bytes) -> bool:
        """Whether each match in TEXT holds one of `literals`."""
        # With no regard to case, a long s is an s, too.
        return bool(self.literals) and (text.isascii() or not self.ignore_case)

    def likely(self, texts: Sequence[bytes]) -> list[int]:
        """The numbers of TEXTS in which a line can match. They are looked at as one."""
        together = b"\n".join(texts)
        if self.has_literals(together):
            folded = together.lower() if self.ignore_case else together
            finders = [partial(folded.find, literal) for literal in self.literals]
        elif self.loose:
            finders = [partial(self._next, together)]
        else:
            return [number for number, text in enumerate(texts) if text]
        ends = list(accumulate((len(text) + 1 for text in texts), initial=-1))[1:]
        found = set()
        for find in finders:
            at = find(0)
            while at >= 0:
                number = bisect_left(ends, at)
                found.add(number)
                at = find(ends[number] + 1)
        return [number for number in sorted(found) if texts[number]]

    def _next(self, text: bytes, at: int) -> int:
        """Where RE2 finds the next place from AT on in which a line of TEXT can match; -1 is none.

        It is the next of all places if RE2 was slow, as it is for a pattern with many states.
        """
        if self.loose is None or at > len(text):
            return at if at <= len(text) else -1
        began = time.monotonic()
        found = self.loose.search(text, at)
        if time.monotonic() - began > SLOW:
            self.loose = self.exact = None
        return found.start() if found else -1

    def _next_literal(self, text: bytes, at: int) -> int:
        found = self._likely.search(text, at)
        return found.start() if found else -1

    def lines(self, text: bytes) -> Iterator[tuple[int, int, int]]:
        """The lines of TEXT that can match: number, start and end."""
        if self.loose:
            find = partial(self._next, text)
        elif self.has_literals(text):
            find = partial(self._next_literal, text)
        else:
            at = 0
            for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), 1):
                yield number, at, at + len(line)
                at += len(line) + 1
            return
        number, counted, end = 1, 0, -1
        while (at := find(end + 1)) >= 0:
            start = text.rfind(b"\n", 0, at) + 1
            if start == len(text):
                return  # after the last newline no line begins
            end = text.find(b"\n", at)
            end = len(text) if end < 0 else end
            number += text.count(b"\n", counted, start)
            counted = start
            yield number, start, end

    def matches(self, text: bytes) -> Iterator[tuple[int, str, int, int]]:
        """Number, line, start and end of each match in TEXT; an empty one moves on by a character.

        So search 1 has it.
        """
        for number, at, end in self.lines(text):
            data = text[at:end]
            line = data.decode()
            regexp = self.exact if self.exact and data.isascii() else None
            for found in regexp.finditer(data) if regexp else self.regexp.finditer(line):
                yield number, line, *found.span()


def in_re2(pattern: str, library: str) -> Any:  # noqa: ANN401 - the package has no types
    """PATTERN compiled by google-re2; None where LIBRARY has it not, or it takes it not."""
    if not library:
        return None
    if library not in sys.path:
        sys.path.append(library)
    try:
        import re2  # type: ignore[import-untyped, import-not-found, unused-ignore]

        options = re2.Options()
        options.log_errors = False
        options.encoding = re2.Options.Encoding.LATIN1
    except (ImportError, AttributeError):
        return None  # another package has this name
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error:
        return None


def match_of(number: int, line: str, start: int, end: int) -> Match:
    """The match from START to END in LINE, and what of the line goes into an answer."""
    left = 0
    if len(line) > WIDTH:
        left = max(0, min(start - (WIDTH - (end - start)) // 2, len(line) - WIDTH))
        left = min(left, start)
    units = start if line.isascii() else len(line[:start].encode("utf-16-le")) // 2
    return number, start, end, left, len(line), line[left : left + WIDTH], units


def found_in(
    search: Search, texts: Sequence[bytes], output: str, skipped: int, most: int
) -> Iterator[tuple[int, list[Match]]]:
    """For each of TEXTS, a number and the matches that are wanted.

    For the OUTPUT "content" these are at most MOST in all after the first SKIPPED; the number is
    how many of a text were skipped. For "count" it is that of all matches, for "files" 0 or 1, and
    MOST and SKIPPED count texts.
    """
    for text in texts:
        matches = search.matches(text)
        if output == "content":
            passed = sum(1 for _ in islice(matches, skipped))
            wanted = [match_of(*match) for match in islice(matches, most)]
            skipped -= passed
            most -= len(wanted)
            yield passed, wanted
        else:
            stop = 0 if skipped + most <= 0 else 1 if output == "files" else None
            count = sum(1 for _ in islice(matches, stop))
            most -= bool(count)
            yield count, []


def texts_in(together: bytes, sizes: Sequence[int]) -> tuple[list[bytes], list[tuple[int, str]]]:
    """The texts of these SIZES in TOGETHER; numbers and reasons of those that are none, so b""."""
    starts = accumulate((size + 1 for size in sizes), initial=0)
    texts = [together[start : start + size] for start, size in zip(starts, sizes, strict=False)]
    if is_plain(together):
        return texts, []
    found = [judged(text) for text in texts]
    unread = [(number, text) for number, text in enumerate(found) if isinstance(text, str)]
    return [b"" if isinstance(text, str) else text for text in found], unread


def answers(
    compiled: dict[int, Search],
    shared: mmap.mmap | bytes,
    name: str,
    key: int,
    *words: Any,  # noqa: ANN401 - as a message has them
) -> Iterator[tuple[str, Any]]:
    """What to answer to a message NAME about the pattern KEY in COMPILED, with WORDS."""
    try:
        if name == "compile":
            pattern, ignore_case, library = words
            compiled[key] = Search(pattern, ignore_case=ignore_case, library=library)
            yield "ok", None
        else:
            sizes, together, *wanted = words
            if together is None:
                together = shared[: sum(sizes) + len(sizes) - 1]
            texts, unread = texts_in(together, sizes)
            numbers = compiled[key].likely(texts)
            yield "ok", (unread, numbers)
            for found in found_in(compiled[key], [texts[number] for number in numbers], *wanted):
                yield "ok", found
    except re.error as error:
        yield "bad", (error.msg, error.pos)
    except (RecursionError, OverflowError):
        yield "bad", ("it is nested too deeply, or a number in it is too large", None)
    except MemoryError:
        yield "bad", ("it takes too much memory", None)


def main() -> None:
    """Answer until stdin ends. The first argument is a descriptor of the shared memory, or -1."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
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


if __name__ == "__main__":
    main()

"""The process that matches a regular expression, so that it can be killed: `re` knows no deadline.

`search.regexp` starts it, talks to it, and kills it. It gets this module's code and nothing else of
ours, so this module imports only the standard library. It opens no file: the texts come through
stdin. A message in either direction is a length in four bytes and a value by `marshal`:

    ("compile", PATTERN, IGNORE_CASE, SECONDS)        -> ("ok", (LITERALS, IGNORE_CASE, LINEAR))
    ("search", TEXTS, OUTPUT, SKIPPED, MOST, SECONDS) -> ("ok", (COUNT, MATCHES)) for each text
    either, if the pattern cannot be used             -> ("bad", (REASON, POSITION or None))

After SECONDS the kernel ends this process, even if nobody is left who could.
"""

import marshal
import re
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]  # the only way to a pattern's parts
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MEMORY = 1 << 30
"""Bytes that a pattern may take: some need a hundred for each character of a line."""
MOST_LITERALS = 16
MAX_REPEAT = 1000
"""The most repetitions that RE2 counts."""
WIDTH = 1000
"""Characters of a line that an answer holds; more are cut around the match."""

Match = tuple[int, int, int, int, int, str, int]
"""A match: the number of its line from 1, its start and end in the line from 0; the start of the
part of the line that is told, the length of all of it, and the part; its start in UTF-16 units."""

_NEWLINE = 10
_NOTHING = r"[^\x00-\x7f]"
_ONE_CHARACTER = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.ANY_ALL, op.IN)
_ANCHORS = {
    op.AT_BEGINNING: "(?m:^)",
    op.AT_BEGINNING_STRING: "(?m:^)",
    op.AT_END: "(?m:$)",
    op.AT_END_STRING: "(?m:$)",
    op.AT_BOUNDARY: r"\b",
}


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

    `pattern` is found in each line that the original matches in, and in each that is not ASCII. In
    the others it is found in the same places as the original, if it `is_exact`. What RE2 does not
    know, such as what is ahead, is left out. What a class of characters holds, `re` itself says.
    """

    def __init__(self, parsed: Any, flags: int) -> None:  # noqa: ANN401 - as `re` has it
        """Translate what was PARSED under FLAGS."""
        # After an empty match, `re` looks for another one in the same place.
        self.is_exact = parsed.getwidth()[0] > 0
        # What a line with other characters holds is for `re` to say.
        self.pattern = rf"(?:{self._words(parsed, flags)})|[\x80-\xff][^\n]*"

    def _words(self, parts: Any, flags: int) -> str:  # noqa: ANN401 - as `re` has it
        return "".join(f"(?:{self._word(kind, value, flags)})" for kind, value in parts)

    def _word(self, kind: object, value: Any, flags: int) -> str:  # noqa: ANN401, PLR0911 - a table
        if kind in _ONE_CHARACTER:
            return _class(kind, value, flags)
        if kind is op.BRANCH:
            return "|".join(self._words(branch, flags) for branch in value[1])
        if kind is op.SUBPATTERN:
            return self._words(value[3], (flags | value[1]) & ~value[2])
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            low, high, repeated = value
            # RE2 may leave the last empty turn of a loop out.
            self.is_exact &= repeated.getwidth()[0] > 0 and _counts(low) and _counts(high)
            times = f"{{{min(low, MAX_REPEAT)},{high if high <= MAX_REPEAT else ''}}}"
            lazy = "?" if kind is op.MIN_REPEAT else ""
            return f"(?:{self._words(repeated, flags)}){times}{lazy}"
        if kind is op.AT and value in _ANCHORS:
            return _ANCHORS[value]
        self.is_exact = False
        if kind is op.POSSESSIVE_REPEAT:
            return self._word(op.MAX_REPEAT, value, flags)
        if kind is op.ATOMIC_GROUP:
            return self._words(value, flags)
        if kind is op.GROUPREF_EXISTS:
            return "|".join(self._words(branch or (), flags) for branch in value[1:])
        return r"[^\n]*" if kind is op.GROUPREF else ""


def _counts(times: Any) -> bool:  # noqa: ANN401 - as `re` has it
    return times <= MAX_REPEAT or times is op.MAXREPEAT


def _class(kind: object, value: Any, flags: int) -> str:  # noqa: ANN401 - as `re` has it
    """The class of the ASCII characters that one character of a parsed pattern stands for."""
    state = parser.State()
    state.flags = flags
    one = compiler.compile(parser.SubPattern(state, [(kind, value)]), flags)
    codes = [code for code in range(128) if code != _NEWLINE and one.match(chr(code))]
    ranges = []
    for _, run in groupby(enumerate(codes), lambda item: item[1] - item[0]):
        (_, first), *_, (_, last) = [*run] * 2
        ranges.append(rf"\x{first:02x}-\x{last:02x}")
    return f"[{''.join(ranges)}]" if ranges else _NOTHING


class Search:
    """A compiled pattern. Raises what `re` raises."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        """Compile PATTERN."""
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        parsed = parser.parse(pattern, flags)
        self.regexp = re.compile(pattern, flags)
        self.ignore_case = bool(self.regexp.flags & re.IGNORECASE)
        self.linear = Linear(parsed, self.regexp.flags)
        self.literals = required(parsed)
        if self.ignore_case and not all(map(str.isascii, self.literals)):
            self.literals = []
        literals = [re.escape(one.encode("utf-8", "surrogatepass")) for one in self.literals]
        folding = re.IGNORECASE if self.ignore_case else re.NOFLAG
        self._likely = re.compile(b"|".join(literals), folding)

    def lines(
        self, text: bytes, starts: Iterable[int] | None = None
    ) -> Iterator[tuple[int, bytes, int]]:
        """The lines of TEXT that can match: number, line, and where it begins.

        These are the lines of the places STARTS; of None, those that hold a literal.
        """
        # With no regard to case, a long s is an s, too.
        if starts is None and self.literals and (text.isascii() or not self.ignore_case):
            starts = (found.start() for found in self._likely.finditer(text))
        if starts is None:
            at = 0
            for number, line in enumerate(text.removesuffix(b"\n").split(b"\n") if text else (), 1):
                yield number, line, at
                at += len(line) + 1
            return
        number, counted, end = 1, 0, -1
        for at in starts:
            if at <= end:
                continue  # the same line once more
            start = text.rfind(b"\n", 0, at) + 1
            end = text.find(b"\n", at)
            end = len(text) if end < 0 else end
            number += text.count(b"\n", counted, start)
            counted = start
            yield number, text[start:end], start

    def matches(
        self, text: bytes, places: Sequence[tuple[int, int]] | None
    ) -> Iterator[tuple[int, str, int, int]]:
        """Number, line, start and end of each match in TEXT; an empty one moves on by a character.

        So search 1 has it. PLACES are what RE2 found; None if it was not asked. They are matches
        in lines of ASCII if it `is_exact`; else `re` searches these lines.
        """
        rest = deque(places or ())
        is_exact = places is not None and self.linear.is_exact
        starts = None if places is None else (start for start, _ in places)
        for number, data, at in self.lines(text, starts):
            line = data.decode()
            if not (is_exact and data.isascii()):
                for found in self.regexp.finditer(line):
                    yield number, line, *found.span()
                continue
            while rest and rest[0][0] <= at + len(line):
                start, end = rest.popleft()
                if start >= at:  # else it is in a line that `re` has searched
                    yield number, line, start - at, end - at


def match_of(number: int, line: str, start: int, end: int) -> Match:
    """The match from START to END in LINE, and what of the line goes into an answer."""
    left = 0
    if len(line) > WIDTH:
        left = max(0, min(start - (WIDTH - (end - start)) // 2, len(line) - WIDTH))
        left = min(left, start)
    units = start if line.isascii() else len(line[:start].encode("utf-16-le")) // 2
    return number, start, end, left, len(line), line[left : left + WIDTH], units


def found_in(
    search: Search,
    texts: Sequence[tuple[bytes, Sequence[tuple[int, int]] | None]],
    output: str,
    skipped: int,
    most: int,
) -> Iterator[tuple[int, list[Match]]]:
    """For each of TEXTS, with places as in `matches`, a number and the matches that are wanted.

    For the OUTPUT "content" these are at most MOST in all after the first SKIPPED; the number is
    how many of a text were skipped. For "count" it is that of all matches, for "files" 0 or 1, and
    MOST and SKIPPED count texts.
    """
    for text, places in texts:
        matches = search.matches(text, places)
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


def answers(
    compiled: dict[str, Search], name: str, words: Sequence[Any]
) -> Iterator[tuple[str, Any]]:
    """What to answer to a message NAME with WORDS. The pattern in use is kept in COMPILED."""
    try:
        if name == "compile":
            pattern, ignore_case = words
            search = compiled["in use"] = Search(pattern, ignore_case=ignore_case)
            yield "ok", (search.literals, search.ignore_case, search.linear.pattern)
        else:
            for found in found_in(compiled["in use"], *words):
                yield "ok", found
    except re.error as error:
        yield "bad", (error.msg, error.pos)
    except (RecursionError, OverflowError):
        yield "bad", ("it is nested too deeply, or a number in it is too large", None)
    except MemoryError:
        yield "bad", ("it takes too much memory", None)


def main() -> None:
    """Answer until stdin ends."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    compiled: dict[str, Search] = {}
    while header := source.read(4):
        name, *words, seconds = marshal.loads(source.read(int.from_bytes(header)))  # noqa: S302
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, seconds)
        for answer in answers(compiled, name, words):
            packed = marshal.dumps(answer)
            sink.write(len(packed).to_bytes(4) + packed)
            sink.flush()
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()

"""The process that matches a regular expression, so that it can be killed: `re` knows no deadline.

`search.regexp` starts it, talks to it, and kills it. It gets this module's code and nothing else of
ours, so this module imports only the standard library. It opens no file: the texts come through
stdin. A message in either direction is a length in four bytes and a value by `marshal`:

    ("compile", PATTERN, IGNORE_CASE, SECONDS)        -> ("ok", (LITERALS, IGNORE_CASE))
    ("search", TEXTS, OUTPUT, SKIPPED, MOST, SECONDS) -> ("ok", what `found_in` returns)
    either, if the pattern cannot be used             -> ("bad", (REASON, POSITION or None))

After SECONDS the kernel ends this process, even if nobody is left who could.
"""

import marshal
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from re import _constants as op  # type: ignore[attr-defined]  # the only way to a pattern's parts
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MEMORY = 1 << 30
"""Bytes that a pattern may take: some need a hundred for each character of a line."""
MOST_LITERALS = 16
WIDTH = 1000
"""Characters of a line that an answer holds; more are cut around the match."""

Match = tuple[int, int, int, int, int, str, int]
"""A match: the number of its line from 1, its start and end in the line from 0; the start of the
part of the line that is told, the length of all of it, and the part; its start in UTF-16 units."""


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


class Search:
    """A compiled pattern. Raises what `re` raises."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        """Compile PATTERN."""
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        parsed = parser.parse(pattern, flags)
        self.regexp = re.compile(pattern, flags)
        self.ignore_case = bool(self.regexp.flags & re.IGNORECASE)
        self.literals = required(parsed)
        if self.ignore_case and not all(map(str.isascii, self.literals)):
            self.literals = []
        folding = re.IGNORECASE if self.ignore_case else re.NOFLAG
        self._likely = re.compile("|".join(map(re.escape, self.literals)), folding)

    def lines(self, text: str) -> Iterator[tuple[int, str]]:
        """The lines of TEXT that can match, with their numbers: those that hold a literal."""
        if not self.literals:
            yield from enumerate(text.removesuffix("\n").split("\n") if text else (), 1)
            return
        number, counted, end = 1, 0, -1
        for found in self._likely.finditer(text):
            at = found.start()
            if at <= end:
                continue  # the same line once more
            start = text.rfind("\n", 0, at) + 1
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            number += text.count("\n", counted, start)
            counted = start
            yield number, text[start:end]

    def matches(self, text: str) -> Iterator[tuple[int, str, int, int]]:
        """Number, line, start and end of each match in TEXT; an empty one moves on by a character.

        So search 1 has it.
        """
        for number, line in self.lines(text):
            for found in self.regexp.finditer(line):
                yield number, line, *found.span()


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
) -> list[tuple[int, list[Match]]]:
    """For each of TEXTS a number, and the matches that are wanted.

    For the OUTPUT "content" these are at most MOST in all after the first SKIPPED; the number is
    how many of a text were skipped. For "count" it is that of all matches, for "files" 0 or 1.
    """
    found: list[tuple[int, list[Match]]] = []
    for data in texts:
        text = data.decode("utf-8-sig")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        matches = search.matches(text)
        if output == "content":
            passed = sum(1 for _ in islice(matches, skipped))
            wanted = [match_of(*match) for match in islice(matches, most)]
            skipped -= passed
            most -= len(wanted)
            found.append((passed, wanted))
        else:
            found.append((sum(1 for _ in islice(matches, 1 if output == "files" else None)), []))
    return found


def main() -> None:
    """Answer until stdin ends."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    search: Search | None = None
    while header := source.read(4):
        name, *words, seconds = marshal.loads(source.read(int.from_bytes(header)))  # noqa: S302
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, seconds)
        answer: tuple[str, Any]
        try:
            if name == "compile":
                search = Search(words[0], ignore_case=words[1])
                answer = "ok", (search.literals, search.ignore_case)
            elif search is not None:
                answer = "ok", found_in(search, *words)
        except re.error as error:
            answer = "bad", (error.msg, error.pos)
        except (RecursionError, OverflowError):
            answer = "bad", ("it is nested too deeply, or a number in it is too large", None)
        except MemoryError:
            answer = "bad", ("it takes too much memory", None)
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)
        packed = marshal.dumps(answer)
        sink.write(len(packed).to_bytes(4) + packed)
        sink.flush()


if __name__ == "__main__":
    main()

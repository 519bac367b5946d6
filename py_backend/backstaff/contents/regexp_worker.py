"""The process that opens files, reads them and matches a regular expression in their lines.

It can be killed, because `re` has no deadline. `contents.regexp` starts it, gives it work, and
kills it. It gets no other code of ours than that of the modules in `regexp.PROGRAM`, which import
only the standard library and each other. It opens files only below a directory of which it got the
descriptor, as `fs.contents` does. A message in either direction is a length in four bytes and a
value by `marshal`. The process first sends ("ready", None). It is asked with the values of a `Job`
and a number of seconds, with the descriptor beside the first byte. It answers, with the files of
the job counted from 0:

    ("unread", (FILE, REASON))               that file is no text
    ("at", FILE)                             it now matches line after line of that file
    ("found", (FILE, COUNT, MATCHES, TEXT, WORDS, BYTES))
                                             the file's matches, as `found_in` has them, the number
                                             of times that it has each word, and its length
    ("done", (FILES, LIKELY))                it has looked at the first FILES, and ends
    ("bad", (REASON, POSITION or None))      the pattern cannot be used, and it ends

A job with the output `OUTLINE` has one text, of which it answers the definitions instead:

    ("definitions", ROWS)                    some of them, the values of each
    ("done", (LANGUAGE, COMMENTS))           these were all

LIKELY are the files in which a line can match another pattern than the first. It ends early where
enough is found, or where the answers are large. After the seconds the kernel ends this process,
even if nobody is left who could.
"""

import marshal
import os
import re
import signal
import sys
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from itertools import accumulate, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from backstaff.budget import Budget
from backstaff.contents.requirements import in_bytes, parsed_by_re, required, runs
from backstaff.fs.contents import Contents, Unread
from backstaff.fs.secrets import Guard
from backstaff.structure.outline import outline

# Bytes for a pattern, unless the system's limit is lower: some need 100 for a character of a line.
MEMORY = 1 << 30
OUTLINE = "outline"  # the `output` of a job that has no pattern: the definitions of its only text
ROWS = 1000  # definitions in an answer: reading more at once would hold up the server
SHORTEST_PART = 3  # characters of the part of a literal that is looked for
WIDTH = 1000  # characters of a line in an answer; a longer one is cut around the match
HEAD = 8192  # bytes at the start in which a NUL marks a file as binary
TOGETHER = 1 << 18  # bytes of texts that are searched at once, which is twice as fast
ANSWERED = 1 << 20  # bytes of texts and matches after which a job ends
PATTERNS = 8  # compiled patterns that are kept

# A match: the number of its line, from 1; its start and end in the line, from 0; the start of the
# part of the line in the answer, the line's length, and the part; its start in UTF-16 units.
Match = tuple[int, int, int, int, int, str, int]
Pattern = tuple[str, bool]  # a regular expression, and whether it ignores case


class Job(NamedTuple):
    """Files to search for the first of `patterns`, if there is any, and for `words`.

    A word is a list of forms in small letters, such as `[b"run"]`, each counted wherever it stands,
    without regard to the case of ASCII.
    """

    patterns: Sequence[Pattern]
    paths: str = ""  # relative to the directory, with a NUL between two
    prefix: str = ""  # stands in front of the paths that `secrets` look at
    secrets: tuple[str, ...] = ()  # a guard's globs
    texts: Mapping[str, bytes | str] = {}  # take the place of files
    words: Sequence[Sequence[bytes]] = ()
    output: str = "files"  # as in `found_in`
    window: tuple[int, int] = (0, 0)  # of a path that is not in `windows`
    windows: Mapping[str, tuple[int, int]] = {}
    most: int = 0  # files with matches after which the job ends, unless that is 0
    with_text: bool = False  # whether these have their text in an answer


def judged(data: bytes, *codings: str) -> bytes | str:
    """Return the text of `data` in UTF-8, or the value of the `Unread` reason why they are no text.

    The data are in the first of `codings` that fits, else in UTF-8. The text has no byte order
    mark, and a line feed ends each line, as in `reading.text`.
    """
    if data.find(b"\0", 0, HEAD) >= 0:
        return Unread.BINARY.value  # `marshal` knows no enumerations
    for name in dict.fromkeys((*codings, "utf-8")):  # Python knows not all codings of Emacs
        with suppress(LookupError, UnicodeDecodeError):
            text = data if data.isascii() else data.decode(name).encode(errors="replace")
            text = text.removeprefix(BOM_UTF8)
            return text.replace(*((b"\r\n", b"\n") if b"\n" in text else (b"\r", b"\n")))
    return Unread.UNDECODABLE.value


class Search:
    """A compiled pattern."""

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        """Compile `pattern`, and the literals or run to look for first. Raises as `re`."""
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        parsed = parsed_by_re(pattern, flags)
        self.regexp = re.compile(pattern, flags)
        self.ignore_case = bool(self.regexp.flags & re.IGNORECASE)
        literals, self._run = required(parsed), None
        # A single character is found many times faster than a run, so that is for no literal.
        if not literals and (run := in_bytes(runs(parsed), self.regexp.flags)):
            self._run = re.compile(run)
        if self.ignore_case:
            literals = [one.lower() for one in literals] if all(map(str.isascii, literals)) else []
            # Letters beyond ASCII are i, s or k in another case: a part without is in any text.
            parts = [max(re.split("[iks]", one), key=len) for one in literals]
            literals = parts if min(map(len, parts), default=0) >= SHORTEST_PART else literals
        self.literals = [one.encode("utf-8", "surrogatepass") for one in literals]
        self._has_folded = self.ignore_case and not set("iks").isdisjoint("".join(literals))

    def likely(self, text: bytes, ends: Sequence[int]) -> Sequence[int]:
        """Return the numbers of the parts of `text` that can match; they end at `ends`."""
        finders = list[Callable[[int], int]]()
        # Each match holds one of the literals, in ASCII if case is ignored.
        if self.literals and (not self._has_folded or text.isascii()):
            folded = text.lower() if self.ignore_case else text
            finders = [finder(folded, literal) for literal in self.literals]
        elif run := self._run:
            finders = [lambda at: match.start() if (match := run.search(text, at)) else -1]
        else:
            return range(len(ends))
        found = set()
        for find in finders:
            at = find(0)
            while at >= 0:
                number = bisect_left(ends, at)
                found.add(number)
                at = find(ends[number] + 1)
        return sorted(found)

    def matches(self, text: bytes) -> Iterator[tuple[int, str, int, int]]:
        """Yield number, line, start and end of each match: after an empty one at the next place."""
        lines = text.removesuffix(b"\n").split(b"\n")
        for number in self.likely(text, ends_of(lines)):
            line = lines[number].decode()
            for found in self.regexp.finditer(line):
                yield number + 1, line, *found.span()


def ends_of(parts: Iterable[bytes]) -> list[int]:
    """Return where each of `parts` ends in a text in which one character is between two."""
    return [*accumulate(map(len, parts), lambda end, length: end + 1 + length, initial=-1)][1:]


@cache
def memmem() -> Any:  # noqa: ANN401 - a function of C
    """Return the search for bytes of Linux's C library, in .4 of the time of `find`, or None."""
    with suppress(ImportError, OSError, AttributeError, MemoryError):
        import ctypes

        if sys.platform == "linux":
            function = ctypes.CDLL(None).memmem
            function.argtypes = (ctypes.c_void_p, ctypes.c_size_t) * 2
            function.restype = ctypes.c_void_p
            return function
    return None


def finder(text: bytes, literal: bytes) -> Callable[[int], int]:
    """Return a function that finds `literal` in `text` from a position on, or returns -1."""
    if not (search := memmem()):
        return partial(text.find, literal)
    start = search(text, len(text), b"", 0)  # the address of the text

    def find(at: int) -> int:
        left = len(text) - at
        place = search(start + at, left, literal, len(literal)) if left > 0 else None
        return place - start if place else -1

    return find


def match_of(number: int, line: str, start: int, end: int) -> Match:
    """Return the match from `start` to `end` in `line`, with the part of the line around it."""
    left = max(0, min(start, start - (WIDTH - (end - start)) // 2, len(line) - WIDTH))
    units = start if line.isascii() else len(line[:start].encode("utf-16-le")) // 2
    return number, start, end, left, len(line), line[left : left + WIDTH], units


def found_in(
    search: Search, text: bytes, output: str, window: tuple[int, int]
) -> tuple[int, list[Match]]:
    """Return the number of matches in `text`, and the matches to return.

    The `window` (10, 3) is three matches after the first ten, for the `output` "content"; "lines"
    is the same with the first match of each line. "count" wants none; for "files" the number is 0
    or 1, and for "text" too, with a match that may hold ends of lines.
    """
    if output == "text":
        return int(search.regexp.search(text.decode()) is not None), []
    skipped, most = window
    matches = search.matches(text)
    if output in {"files", "count"}:
        return sum(1 for _ in islice(matches, 1 if output == "files" else None)), []
    if output == "lines":
        matches = (next(those) for _, those in groupby(matches, itemgetter(0)))
    passed = sum(1 for _ in islice(matches, skipped))
    wanted = [match_of(*match) for match in islice(matches, most)]
    return passed + len(wanted) + sum(1 for _ in matches), wanted


def together(data: Sequence[bytes | str]) -> tuple[bytes, list[int], dict[int, str]]:
    """Return the texts of `data` in one, their ends, and by number why others are empty."""
    texts = [one if isinstance(one, bytes) else b"" for one in data]
    joined, is_plain = b"\n".join(texts), False
    with suppress(UnicodeDecodeError):
        is_plain = all(one.isascii() or one.decode() for one in texts)
    has_marks = any(one.startswith(BOM_UTF8) for one in texts)
    if not is_plain or has_marks or b"\0" in joined or b"\r" in joined:
        data = [judged(one) if isinstance(one, bytes) else one for one in data]
        texts = [one if isinstance(one, bytes) else b"" for one in data]
        joined = b"\n".join(texts)
    unread = {number: str(one) for number, one in enumerate(data) if isinstance(one, str)}
    return joined, ends_of(texts), unread


compiled = lru_cache(PATTERNS)(Search)  # compiles a pattern, or returns the search that is kept


def batches(job: Job, directory: int) -> Iterator[tuple[int, list[bytes | str]]]:
    """Yield texts of `job` that are searched at once, and the number of the first of them."""
    paths = job.paths.split("\0") if job.paths else []
    with Contents(directory, Guard(job.secrets), job.prefix, job.texts) as contents:
        first, data, size = 0, list[bytes | str](), 0
        for number, path in enumerate(paths, 1):
            data.append(contents.data(path))
            size += len(data[-1])
            if size >= TOGETHER or number == len(paths):
                yield first, data
                first, data, size = number, [], 0


def answers(job: Job, directory: int) -> Iterator[tuple[str, Any]]:
    """Search the files of `job` below the open `directory`."""
    left, answered, likely, paths = job.most, 0, set[int](), job.paths.split("\0")
    try:
        searches = [compiled(one, ignore_case=ignore) for one, ignore in job.patterns]
        for first, data in batches(job, directory):
            joined, ends, unread = together(data)
            yield from (("unread", (first + at, reason)) for at, reason in unread.items())
            likely.update(first + at for other in searches[1:] for at in other.likely(joined, ends))
            starts = [0, *(end + 1 for end in ends)]
            folded = joined.lower() if job.words else b""
            matching = set(searches[0].likely(joined, ends)) if searches else set()
            for at in range(len(ends)) if job.words else sorted(matching):
                start, end, count, matches = starts[at], ends[at], 0, list[Match]()
                words = [sum(folded.count(one, start, end) for one in forms) for forms in job.words]
                if at in matching and start < end:  # an empty text has no line
                    yield "at", first + at
                    window = job.windows.get(paths[first + at], job.window)
                    text = joined[start:end]
                    count, matches = found_in(searches[0], text, job.output, window)
                if not (count or any(words)):
                    continue
                text = joined[start:end] if job.with_text and matches else b""
                yield "found", (first + at, count, matches, text, words, end - start)
                left -= 1
                answered += len(text) + sum(len(match[5]) for match in matches)
                if not left or answered > ANSWERED:
                    yield "done", (first + at + 1, list(likely))
                    return
        yield "done", (len(paths), list(likely))
    except re.error as error:
        yield "bad", (error.msg, error.pos)
    except (RecursionError, OverflowError):
        yield "bad", ("it is nested too deeply, or a number in it is too large", None)
    except MemoryError:
        yield "bad", ("it takes too much memory", None)


def definitions(job: Job) -> Iterator[tuple[str, Any]]:
    """Yield the definitions of the only text of `job`."""
    ((path, text),) = job.texts.items()
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")
        made = outline(decoded, path, Budget())
    except (MemoryError, RecursionError):
        yield "bad", ("it takes too much memory", None)
        return
    rows = [tuple(one) for one in made.definitions] if made else []
    for at in range(0, len(rows), ROWS):
        yield "definitions", rows[at : at + ROWS]
    yield "done", (made.language, made.comments) if made else ("", ())


def main() -> None:
    """Answer until the socket, which is stdin, is closed."""
    import _socket
    import resource

    limits = resource.getrlimit(resource.RLIMIT_AS)
    lowest = min([MEMORY, *(one for one in limits if one != resource.RLIM_INFINITY)])
    resource.setrlimit(resource.RLIMIT_AS, (lowest, lowest))
    connection = _socket.socket(fileno=0)
    all_of_it, ready = _socket.MSG_WAITALL, list[bytes]()

    def send(answer: tuple[str, Any], *, now: bool) -> None:
        packed = marshal.dumps(answer)
        ready.append(len(packed).to_bytes(4) + packed)
        if now:
            connection.sendall(b"".join(ready))
            ready.clear()

    with suppress(ConnectionResetError, BrokenPipeError, EOFError):  # the server has ended
        send(("ready", None), now=True)
        while True:
            length, rights, *_ = connection.recvmsg(4, _socket.CMSG_LEN(4), all_of_it)
            asked = connection.recv(int.from_bytes(length), all_of_it)
            *words, seconds = marshal.loads(asked)  # noqa: S302
            job = Job(*words)
            directory = int.from_bytes(rights[0][2], sys.byteorder) if rights else -1
            signal.setitimer(signal.ITIMER_REAL, seconds)
            for answer in definitions(job) if job.output == OUTLINE else answers(job, directory):
                # Whoever kills this process wants to know the file that takes so long.
                if answer[0] not in {"done", "bad"}:
                    send(answer, now=answer[0] == "at")
            signal.setitimer(signal.ITIMER_REAL, 0)
            if rights:
                os.close(directory)
            send(answer, now=True)  # the last: whoever gets it may rely on a closed directory

r"""Regular expressions of Python's `re`, matched in another process that is killed at the deadline.

`re` cannot be interrupted, and no other thread runs while it matches. So nothing here looks at a
pattern but to translate it (`translated`); all else is done by a process that `regexp_worker` is
the program of. Two such processes stay for the next calls, and a killed one is replaced at once, so
that a call need not wait for a start. They end with the server, whose end of their stdin closes.

Most files hold no literal that the pattern requires. Their texts never leave this process. Where
google-re2 is installed, it finds the matches in lines of ASCII: in linear time, and without holding
other threads. If the pattern has parts that RE2 does not know, that process has the last word, but
only on the lines in which the other parts match.
"""

import marshal
import os
import re
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Self

from backstaff.errors import Unreachable
from backstaff.fs.budget import Budget

if TYPE_CHECKING:  # it takes long to load, and most servers never search
    import subprocess

PROGRAM = "backstaff.search.regexp_worker"
MAX_IDLE = 2
"""Processes that wait for the next call."""
TICK = 0.05
"""Seconds between two looks at a budget."""
PIECE = 1 << 16
"""Bytes that are read, or given to RE2, at once."""
SLOW = 0.05
"""Seconds for a piece after which RE2 is not asked any more. Most take a thousandth of that."""
MAX_PLACES = 1000
"""Where RE2 finds so many in a text, `re` searches all of it: it needs less for each."""
LAST_SECONDS = 1.0
"""A process that nobody killed at its deadline ends by itself so many seconds later."""

_START = "import marshal,sys;exec(marshal.loads(sys.stdin.buffer.read(%d)),{'__name__':'__main__'})"
_JAVASCRIPT = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|\(\?<(?P<group>[A-Za-z_]\w*)>"
    r"|\\k<(?P<back>[A-Za-z_]\w*)>"
    r"|\\u\{(?P<code>[0-9A-Fa-f]{1,6})\}"
    r"|(?P<property>\\[pP]\{[^}]*\}?)"
    r"|\\.",
    re.DOTALL,
)


Likely = tuple[bytes, Sequence[tuple[int, int]] | None]
"""A text, and the places in it where RE2 matches; None where it was not asked, or knew too many."""


_ANCHORS = dict.fromkeys((r"\<", r"\>", r"\_<", r"\_>"), r"\b") | {r"\`": r"\A", r"\'": r"\Z"}
"""What Emacs writes for the ends of words, symbols and texts."""


_POSIX = {
    "alpha": "a-zA-Z",
    "alnum": "a-zA-Z0-9",
    "blank": r" \t",
    "digit": r"\d",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
"""What the classes of POSIX and Emacs are within Python's brackets; letters are those of ASCII."""


class BadRegexp(ValueError):
    """A pattern that cannot be used. `position` counts its characters from 0; None is nowhere."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.position = position


def translated(pattern: str) -> str:
    r"""PATTERN with what JavaScript alone has in the words of Python. Raises `BadRegexp`.

    `(?<name>x)\k<name>\u{1F600}` becomes `(?P<name>x)(?P=name)\U0001F600`. Both know `\/`.
    """

    def python(found: re.Match[str]) -> str:
        if name := found["group"]:
            return f"(?P<{name}>"
        if name := found["back"]:
            return f"(?P={name})"
        if found["code"]:
            return _character(found)
        if found["property"]:
            raise BadRegexp(
                rf"Python has no {found[0]}: write [^\W\d_] for a letter, \d for a digit,"
                r" \w for either",
                found.start(),
            )
        return found[0]

    return _JAVASCRIPT.sub(python, pattern)


def from_emacs(pattern: str) -> str:
    r"""PATTERN, a regexp of Emacs, in the words of Python: `\(a\|b\)` becomes `(a|b)`."""

    def python(found: re.Match[str]) -> str:
        part = found[0]
        if len(part) == 1:
            return f"\\{part}"
        return part[1:] if part[1] in "(){}|" else _ANCHORS.get(part, part)

    return from_posix(re.sub(r"\\_?.|[(){}|]", python, pattern, flags=re.DOTALL))


def from_posix(pattern: str) -> str:
    r"""PATTERN with POSIX classes in the words of Python: `[[:digit:]_]+` becomes `[\d_]+`."""
    return re.sub(r"\[:([a-z]+):\]", lambda found: _POSIX.get(found[1], found[0]), pattern)


def _character(found: re.Match[str]) -> str:
    if (code := int(found["code"], 16)) > sys.maxunicode:
        raise BadRegexp(f"there is no character {found[0]}", found.start())
    return f"\\U{code:08X}"


@dataclass(slots=True)
class Regexp:
    """PATTERN in a process of its own; use it as a context manager, within BUDGET.

    `literals` are in UTF-8: a text without any of them holds no match. Where case does not count
    they are in small letters.
    """

    pattern: str
    ignore_case: bool
    budget: Budget
    literals: Sequence[bytes] = ()
    _linear: Any = None
    """The pattern in the words of RE2, compiled; or None."""
    _worker: "_Worker" = field(init=False)

    def __enter__(self) -> Self:
        """Compile the pattern. Raises `BadRegexp`, `DeadlineExceeded` and `Cancelled`."""
        self._worker = _Worker.take()
        try:
            self._ask("compile", self.pattern, self.ignore_case)
            literals, self.ignore_case, linear = self.answer()
        except BaseException:
            self.__exit__()
            raise
        if self.ignore_case:
            literals = [literal.lower() for literal in literals]
        self.literals = [literal.encode("utf-8", "surrogatepass") for literal in literals]
        self._linear = _compiled(linear)
        return self

    def __exit__(self, *_: object) -> None:
        """Give the process back, or end it if it still works."""
        self._worker.give_back()

    def likely(self, texts: Sequence[bytes], together: bytes) -> Iterator[tuple[int, Likely]]:
        """The numbers of TEXTS with a line that can match, and what is known of each.

        TOGETHER are the texts as one, with a newline between two. Raises as `Budget.check` does.
        """
        ends = list(accumulate((len(text) + 1 for text in texts), initial=-1))[1:]
        for number in sorted(self._candidates(together, ends)):
            if text := texts[number]:
                places = self._places(text)
                if places != []:
                    yield number, (text, places)

    def _candidates(self, together: bytes, ends: Sequence[int]) -> Collection[int]:
        """The numbers of texts that hold a literal; of all, if that does not tell."""
        everything = range(len(ends))
        if not self.literals:
            return everything
        if self.ignore_case:
            if not together.isascii():
                return everything  # a long s is a small one, too
            together = together.lower()
        found = set()
        for literal in self.literals:
            at = together.find(literal)
            while at >= 0:
                number = bisect_left(ends, at)
                found.add(number)
                at = together.find(literal, ends[number] + 1)
        return found

    def _places(self, text: bytes) -> list[tuple[int, int]] | None:
        """Where RE2 matches in TEXT; None if it is not asked, or there are too many.

        RE2 cannot be interrupted, so it gets a piece at a time, which ends with a line.
        """
        places: list[tuple[int, int]] = []
        start, end = 0, len(text) - text.endswith(b"\n")
        while start <= end:
            if self._linear is None or len(places) >= MAX_PLACES:
                return None
            self.budget.check()
            stop = end if end - start <= PIECE else text.rfind(b"\n", start, start + PIECE)
            if stop < 0:
                return None  # a long line
            began = time.monotonic()
            found = islice(self._linear.finditer(text, start, stop), MAX_PLACES)
            places += [one.span() for one in found]
            if time.monotonic() - began > SLOW:
                self._linear = None  # it has too many states
            start = stop + 1
        return places

    def search(self, texts: Sequence[Likely], output: str, skipped: int, most: int) -> None:
        """Let the process search TEXTS; `answer` then returns for each what `found_in` yields."""
        self._ask("search", texts, output, skipped, most, answers=len(texts))

    def answer(self) -> Any:  # noqa: ANN401 - of one of two questions
        """Wait for an answer. Raises `BadRegexp`, `DeadlineExceeded` and `Cancelled`."""
        try:
            word, value = self._worker.receive(self.budget)
        except OSError as error:
            raise Unreachable("the process that matches cannot be heard") from error
        if word == "bad":
            raise BadRegexp(*value)
        return value

    def _ask(self, *words: object, answers: int = 1) -> None:
        self.budget.check()
        # Nobody waits for ever, but a deadline can be infinite.
        seconds = min(self.budget.left(), 3600.0)
        self._worker.send((*words, seconds + LAST_SECONDS), answers)


@dataclass(slots=True, eq=False)
class _Worker:
    """A process that matches, and how many answers it still owes."""

    process: "subprocess.Popen[bytes]"
    owes: int = 0
    _received: bytearray = field(default_factory=bytearray)

    @classmethod
    def take(cls) -> Self:
        """One that waits, or a new one."""
        with _LOCK:
            while _IDLE:
                if (worker := _IDLE.pop()).process.poll() is None:
                    return worker  # type: ignore[return-value]  # there is no other class
                worker.end()
        return cls.start()

    @classmethod
    def start(cls) -> Self:
        """A new one, which is not waited for."""
        import subprocess

        # Nothing around it counts: neither settings, nor a project's modules. It writes no file.
        command = [sys.executable, "-I", "-S", "-B", "-W", "ignore", "-X", "utf8"]
        try:
            code = _code()
            process = subprocess.Popen(  # noqa: S603 - no shell, and no word comes from a caller
                [*command, "-c", _START % len(code)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise Unreachable("the system lets no process start to match the pattern") from error
        worker = cls(process)
        worker._write(code)
        return worker

    def send(self, message: tuple[Any, ...], answers: int) -> None:
        """Ask for so many ANSWERS. That a process has ended is noticed when one is awaited."""
        packed = marshal.dumps(message)
        self.owes += answers
        self._write(len(packed).to_bytes(4) + packed)

    def receive(self, budget: Budget) -> tuple[str, Any]:
        """The answer. Raises `DeadlineExceeded` and `Cancelled`, and `BadRegexp` if it ended."""
        answer = marshal.loads(self._read(int.from_bytes(self._read(4, budget)), budget))  # noqa: S302
        # After a bad one no other comes.
        self.owes = 0 if answer[0] == "bad" else self.owes - 1
        return answer  # type: ignore[no-any-return]

    def give_back(self) -> None:
        """Keep it for the next call. One that still works is killed, and another started."""
        worker = self
        if self.owes:
            self.end()
            try:
                worker = _Worker.start()
            except Unreachable:
                return  # the next call tries again
        with _LOCK:
            if len(_IDLE) < MAX_IDLE:
                _IDLE.append(worker)
                return
        worker.end()

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        for pipe in self.process.stdin, self.process.stdout:
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _read(self, size: int, budget: Budget) -> bytes:
        received = self._received
        if len(received) < size:
            self._receive(size, budget)
        found = bytes(received[:size])
        del received[:size]
        return found

    def _receive(self, size: int, budget: Budget) -> None:
        """Wait for at least SIZE bytes."""
        import selectors

        if self.process.stdout is None:
            raise ValueError("the process was started without pipes")
        pipe = self.process.stdout.fileno()
        # Unlike others, it takes no descriptor of its own.
        with getattr(selectors, "PollSelector", selectors.DefaultSelector)() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while len(self._received) < size:
                budget.check()
                if selector.select(min(TICK, max(0.0, budget.left()))):
                    if not (piece := os.read(pipe, max(size, PIECE))):
                        raise BadRegexp("it takes too much memory or time")
                    self._received += piece

    def _write(self, data: bytes) -> None:
        if self.process.stdin is None:
            raise ValueError("the process was started without pipes")
        with suppress(OSError):  # whoever waits for an answer learns of it
            while data:
                data = data[os.write(self.process.stdin.fileno(), data) :]


_IDLE: list[_Worker] = []
_LOCK = threading.Lock()


def _compiled(linear: str) -> Any:  # noqa: ANN401 - the package has no types
    """What finds LINEAR; None where google-re2 is not installed or takes it not."""
    try:
        import re2  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    try:
        return re2.compile(linear.encode(), options)
    except re2.error:
        return None


@cache
def _code() -> bytes:
    """The program, compiled. It may come from a file or, on another host, from memory."""
    spec = find_spec(PROGRAM)
    loader: Any = spec and spec.loader
    return marshal.dumps(loader.get_code(PROGRAM))

"""An EPC server whose methods show every way in which a server can misbehave.

`fake_server.py START`: START names a fault before the first call, or `A=B` lets the method B answer
in A's place. Else the called method chooses the fault. Frames are written by hand, because most
faults are in them.
"""

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

IN: BinaryIO = sys.stdin.buffer
OUT: BinaryIO = sys.stdout.buffer
LARGEST = 0xFFFFFF
CALL = re.compile(rb"\(call (\d+) ([^\s()]+) (.*)\)\n\Z", re.DOTALL)

Method = Callable[[int, bytes], None]

METHODS: dict[str, Method] = {}
cancelled: list[int] = []
waiting: list[int] = []


def method(function: Method) -> Method:
    """Let `function` be called under its own name, with its uid and the text of its arguments."""
    METHODS[function.__name__.replace("_", "-")] = function
    return function


def write(data: bytes) -> None:
    """Write `data` as it is."""
    OUT.write(data)
    OUT.flush()


def frame(body: bytes) -> bytes:
    """BODY with its length before it."""
    return b"%06x%s" % (len(body), body)


def answer(uid: int, value: bytes, kind: bytes = b"return") -> None:
    """Answer call `uid` with `value`, which is Lisp."""
    write(frame(b"(%s %d %s)\n" % (kind, uid, value)))


def quoted(text: str) -> bytes:
    """TEXT as a Lisp string."""
    return b'"' + text.replace("\\", "\\\\").replace('"', '\\"').encode() + b'"'


def log(text: str) -> None:
    """Write `text` to standard error, at once."""
    sys.stderr.write(text)
    sys.stderr.flush()


@method
def echo(uid: int, arguments: bytes) -> None:
    """Return the arguments, after an answer to all that stalled."""
    while waiting:
        answer(waiting.pop(0), b"late")
    answer(uid, arguments)


@method
def source(uid: int, arguments: bytes) -> None:
    """Return the arguments as the text that came."""
    answer(uid, quoted(arguments.decode(errors="surrogateescape")))


@method
def stall(uid: int, _: bytes) -> None:
    """Answer when there is something to echo."""
    waiting.append(uid)


@method
def cancel(uid: int, arguments: bytes) -> None:
    """Note that a call was cancelled."""
    cancelled.extend(int(number) for number in re.findall(rb"\d+", arguments))
    answer(uid, b"t")


@method
def cancellations(uid: int, _: bytes) -> None:
    """Return the uids of all calls that were cancelled."""
    answer(uid, b"(%s)" % b" ".join(b"%d" % number for number in cancelled))


@method
def deaf(uid: int, _: bytes) -> None:
    """Answer, then read nothing until signal USR1 comes."""
    signal.signal(signal.SIGUSR1, lambda *_: None)
    answer(uid, b"deaf")
    signal.pause()


@method
def die(_uid: int, _: bytes) -> None:
    """Exit with last words."""
    log("first line\nlast words\n")
    os._exit(7)


@method
def answer_and_die(uid: int, _: bytes) -> None:
    """Exit right after the answer."""
    answer(uid, b"done")
    os._exit(0)


@method
def hang_up(_uid: int, _: bytes) -> None:
    """Close standard output and live on."""
    os.close(1)


@method
def answer_and_hang_up(uid: int, _: bytes) -> None:
    """Answer behind much for nobody, close standard output and live on."""
    write(frame(STRAY) * 20_000)
    answer(uid, b"done")
    os.close(1)


STRAY = b"(return 99999 nil)\n"


@method
def hang_up_late(_uid: int, _: bytes) -> None:
    """Write many small answers to nobody, close standard output and live on."""
    write(frame(STRAY) * 20_000)
    os.close(1)


@method
def flood(_uid: int, _: bytes) -> None:
    """Write small answers to nobody until nobody reads them."""
    while True:
        try:
            write(frame(STRAY) * 2_600)
        except BrokenPipeError:
            os._exit(0)


@method
def junk(_uid: int, _: bytes) -> None:
    """Print a line that is no frame."""
    write(b"Traceback (most recent call last):\n")


@method
def half(_uid: int, _: bytes) -> None:
    """Begin a frame and fall silent."""
    write(b"0000ff(return ")


@method
def raw(uid: int, arguments: bytes) -> None:
    """Write a frame whose body is the string given, with `uid` for %d."""
    text = arguments.strip()[2:-2].replace(b'\\"', b'"').replace(b"\\\\", b"\\")
    write(frame(text.replace(b"%d", b"%d" % uid)))


@method
def largest(uid: int, _: bytes) -> None:
    """Fill the largest frame there can be, in many writes."""
    head, tail = b'(return %d "' % uid, b'")\n'
    data = frame(head + b"x" * (LARGEST - len(head) - len(tail)) + tail)
    for start in range(0, len(data), 65536):
        write(data[start : start + 65536])


@method
def sized(uid: int, arguments: bytes) -> None:
    """Return a string of so many characters."""
    answer(uid, b'"' + b"x" * int(arguments.strip(b"()")) + b'"')


@method
def names(uid: int, _: bytes) -> None:
    """Return names as our own server writes them: escapes, and stray bytes as they are."""
    answer(uid, rb'("\u00e9" "\U0001F600" "' + b"clich\xe9" + rb'" "\u00e9' + b"\xff" + rb'" "ok")')


@method
def twice(uid: int, _: bytes) -> None:
    """Answer twice, with a stray and an unaddressed answer between."""
    answer(uid, b"first")
    answer(999999, b"stray")
    write(frame(b'(epc-error nil "what?")\n'))
    answer(uid, b"second")


@method
def refuse(uid: int, _: bytes) -> None:
    """Answer with an error of the method's."""
    answer(uid, b'"no such thing"', b"return-error")


@method
def misuse(uid: int, _: bytes) -> None:
    """Answer with an error of the protocol's."""
    answer(uid, b'"no such method"', b"epc-error")


@method
def chatter(uid: int, _: bytes) -> None:
    """Write a megabyte to standard error, then answer."""
    log("0123456789abcde\n" * 65536)
    answer(uid, b"done")


@method
def environment(uid: int, _: bytes) -> None:
    """Return the working directory and the names of some variables."""
    found = [name for name in os.environ if name.startswith(("PYTHON", "BACKSTAFF_TEST"))]
    answer(uid, b"(%s)" % b" ".join(map(quoted, [str(Path.cwd()), *sorted(found)])))


@method
def hello(uid: int, _: bytes) -> None:
    """Shake hands."""
    answer(uid, b'(:protocol 1 :version "0.1.0" :pid %d)' % os.getpid())


@method
def ping(uid: int, _: bytes) -> None:
    """Give a sign of life."""
    answer(uid, b"t")


@method
def reply(uid: int, _: bytes) -> None:
    """Answer as a tool does."""
    answer(uid, b'(:ok t :tool "fake/reply" :text "as text" :data (:pid %d))' % os.getpid())


@method
def stuck(uid: int, _: bytes) -> None:
    """Answer that the server is stuck."""
    error = b'(:code "SERVER_STUCK" :message "stuck" :server-stuck t)'
    answer(uid, b'(:ok nil :tool "fake/stuck" :text "Error: stuck" :error %s)' % error)


@method
def describe(uid: int, _: bytes) -> None:
    """Describe one tool."""
    answer(uid, b'((:id "fake/reply" :pid %d))' % os.getpid())


class Otherwise(dict[str, Method]):
    """All methods, and one that answers to every other name."""

    def __init__(self, other: Method) -> None:
        """Let `other` be that one."""
        super().__init__(METHODS)
        self.other = other

    def __missing__(self, _name: str) -> Method:
        """The method for a name that is not among them."""
        return self.other


def serve(methods: dict[str, Method] = METHODS) -> None:
    """Answer until standard input ends."""
    while header := IN.read(6):
        match = CALL.match(IN.read(int(header, 16)))
        if match is None:
            raise SystemExit("unreadable request")
        name, arguments = match[2].decode(), match[3]
        methods[name](int(match[1]), arguments)


def serve_with(exchange: str) -> None:
    """Serve with `exchange`: in `A=B`, B answers in A's place."""
    name, _, other = exchange.partition("=")
    serve({**METHODS, name: METHODS[other]})


def start_silent() -> None:
    """Take everything and answer nothing."""
    log("still loading\n")
    while IN.read(1):
        pass


def start_fail() -> None:
    """Fail as a Python does that lacks a module."""
    log("ModuleNotFoundError: No module named 'sexpdata'\n")
    raise SystemExit(1)


def start_other_protocol() -> None:
    """Speak a later protocol."""
    serve({**METHODS, "hello": lambda uid, _: answer(uid, b'(:protocol 2 :version "0.1.0")')})


def start_foreign() -> None:
    """Be some other EPC server."""
    serve({**METHODS, "hello": misuse})


def start_stalling() -> None:
    """Let all tools stall."""
    serve(Otherwise(stall))


def start_dying() -> None:
    """Die at the first call of a tool."""
    serve(Otherwise(die))


def start_noisy() -> None:
    """Print a greeting to where frames belong."""
    write(b"Welcome!\n")
    IN.read()


STARTS: dict[str, Callable[[], None]] = {
    "serve": serve,
    "silent": start_silent,
    "fail": start_fail,
    "exit": sys.exit,
    "other-protocol": start_other_protocol,
    "foreign": start_foreign,
    "noisy": start_noisy,
    "stalling": start_stalling,
    "dying": start_dying,
}

if __name__ == "__main__":
    if "=" in sys.argv[1]:
        serve_with(sys.argv[1])
    else:
        STARTS[sys.argv[1]]()

"""The first program on another host: asks for the payload, checks it, and runs it from memory.

It stands on the command line of the host's Python, `python3 -I -S -X utf8 -c PROGRAM NONCE SHA
SIZE ...`, so it is small, and so plain that a Python that is too old can run it and say so. SHA and
SIZE are of the payload.

It prints lines `BS-WORD:ECNON:TEXT`, with the nonce reversed: neither the output of a login shell
nor an echoed command line can look like one. NEED asks for the payload of the named hash on stdin,
FAIL says why there will be no server; READY comes from the payload. Nothing is written on the host.
"""

import hashlib
import marshal
import os
import sys
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

NONCE, SHA = sys.argv[1:3]
SIZE = int(sys.argv[3])


def say(word: str, text: str) -> None:
    os.write(1, ("BS-%s:%s:%s\n" % (word, NONCE[::-1], text)).encode())


def fail(status: int, text: str) -> "NoReturn":
    say("FAIL", text)
    sys.exit(status)


def main() -> None:
    if os.isatty(0):
        import tty

        tty.setraw(0)
    if sys.version_info < (3, 11):
        fail(77, "it is Python %d.%d" % sys.version_info[:2])
    say("NEED", SHA)
    data = b""
    while len(data) < SIZE:
        piece = os.read(0, min(SIZE - len(data), 65536))
        if not piece:
            fail(75, "the upload ended early")
        data += piece
    if hashlib.sha256(data).hexdigest() != SHA:
        fail(76, "the upload is not what was announced")
    files = marshal.loads(zlib.decompress(data))
    exec(files["start"], {"files": files, "say": say})


if __name__ == "__main__":
    main()

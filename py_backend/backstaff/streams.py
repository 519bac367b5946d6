"""stdin and stdout as a protocol's alone."""

import os
import sys
import threading
from collections.abc import Callable

READ_BYTES = 1 << 16
MAX_REQUEST_BYTES = 8 << 20  # 4 MiB of unsaved text take 5.6 in Base64


def take_over_stdio() -> tuple[int, int, Callable[[bytes], None]]:
    """Return the descriptors of requests and of answers, and a function that writes a whole answer.

    From then on a stray `print` goes to stderr, and nothing else can read the client's requests.
    """
    incoming, outgoing = os.dup(0), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    lock = threading.Lock()

    def send(data: bytes) -> None:
        with lock:
            outgoing.write(data)
            outgoing.flush()

    return incoming, outgoing.fileno(), send

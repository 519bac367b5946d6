"""The first program on another host: finds the payload in a cache, or asks for it, and runs it.

It stands on the command line of the host's Python, `python3 -I -S -X utf8 -c PROGRAM NONCE SHA
SIZE SETTINGS`, so it is small, and so plain that a Python that is too old can run it and say so.
SHA and SIZE describe the payload; SETTINGS is the size of the settings that follow READY.
It prints lines `BS-WORD:ECNON:TEXT`, with the nonce reversed: neither the output of a login shell
nor an echoed command line can look like one. NEED asks for the payload of the named hash on stdin,
FAIL says why there will be no server; READY comes from the payload.

The cache is `backstaff` below XDG_CACHE_HOME, if that is absolute, or ~/.cache; a file's name is
its hash. Only bytes with the client's hash run, and exactly the checked bytes: nothing is opened
twice. The directory must be this user's own, mode 0700, no link; it is made only where its parent
is this user's too (root in a user's home leaves nothing behind). Else there is no cache.
"""

import hashlib
import marshal
import os
import sys
import time
import zlib

NONCE, SHA = sys.argv[1:3]
SIZE = int(sys.argv[3])
MONTH = 30 * 86400
MINE = 0o700


def say(word: str, text: str = "") -> None:
    os.write(1, ("BS-%s:%s:%s\n" % (word, NONCE[::-1], text)).encode())


def fail(status: int, text: str) -> None:
    say("FAIL", text)
    sys.exit(status)


def cache() -> int:
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base[:1] != "/":
        base = os.environ.get("HOME", "") + "/.cache"
    if base[:1] != "/" or base == "/.cache":
        return -1
    try:
        for made in base, base + "/backstaff":
            if not os.path.isdir(made):
                if os.stat(os.path.dirname(made)).st_uid != os.geteuid():
                    return -1
                os.makedirs(made, MINE, exist_ok=True)
        found = os.open(made, os.O_DIRECTORY | os.O_NOFOLLOW)
        facts = os.fstat(found)
        if facts.st_uid == os.geteuid() and facts.st_mode & 0o777 == MINE:
            return found
    except OSError:
        pass
    return -1


def fits(data: bytes) -> bool:
    return len(data) == SIZE and hashlib.sha256(data).hexdigest() == SHA


def kept(place: int) -> bytes:
    try:
        with open(os.open(SHA, os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place), "rb") as file:
            return file.read(SIZE + 1)
    except (OSError, ValueError):
        return b""


def take(size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(0, min(size - len(data), 65536))
        if not piece:
            break
        data += piece
    return data


def keep(place: int, data: bytes) -> None:
    mine = SHA + "." + NONCE
    try:
        new = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=place)
        try:
            with open(new, "wb") as file:
                file.write(data)
            os.rename(mine, SHA, src_dir_fd=place, dst_dir_fd=place)
        except OSError:
            os.unlink(mine, dir_fd=place)
        for name in os.listdir(place):
            if os.stat(name, dir_fd=place, follow_symlinks=False).st_mtime < time.time() - MONTH:
                os.unlink(name, dir_fd=place)
    except OSError:
        pass


def main() -> None:
    if os.isatty(0):
        import tty

        tty.setraw(0)
    if sys.version_info < (3, 11):
        fail(77, "it is Python %d.%d" % sys.version_info[:2])
    place = cache()
    data = kept(place)
    how = "cached"
    if not fits(data):
        say("NEED", SHA)
        data = take(SIZE)
        if len(data) < SIZE:
            fail(75, "the upload ended early")
        if not fits(data):
            fail(76, "the upload is not what was announced")
        how = "uncached" if place < 0 else "sent"
        keep(place, data)
    files = marshal.loads(zlib.decompress(data))
    start = files["backstaff_remote/memory.py"] + b"\nstart(files, say, take, how)\n"
    name = "backstaff_remote.memory"
    exec(start, {"__name__": name, "files": files, "how": how, "say": say, "take": take})


if __name__ == "__main__":
    main()

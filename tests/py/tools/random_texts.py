"""Files of all sorts of text for `read_file`, and a slow and simple reader of them.

The reader holds the whole file, decodes it at once and splits it, which the tool never does.
"""

import codecs
from dataclasses import dataclass
from random import Random

ENDS = ("\n", "\r\n", "\r", "\n\n", "\r\r\n", "\n\r")
WORDS = ("def run():", "x", "", "naïve", "日本語", "кот", "\U0001f600", "\t", "\x1b[31m", "[more]")
NUL_BYTES = 8 << 10
LINE_BYTES = 2_000
MEBIBYTE = 1 << 20

# A codec, the bytes before the text, and who says so: the file itself, its cookie, the buffer that
# visits it, or the caller.
ENCODINGS = (
    *(("utf-8", b"", "file"),) * 4,
    ("utf-8", b"\xef\xbb\xbf", "file"),
    ("utf-16-le", b"\xff\xfe", "file"),
    ("utf-16-be", b"\xfe\xff", "file"),
    ("utf-32-le", b"\xff\xfe\0\0", "file"),
    ("utf-32-be", b"\0\0\xfe\xff", "file"),
    ("utf-16-le", b"", "buffer"),
    ("utf-16-be", b"", "caller"),
    *(
        (codec, b"", who)
        for codec in ("latin-1", "cp1252")
        for who in ("cookie", "buffer", "caller")
    ),
    *((codec, b"", who) for codec in ("shift_jis", "euc_jp") for who in ("cookie", "caller")),
    ("gb18030", b"", "buffer"),
    ("koi8-r", b"", "caller"),
    ("iso2022_jp", b"", "buffer"),
)


@dataclass(frozen=True)
class RandomFile:
    """The bytes of a file, and its encoding according to a caller and to Emacs."""

    data: bytes
    codec: str
    mark: bytes
    coding: str = ""
    encoding: str | None = None

    def text(self) -> str | None:
        """The decoded text; None if the file is binary."""
        wide = self.codec.startswith(("utf-16", "utf-32"))
        if b"\0" in self.data[:NUL_BYTES] and not wide:
            return None
        if self.codec.startswith("utf-16") and self.data.startswith(codecs.BOM_UTF32_LE):
            return (
                None  # a NUL behind the mark of UTF-16 makes it that of UTF-32, which this is not
            )
        body = self.data[len(self.mark) :]
        # A text may be UTF-8 by chance, and that goes before any other statement.
        if not self.mark and b"\0" not in self.data[:NUL_BYTES]:
            try:
                return body.decode()
            except UnicodeDecodeError:
                pass
        return body.decode(self.codec)

    def lines(self) -> list[str]:
        """The lines as the contract counts them (read 1)."""
        text = self.text()
        assert text is not None
        text = text.replace(*(("\r\n", "\n") if "\n" in text else ("\r", "\n")))
        return text.split("\n") if text else []


def random_file(random: Random) -> RandomFile:
    """A file of up to some hundred lines; one in a hundred has lines of a mebibyte."""
    codec, mark, who = random.choice(ENCODINGS)
    cookie = f"-*- coding: {codec} -*-\n" if who == "cookie" else ""
    text = cookie + _text(random)
    data = mark + text.encode(codec, "ignore")
    return RandomFile(
        data,
        codec,
        mark,
        coding=f"{codec}-unix" if who == "buffer" else "",
        encoding=codec if who == "caller" else None,
    )


def _text(random: Random) -> str:
    ends = random.choice([ENDS[:1], ENDS[1:2], ENDS[2:3], ENDS[:3], ENDS])
    count = random.choice([0, 1, 2, 5, 30, 300])
    if random.random() < 0.01:
        # No text has more than 4 MiB, an escape takes six bytes, and a lone CR joins two of these.
        letter, part = random.choice([("x", 1), ("é", 2), ("\r", 4)])
        size = MEBIBYTE // part
        size += random.randint(-2, 2)
        return "".join(letter * size + random.choice(ends) for _ in range(min(count, 2)))
    lines = [_line(random) + random.choice(ends) for _ in range(count)]
    if lines and random.random() < 0.5:
        lines[-1] = lines[-1].rstrip("\r\n")
    return "".join(lines)


def _line(random: Random) -> str:
    sort = random.random()
    if sort < 0.02:
        return random.choice("xé日\U0001f600") * random.choice([499, 1000, 1999, 2000, 2001, 5000])
    if sort < 0.021:
        return "\0"
    return " ".join(random.choice(WORDS) for _ in range(random.randint(0, 6)))


def window(lines: list[str], start: int, count: int) -> tuple[str, list[int], int | None]:
    """The content, the numbers of cut lines, and the next start for a window without a limit."""
    wanted = lines[start - 1 : start - 1 + count]
    cut = []
    if len(wanted) > 1:
        for at, line in enumerate(wanted):
            if len(line.encode()) > LINE_BYTES:
                wanted[at] = line.encode()[:LINE_BYTES].decode(errors="ignore")
                cut.append(start + at)
    after = start + len(wanted)
    return "\n".join(wanted), cut, after if wanted and after <= len(lines) else None

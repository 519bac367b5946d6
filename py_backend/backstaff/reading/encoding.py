"""The encoding of a text, by facts and never by a guess.

A byte order mark decides; else strict UTF-8; else the coding of the buffer that visits the file;
else a coding cookie in the first two lines; else the caller's word. The first that decodes
everything is the encoding. A guess is only ever a suggestion.

Bytes that Emacs made of a buffer are an exception, because Emacs names their encoding: the coding
of the buffer decides, even if they could be UTF-8 as well.

A NUL in the first `HEAD_BYTES` makes a file binary, unless one of these says UTF-16 or UTF-32.
"""

import codecs
import re
import unicodedata

HEAD_BYTES = 8 << 10  # bytes at the start in which a NUL makes a file binary (read 5)
COOKIE_BYTES = 1 << 10  # at the start, of whose first two lines one may have a cookie
MAX_NAME = 64  # maximum length of the name of an encoding; Emacs's longest has 30 characters
MAX_SUGGESTIONS = 3  # encodings that an error suggests

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like the next
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_COOKIE = re.compile(rb"coding[:=]\s*[\"']?([-\w.]+)", re.ASCII)
_AROUND = re.compile("-(unix|dos|mac)$|^(japanese|chinese)-(?!iso)")
_LATIN = re.compile(r"^iso-latin-(\d+)$")
_OF_EMACS = {  # names that Python does not know; MIME has Emacs's other names for the same
    "utf-8-with-signature": "utf-8-sig",
    "utf-16le-with-signature": "utf-16",
    "utf-16be-with-signature": "utf-16",
    "mule-utf-8": "utf-8",
    "japanese-iso-8bit": "euc_jp",
    "chinese-iso-8bit": "gb2312",
    "korean-iso-8bit": "euc_kr",
    "cyrillic-koi8": "koi8-r",
    "cyrillic-iso-8bit": "iso8859-5",
}
# Codecs for text in which no file is written, or that accept nearly everything.
_NO_ENCODINGS = {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"}

_WESTERN = ("cp1252", "latin-1")
_EASTERN = ("euc_jp", "shift_jis", "gb18030", "big5", "euc_kr", "cp1251", "koi8-r")
# The first bytes of binary files. The extension of a name tells more rarely met kinds.
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"%PDF-", "PDF"),
    (b"\x7fELF", "ELF"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"SQLite format 3\0", "SQLite"),
)


def codec(name: str) -> str:
    """Return Python's name of the encoding that Emacs, MIME or a person calls `name`; or ""."""
    if len(name) > MAX_NAME:
        return ""
    plain = _AROUND.sub("", name.strip().lower())
    plain = _LATIN.sub(r"latin\1", _OF_EMACS.get(plain, plain))
    try:
        found = codecs.lookup(plain)
    except (LookupError, ValueError):
        return ""
    # The attribute of CPython is False for `base64` and the like.
    if found.name in _NO_ENCODINGS or not getattr(found, "_is_text_encoding", True):
        return ""
    return "latin-1" if found.name == "iso8859-1" else found.name


def candidates(head: bytes, coding: str, encoding: str, *, sure: bool) -> list[str]:
    """Return the encodings to try, in this order; none if `head`, the first bytes, is binary.

    `coding` is Emacs's, which is `sure` if it made the bytes, and `encoding` the caller's, or "".
    """
    mark = next((name for bom, name in _BOMS if head.startswith(bom)), "")
    lines = re.split(rb"\r\n|\n|\r", head[:COOKIE_BYTES])[:2]
    cookie = next((found[1].decode() for one in lines if (found := _COOKIE.search(one))), "")
    told = [codec(name) for name in (coding, cookie, encoding)]
    made = [told[0]] if sure else []
    names = list(dict.fromkeys(filter(None, [*made, mark, "utf-8", *told])))
    return [name for name in names if b"\0" not in head or name.startswith(("utf-16", "utf-32"))]


def kind(head: bytes) -> str:
    """Return the kind of a binary file that begins with `head`; "" if it is not known."""
    return next((name for magic, name in _KINDS if head.startswith(magic)), "")


def suggestions(sample: bytes) -> list[str]:
    """Return some likely encodings of `sample`, bytes around one that is not UTF-8, the best first.

    High bytes mostly stand alone in Western texts, and side by side in others.
    """

    def reads_well(name: str) -> bool:  # nine tenths, ASCII aside, are letters and punctuation
        beyond = [one for one in sample.decode(name, "replace") if not one.isascii()]
        letters = sum(unicodedata.category(one)[0] in "LPM" for one in beyond)
        # The characters that were cut at the ends become U+FFFD.
        return beyond.count("\ufffd") <= 2 and letters >= len(beyond) * 0.9  # noqa: PLR2004

    high = len(re.findall(rb"[\x80-\xff]", sample))
    together = len(re.findall(rb"[\x80-\xff](?=[\x80-\xff])", sample))
    names = (*_EASTERN, *_WESTERN) if together > high / 2 else _WESTERN
    return list(filter(reads_well, names))[:MAX_SUGGESTIONS] or ["latin-1"]

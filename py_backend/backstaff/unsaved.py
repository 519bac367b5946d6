"""Texts of Emacs buffers that are not saved yet, as a client sends them in the context of a call.

A call names every such text, but its bytes are sent once: the server keeps them by their digest. A
call with a digest that the server does not know is refused with the code UNSAVED_NEEDED. The client
then sends these bytes, in pieces (`keep_text`) or with the call, and calls again.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from backstaff.arguments import MAX_ITEMS, Nil, Symbol
from backstaff.cache import LRUCache
from backstaff.errors import ErrorCode, ToolError
from backstaff.render.lines import some_of
from backstaff.render.names import quote

MAX_CALL_BYTES = 4 << 20  # of all texts of one call together, sent now or before
MAX_KEPT_BYTES = 16 << 20  # of all texts that a server keeps
MAX_BEGUN = 4  # unfinished texts, each of up to `MAX_CALL_BYTES`
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class UnsavedText:
    """The bytes that saving a buffer would write, their SHA-256, and their coding."""

    data: bytes
    digest: str
    coding: str = ""  # its name as Emacs or MIME have it, such as `utf-8-unix`


@dataclass(frozen=True, slots=True)
class Named:
    """One item of `:unsaved`: `data` is None if the bytes were sent before."""

    name: str
    digest: str
    coding: str
    data: bytes | None


class UnsavedTexts:
    """The texts that a server keeps, by digest. Only the thread that reads requests uses it."""

    def __init__(self) -> None:
        self.kept = LRUCache[str, bytes](MAX_KEPT_BYTES + MAX_ITEMS, len)
        self.begun = LRUCache[str, bytes](MAX_BEGUN)

    def keep_text(self, digest: object, size: object, offset: object, data: object) -> int:
        """Take the piece at `offset` of a text, in Base64; return the number of bytes so far.

        `digest` and `size` are of the whole text. Calls can name it then. Raises `ToolError`.
        """
        piece = _decoded(data)
        if not (isinstance(digest, str) and isinstance(offset, int) and piece is not None) or not (
            isinstance(size, int) and 0 <= size <= MAX_CALL_BYTES
        ):
            kinds = f"a string, a size of at most {MAX_CALL_BYTES} bytes, an offset and Base64"
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"keep_text takes {kinds}")
        if self.kept.get(digest) is not None:
            return size
        text = self.begun.get(digest) or b""
        text += piece if offset == len(text) else b""
        self.begun.put(digest, text if len(text) < size else b"")
        if len(text) < size:
            return len(text)
        if hashlib.sha256(text).hexdigest() != digest:
            problem = "the pieces have another digest than they should"
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"keep_text refuses them: {problem}")
        self.kept.put(digest, text)
        return size

    def have(self, digest: str) -> int | bool:
        """Return how many bytes of a text are here; True if it is here in full."""
        return self.kept.get(digest) is not None or len(self.begun.get(digest) or b"")

    def received(self, items: Sequence[Named]) -> Mapping[str, UnsavedText]:
        """Keep the texts that `items` bring, and return each by its name. Raises `ToolError`."""
        found = {item.digest: item.data for item in items if item.data is not None}
        for item in items:
            if (kept := self.kept.get(item.digest)) is not None:
                found.setdefault(item.digest, kept)
        for digest, data in found.items():
            self.kept.put(digest, data)
        if missing := [item.name for item in items if item.digest not in found]:
            shown = some_of(map(quote, missing), len(missing), between=", ") or "some files"
            message = f"The unsaved text of {shown} is not known here: send its bytes again"
            raise ToolError(ErrorCode.UNSAVED_NEEDED, message, names=missing)
        total = sum(len(found[item.digest]) for item in items)
        if total > MAX_CALL_BYTES:
            raise _refusal("unsaved", f"names {total} bytes of text, more than {MAX_CALL_BYTES}")
        return {i.name: UnsavedText(found[i.digest], i.digest, i.coding) for i in items}


def unsaved(value: object) -> tuple[Named, ...]:
    """Decode `((NAME DIGEST CODING BASE64) ...)`, without BASE64 if the bytes were sent before."""
    found, key, form = list[Named](), "unsaved", "(NAME SHA256 CODING BASE64)"
    for name, rest in _items(value, key, form):
        match rest:
            case [str() as digest, coding] | [str() as digest, coding, None | Nil.NIL]:
                data = None
            case [str() as digest, coding, str() as text]:
                data = _decoded(text)
                if data is None or hashlib.sha256(data).hexdigest() != digest:
                    raise _refusal(key, f"has other bytes for {quote(name)} than its digest says")
            case _:
                raise _refusal(key, f"has an item that is not {form}")
        if not _DIGEST.fullmatch(digest):
            problem = f"has {quote(digest)} for {quote(name)}, not 64 hex digits in lower case"
            raise _refusal(key, problem)
        found.append(Named(name, digest, _coding(coding), data))
    return tuple(found)


def codings(value: object) -> dict[str, str]:
    """Decode `((NAME CODING) ...)`, the codings of buffers that are saved. Raises `ToolError`."""
    return {name: _coding(*rest[:1]) for name, rest in _items(value, "codings", "(NAME CODING)")}


def _items(value: object, key: str, form: str) -> Iterator[tuple[str, list[object]]]:
    """Yield the name that each item begins with, like `Place.relative`, and the rest of it."""
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise _refusal(key, f"must be a list of at most {MAX_ITEMS} {form}")
    for item in value:
        match item:
            case [str() as name, _, *_]:
                if "\0" in name or not {"", ".", ".."}.isdisjoint(name.split("/")):
                    problem = f"has the name {quote(name)}: it must be a path below the root"
                    raise _refusal(key, problem)
                yield name, item[1:]
            case _:
                raise _refusal(key, f"has an item that is not {form}")


def _coding(value: object) -> str:
    """Return the name of a coding, a string or a symbol; "" if it is not known."""
    name = value.name if isinstance(value, Symbol) else value
    return name if isinstance(name, str) else ""


def _decoded(data: object) -> bytes | None:
    """Return the bytes that `data` has in Base64, or None."""
    with suppress(ValueError):
        if isinstance(data, str):
            return base64.b64decode(data, validate=True)
    return None


def _refusal(key: str, problem: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, f"Context key '{key}' {problem}")

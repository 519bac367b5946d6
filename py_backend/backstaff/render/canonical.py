"""Canonical JSON (SRD FR-LD-OUT-02a): keys in the order given, no blanks, raw UTF-8, plain escapes.

Undecodable bytes of a name become U+FFFD, so the text is always valid. Members of a closed set are
written as their strings.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from json.encoder import encode_basestring

from backstaff.render.names import lossy
from backstaff.result import Rows


def to_json(value: object) -> str:
    """Return `value` (mappings, sequences, `Rows`, scalars) as one line of canonical JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return lossy(text)


def _plain(value: object) -> object:
    if isinstance(value, Rows):
        return list(value.objects())
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def rows_to_json(rows: Rows) -> list[str]:
    """Return `to_json` of each of `rows`, written column by column, the fastest way by its type."""

    def column(values: Sequence[object]) -> Iterable[str] | str:
        types = set(map(type, values))
        if types == {str}:
            return map(encode_basestring, map(lossy, values))  # type: ignore[arg-type]  # all str
        if types == {int}:
            return map(str, values)
        if len(types) == 1 and values.count(values[0]) == len(values):
            return to_json(values[0])
        return map(to_json, values)

    return list(rows.written("{,}", lambda key: f"{to_json(key)}:", column))

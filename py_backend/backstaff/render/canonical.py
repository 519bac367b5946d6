"""Canonical JSON (SRD FR-LD-OUT-02a): keys in the order given, no blanks, raw UTF-8, plain escapes.

Undecodable bytes of a name become U+FFFD, so the text is always valid. Members of a closed set are
written as their strings.
"""

import json
from collections.abc import Mapping

from backstaff.render.names import lossy
from backstaff.result import Rows


def to_json(value: object) -> str:
    """Return `value` (mappings, sequences, `Rows`, scalars) as one line of canonical JSON."""
    return lossy(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain))


def _plain(value: object) -> object:
    if isinstance(value, Rows):
        return list(value.objects())
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")

"""A plain model of contract 002, and cases for it."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.py.tools.forge.calls import BUILT_IN, Asked, Output
from tests.py.tools.random_trees import Below, What, at, starts, trees


def model(root: Path, below: Below, arguments: Asked) -> Output:
    """The output that section 3 of the contract describes."""
    asked: dict[str, Any] = {**BUILT_IN, "recursive": False, **arguments}
    start = tuple(part for part in asked["path"].strip().split("/") if part not in ("", "."))
    asked["most"] = asked["max_depth"] if asked["recursive"] else 1
    found = list(traversal(root.joinpath(*start), at(below, start), asked))
    kept = sorted(found[: asked["max_entries"]], key=lambda entry: str(entry["path"]).encode())
    return result("/".join(start) or ".", kept, asked["max_entries"], len(found) > len(kept))


def result(path: str, entries: list[Output], most: int, cut: object) -> Output:
    return {
        "path": lossy(path),
        "entries": entries,
        "returned": len(entries),
        "max_entries": most,
        "truncated": bool(cut),
        "truncated_reason": ("max_entries" if cut is True else cut) or None,
    }


def traversal(
    directory: Path, below: Below, asked: Asked, prefix: str = "", depth: int = 1
) -> Iterator[Output]:
    """Pre-order; names by their lossy form (FR-LD-LST-05), equal ones by their bytes."""
    for name in sorted(below, key=lambda name: (lossy(name).encode(), os.fsencode(name))):
        what = below[name]
        if name.startswith(".") and not asked["include_hidden"]:
            continue
        if asked[INCLUDED_BY[type_of(what)]]:
            yield entry(directory / name, prefix + name, depth, what)
        if isinstance(what, Mapping) and depth < asked["most"]:
            yield from traversal(directory / name, what, asked, f"{prefix}{name}/", depth + 1)


INCLUDED_BY = {
    "file": "include_files",
    "dir": "include_dirs",
    "symlink": "include_symlinks",
    "other": "include_other",
}


def type_of(what: What) -> str:
    match what:
        case None:
            return "other"
        case int():
            return "file"
        case str():
            return "symlink"
        case _:
            return "dir"


def entry(there: Path, path: str, depth: int, what: What) -> Output:
    name = path.rpartition("/")[2]
    return {
        "name": lossy(name),
        "path": lossy(path),
        "depth": depth,
        "type": type_of(what),
        "size_bytes": what if isinstance(what, int) else None,
        "modified_epoch_ms": there.lstat().st_mtime_ns // 1_000_000,
        "is_hidden": name.startswith("."),
        "error_code": None,
        "error": None,
    }


def lossy(text: str) -> str:
    return re.sub("[\udc80-\udcff]", "\ufffd", text)


ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def written(value: object) -> str:
    """Return `value` as canonical JSON (FR-LD-OUT-02a), by code that is not under test."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            escaped = (ESCAPES.get(c) or (c if c >= " " else f"\\u{ord(c):04x}") for c in value)
            return f'"{"".join(escaped)}"'
        case list():
            return f"[{','.join(map(written, value))}]"
        case dict():
            return f"{{{','.join(f'{written(k)}:{written(v)}' for k, v in value.items())}}}"
    raise AssertionError(value)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Below, dict[str, Any]]:
    """A tree and arguments that fit it."""
    below = draw(trees)
    start = draw(st.just(()) | st.sampled_from(sorted(filter(speakable, starts(below)))))
    optional = {
        "max_entries": st.integers(1, 25),
        "include_hidden": st.booleans(),
        "include_files": st.booleans(),
        "include_dirs": st.booleans(),
        "include_other": st.booleans(),
    }
    chosen = draw(st.fixed_dictionaries({}, optional=optional))
    if draw(st.booleans()):
        depth = draw(st.none() | st.integers(1, 4))
        chosen |= {"recursive": True} | ({} if depth is None else {"max_depth": depth})
    path = draw(st.sampled_from(("{}", " {}/ ", "./{}", ".//{}/.")))
    return below, {"path": path.format("/".join(start) or "."), **chosen}


def speakable(path: tuple[str, ...]) -> bool:
    """Whether the contract lets the `path` be named: it has neither control characters nor `\\`."""
    return not re.search(r"[\x00-\x1f\x7f\\]", "".join(path))

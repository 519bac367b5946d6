"""Emacs and sexpdata read the same value that the server wrote."""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import sexpdata
from hypothesis import Phase, given
from hypothesis import strategies as st

from backstaff.fs.entry import Kind
from backstaff.render.names import lossy
from backstaff.result import Keyword, Rows
from backstaff.wire.frame import frame
from backstaff.wire.lisp import ESCAPED, PLAIN, write
from tests.py.examples import examples

PROJECT = Path(__file__).parents[3]
EMACS = os.environ.get("EMACS", "emacs")
RAW = 0x3FFF00
"""Emacs represents the byte B of a name that is not UTF-8 as the character RAW + B."""

names = st.text(max_size=8) | st.binary(max_size=6).map(os.fsdecode)
scalars = (
    st.none() | st.booleans() | st.integers() | names | st.sampled_from([*Kind, Keyword("w%s")])
)
cells = st.one_of(*(st.lists(kind, min_size=2, max_size=2) for kind in (names, st.none(), scalars)))
tables = st.dictionaries(st.sampled_from(["name", "size_bytes", "kind"]), cells, min_size=1)
values = st.recursive(
    scalars | tables.map(Rows),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b_c"]), inner)
    ),
    max_leaves=12,
)


def read_by_emacs(bodies: Sequence[bytes]) -> list[object]:
    """Return the plain form of the values that Emacs reads in `bodies`, all in one Emacs."""
    with tempfile.NamedTemporaryFile(suffix=".frames") as file:
        file.write(b"".join(map(frame, bodies)))
        file.flush()
        source = ("-L", f"{PROJECT}/elisp", "-l", f"{PROJECT}/tests/el/read-frames.el")
        command = [EMACS, "-Q", "--batch", *source, "-f", "read-frames-batch", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return [parsed(line) for line in done.stdout.splitlines()]


def parsed(line: str) -> object:
    """Return the lists and numbers in `line`, symbols as strings."""
    return unquoted(sexpdata.loads(line))


def unquoted(item: object) -> object:
    match item:
        case list():
            return [unquoted(inner) for inner in item]
        case sexpdata.Symbol():
            return item.value()
        case _:
            return item


def in_emacs(what: object) -> object:  # noqa: PLR0911  # a return a type
    """Return the plain form of `what`, made without the writer."""
    match what:
        case None | False:
            return ["l"]
        case True:
            return ["y", ord("t")]
        case Kind() | Keyword():
            return ["y", *map(ord, ":" + what)]
        case str():
            return ["s", *map(code, what)]
        case Rows():
            return in_emacs(list(what.objects()))
        case Mapping():
            pairs = what.items()
            return ["l", *(p for k, v in pairs for p in (keyword(k), in_emacs(v)))]
        case list():
            return ["l", *map(in_emacs, what)]
        case _:
            return what


def keyword(key: str) -> object:
    return ["y", *map(ord, ":" + key.replace("_", "-"))]


def code(character: str) -> int:
    if "\udc80" <= character <= "\udcff":
        return RAW + ord(character) - 0xDC00
    return 0xFFFD if "\ud800" <= character <= "\udfff" else ord(character)


def in_sexpdata(what: object) -> object:  # noqa: PLR0911  # a return a type
    """Return the form of `what` in sexpdata: strings lack the bytes that are not Unicode."""
    match what:
        case None | False:
            return []
        case Kind() | Keyword():
            return f":{what}"
        case str():
            return lossy(what)
        case Rows():
            return in_sexpdata(list(what.objects()))
        case Mapping():
            pairs = what.items()
            return [p for k, v in pairs for p in (":" + k.replace("_", "-"), in_sexpdata(v))]
        case list():
            return [in_sexpdata(item) for item in what]
        case _:
            return what


# Each example starts an Emacs: a search for a smaller one would take minutes.
@examples(1 / 25, phases=[Phase.explicit, Phase.generate])
@given(st.lists(values, min_size=60, max_size=120))
def test_emacs_reads_the_written_value(written: list[object]) -> None:
    bodies = [write([value], ESCAPED) for value in written]
    assert read_by_emacs(bodies) == [in_emacs([value]) for value in written]


@given(values)
def test_sexpdata_reads_the_written_value(value: object) -> None:
    assert unquoted(sexpdata.loads(write(value, PLAIN).decode())) == in_sexpdata(value)

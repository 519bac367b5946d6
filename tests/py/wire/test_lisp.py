"""The Lisp on the wire: requests as Emacs writes them, replies as Emacs and others read them."""

import os
import re
from contextlib import suppress
from enum import StrEnum

import pytest
import sexpdata
from hypothesis import given
from hypothesis import strategies as st

from backstaff.arguments import NIL, Symbol
from backstaff.result import Keyword, Rows, Verbatim
from backstaff.wire.lisp import ESCAPED, PLAIN, Dialect, Message, Unreadable, read, uid_of, write

# ---------------------------------------------------------------------------- reading


def value(text: bytes) -> object:
    """Return the one argument `text` of a call, as the server reads it."""
    match read(b"(call 1 x (" + text + b"))"):
        case Message("call", 1, [Symbol("x"), [argument]]):
            return argument
        case other:
            pytest.fail(f"{text!r} is read as {other}")


def unreadable(body: bytes) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        read(body)
    assert "\n" not in str(caught.value)
    return caught.value


def test_call_is_read() -> None:
    body = b'(call 12 agent-q/list_directory ((:path "src" :show_hidden t) nil))\n'
    assert read(body) == Message(
        "call",
        12,
        [
            Symbol("agent-q/list_directory"),
            [[Symbol(":path"), "src", Symbol(":show_hidden"), True], NIL],
        ],
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"nil", NIL),
        (b"()", NIL),
        (b"t", True),
        (b":false", False),
        (b":json-false", False),
        (b":null", None),
        (b":true", Symbol(":true")),
        (b"-3", -3),
        (b"1.5", 1.5),
        (b"1e3", 1000.0),
        (b"[1 2]", [1, 2]),
        (b"[]", []),
        (b"(1 (2) nil)", [1, [2], NIL]),
        (b"(a . 1)", [Symbol("a"), Symbol("."), 1]),
        (b'(("path" . "x"))', [["path", Symbol("."), "x"]]),
        (b"(:a . (b))", [Symbol(":a"), Symbol("."), [Symbol("b")]]),
        (b"a\\ b", Symbol("a b")),
        ("日本".encode(), Symbol("日本")),
        (b"sym\xe9", Symbol("sym\udce9")),
    ],
)
def test_value_is_read(text: bytes, expected: object) -> None:
    assert value(text) == expected
    assert type(value(text)) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'#("." 0 1 (face bold))', "."),
        (b'#("ab" 0 1 (face bold) 1 2 (face (:weight bold) p [a "b"]))', "ab"),
        (b'#("" 0 0 nil)', ""),
        (rb'#("\351" 0 1 (f t))', "\udce9"),
        (b'(:path #("." 0 1 (face bold)) :x t)', [Symbol(":path"), ".", Symbol(":x"), True]),
        (b'(:exclude (#("a" 0 1 (f t)) "b"))', [Symbol(":exclude"), ["a", "b"]]),
        (b'[#("a" 0 1 (f t)) #("b" 0 1 (f t))]', ["a", "b"]),
        (b'((path . #("x" 0 1 (f t))))', [[Symbol("path"), Symbol("."), "x"]]),
        # The values of the properties are ignored.
        (b'#("a" 0 1 (p #("b" 0 1 (q r)) q #<marker at 1 in b> s #[1 2] t #s(x)))', "a"),
        (b'"#(\\"a\\" 0 1 (f t))"', '#("a" 0 1 (f t))'),
        (b'("#" ("a" 0 1 (f t)))', ["#", ["a", 0, 1, [Symbol("f"), True]]]),
    ],
)
def test_string_with_text_properties_is_the_string(text: bytes, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"#<buffer a.txt>", "'#<buffer'"),
        (b"#s(hash-table)", "'#s'"),
        (b"#'car", '"#\'car"'),
        (b"#1=(a)", "'#1='"),
        (b"#" + b"x" * 99, repr("#" + "x" * 19)),
        (b"#x\x1b\xe2\x80\xae", "'#x\\x1b\\u202e'"),
        *((text, "'#'") for text in (b"#[1 2]", b"#()", b"#(1 2)", b'#("a" 0 1)', b"#", b'#"a"')),
    ],
)
def test_value_that_is_not_plain_data_is_named(text: bytes, named: str) -> None:
    told = str(unreadable(b"(call 7 x ((:path " + text + b")))"))
    assert f"the request holds {named}" in told or f"a {named} that" in told


@pytest.mark.parametrize("method", ["ping", "describe"])
@pytest.mark.parametrize("rest", [b"nil)", b"nil)\n", b"())", b" nil )\n"])
def test_call_without_arguments_is_read_alike_however_it_is_written(
    method: str, rest: bytes
) -> None:
    body = b"(call 012 " + method.encode() + b" " + rest
    assert read(body) == Message("call", 12, [Symbol(method), NIL])


@pytest.mark.parametrize("text", [b"nan", b"inf", b"1_000", b"infinity", b"NaN"])
def test_number_in_python_only_is_no_method_name(text: bytes) -> None:
    message = read(b"(call 1 " + text + b" ())")
    assert not isinstance(message.rest[0], Symbol)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rb'"plain"', b"plain"),
        (rb'""', b""),
        (rb'"say \"x\""', b'say "x"'),
        (rb'"a\\b"', rb"a\b"),
        (rb'"clich\351"', b"clich\xe9"),
        (rb'"clich\\351"', rb"clich\351"),
        (rb'"clich\\\351"', b"clich\\\xe9"),
        (rb'"clich\\\\351"', rb"clich\\351"),
        (rb'"\303\251"', b"\xc3\xa9"),
        (rb'"\200\377"', b"\x80\xff"),
        (rb'"\3511"', b"\xe91"),
        (rb'"\0"', b"\0"),
        (rb'"\12"', b"\n"),
        (rb'"\42\134\134n"', rb'"\\n'),
        ('"é日😀"'.encode(), "é日😀".encode()),
        (b'"clich\xe9"', b"clich\xe9"),
        (b'"a\nb\tc"', b"a\nb\tc"),
        (rb'"a\nb\tc"', b"a\nb\tc"),
        (b'"; no comment ( [ \' #"', b"; no comment ( [ ' #"),
        (rb'"C:\\new"', rb"C:\new"),
    ],
)
def test_string_of_emacs_is_read_byte_by_byte(text: bytes, expected: bytes) -> None:
    argument = value(text)
    assert isinstance(argument, str)
    assert os.fsencode(argument) == expected


file_names = st.lists(
    st.text(max_size=3).map(str.encode) | st.binary(max_size=2) | st.sampled_from([b"\\", b'"']),
    max_size=8,
).map(b"".join)


def prin1(name: bytes) -> bytes:
    """Return `name` as `prin1' of Emacs writes it: bytes that are not UTF-8 become octal."""
    text = name.decode("utf-8", "surrogateescape").replace("\\", "\\\\").replace('"', '\\"')
    octal = re.sub("[\udc80-\udcff]", lambda match: f"\\{ord(match[0]) - 0xDC00:o}", text)
    return b'"' + octal.encode() + b'"'


@pytest.mark.check(35)
@given(file_names)
def test_every_file_name_arrives_from_emacs(name: bytes) -> None:
    argument = value(prin1(name))
    assert isinstance(argument, str)
    assert os.fsencode(argument) == name


@pytest.mark.parametrize(
    "body",
    [
        b"(call 7 x (",
        b'(call 7 x ("unterminated))',
        b'(call 7 x ("unterminated\\',
        b"(call 7 x ())) ",
        b"(call 7 x ()) (call 8 y ())",
        b"(call 7 x ()) 1",
        b"(call 7 x (])",
        b"(call 7 x ' )",
        b"(call 7 x " + b"(" * 100_000,
        b"(call 7 x " + b"'" * 100_000 + b"a)",
        b"(call 7 x " + b"[" * 100_000,
        b"(call 7 x " + b"(" * 2_000 + b")" * 2_000 + b")",
        *(b"(call 7 x " + b"(" * deep + b"a" + b")" * (deep + 1) for deep in range(500, 1000, 50)),
    ],
)
def test_unreadable_request_tells_whom_to_answer(body: bytes) -> None:
    unreadable(body)
    assert uid_of(body) == 7


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n",
        b"nil",
        b"7",
        b'"call"',
        b"call",
        b"(call)",
        b"(call x y ())",
        b"(call nil x ())",
        b"(call t x ())",
        b"(call (1) x ())",
        b'(call "1" x ())',
        b"(call 1.0 x ())",
        b"(call 1_0 x ())",
        b"(call -1 x ())",
        b"(call 99999999999999999999 x ())",
        b"(1 call x ())",
        b"('call 1 x ())",
        b"\xef\xbb\xbf(call 1 x ())",
        b"\xff\xfe",
        b"(" * 100_000,
        b"'" * 100_000,
        b";",
    ],
)
def test_request_without_a_readable_uid_cannot_be_answered(body: bytes) -> None:
    unreadable(body)
    assert uid_of(body) is None


def test_nesting_that_is_read_is_read_whole() -> None:
    deep = 300
    assert write(value(b"(" * deep + b"1" + b")" * deep), PLAIN) == b"(" * deep + b"1" + b")" * deep


@given(st.binary(max_size=60))
def test_no_bytes_are_a_crash(tail: bytes) -> None:
    body = b"(call 7 x " + tail
    with suppress(Unreadable):
        assert read(body).uid == 7
    assert uid_of(body) == 7


@pytest.mark.parametrize(
    ("body", "uid"),
    [
        (b"(call 7 x", 7),
        (b" ( return-error 12)", 12),
        (b"(call 999999999999999 x", 999_999_999_999_999),
        (b"(call 9999999999999999 x", None),
        (b"(call 7", None),
        (b"(call 7x", None),
    ],
)
def test_uid_stands_at_the_head(body: bytes, uid: int | None) -> None:
    assert uid_of(body) == uid


# ---------------------------------------------------------------------------- writing


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (None, b"nil"),
        (False, b"nil"),
        (True, b"t"),
        ([], b"nil"),
        ((), b"nil"),
        ({}, b"nil"),
        (0, b"0"),
        (-12, b"-12"),
        (2**70, b"1180591620717411303424"),
        (1.5, b"1.5"),
        ("", b'""'),
        (Keyword("directory"), b":directory"),
        (Colour.RED, b":red"),
        (Symbol("return"), b"return"),
        ({"limit_reached": True, "a": None}, b"(:limit-reached t :a nil)"),
        (Verbatim({"show_hidden": 1}), b"(:show_hidden 1)"),
        (Verbatim(), b"nil"),
        ([1, "a", [Keyword("x")], ()], b'(1 "a" (:x) nil)'),
        (Rows({"name": []}), b"nil"),
        (Rows({}), b"nil"),
    ],
)
@pytest.mark.parametrize("dialect", [PLAIN, ESCAPED])
def test_value_is_written(what: object, text: bytes, dialect: Dialect) -> None:
    assert write(what, dialect) == text


@pytest.mark.parametrize("what", [{1}, b"bytes", object()])
def test_value_without_a_lisp_form_is_a_bug(what: object) -> None:
    with pytest.raises(TypeError, match=type(what).__name__):
        write([what], PLAIN)


def test_plain_strings_escape_only_quote_and_backslash() -> None:
    assert write('a"b\\c\n#é😀', PLAIN) == '"a\\"b\\\\c\n#é😀"'.encode()
    assert write("clich\udce9", PLAIN) == '"clich\ufffd"'.encode()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('a"\\b', rb'"a\"\\b"'),
        ("a\nb\tc\x01", b'"a\nb\\tc\\u0001"'),
        ("\\n\n", rb'"\\n\n"'),
        ("#", rb'"\u0023"'),
        ("\\#", rb'"\\\u0023"'),
        ("é日", rb'"\u00e9\u65e5"'),
        ("😀", rb'"\U0001f600"'),
        ("\U0010ffff", rb'"\U0010ffff"'),
        ("clich\udce9", b'"clich\xe9"'),
        ("\udc80\udcff", b'"\x80\xff"'),
        ("😀\udce9😀", b'"\\U0001f600\xe9\\U0001f600"'),
        ("\\udce9", rb'"\\udce9"'),
        ("\\\udce9", b'"\\\\\xe9"'),
        ("\\ud83d\\ude00", rb'"\\ud83d\\ude00"'),
        ("\ud800", rb'"\ufffd"'),
        ("\ud800.\udc00.\udce9", b'"\\ufffd.\\ufffd.\xe9"'),
    ],
)
def test_escaped_string_is_ascii_except_undecodable_bytes(text: str, written: bytes) -> None:
    assert write(text, ESCAPED) == written


_EMACS_STRING = re.compile(
    r'\\(?:u([0-9a-f]{4})|U([0-9a-f]{8})|([bfnrt])|(["\\]))|([^"\\])', re.DOTALL
)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def read_by_emacs(literal: bytes) -> str:
    """Return the value of the string `literal` in Emacs, by a tiny reader of its escapes."""
    text = literal.decode("utf-8", "surrogateescape")
    assert text[0] == text[-1] == '"'
    read_back, place = [], 1
    while place < len(text) - 1:
        match = _EMACS_STRING.match(text, place)
        assert match, f"Emacs cannot read {text[place:]!r}"
        short, long, control, quoted, bare = match.groups()
        read_back.append(
            chr(int(short or long, 16)) if short or long else _CONTROLS.get(control, quoted or bare)
        )
        place = match.end()
    return "".join(read_back)


decodable = st.text(max_size=30)
names = file_names.map(os.fsdecode)


@given(decodable)
def test_escaped_text_is_ascii_without_a_number_sign_and_reads_back(text: str) -> None:
    written = write(text, ESCAPED)
    assert written.isascii()
    assert b"#" not in written
    assert read_by_emacs(written) == text


@given(names)
def test_escaped_name_reads_back_with_its_bytes(name: str) -> None:
    written = write(name, ESCAPED)
    assert b"#" not in written
    assert os.fsencode(read_by_emacs(written)) == os.fsencode(name)
    assert bytes(byte for byte in written if byte > 0x7F) == bytes(
        ord(character) - 0xDC00 for character in name if "\udc80" <= character <= "\udcff"
    )


scalars = st.booleans() | st.integers() | st.text(max_size=10)
values = st.recursive(scalars | st.none(), lambda inner: st.lists(inner, max_size=4), max_leaves=20)


def lisp(what: object) -> object:
    """Return `what` as Lisp sees it: false, nothing and empty are one."""
    if isinstance(what, list):
        return [lisp(item) for item in what]
    return [] if what is None or what is False else what


@given(values)
def test_plain_lisp_is_read_back_by_another_reader(what: object) -> None:
    assert sexpdata.loads(write(what, PLAIN).decode()) == lisp(what)


@given(values)
def test_escaped_lisp_of_anything_is_ascii_without_a_number_sign(what: object) -> None:
    written = write(what, ESCAPED)
    assert written.isascii()
    assert b"#" not in written


words = st.sampled_from([*Colour, Keyword("w"), Keyword("100%s")])
cell = st.none() | scalars | names | words
column = st.one_of(
    *(
        st.lists(kind, min_size=3, max_size=3)
        for kind in (names, st.integers(), st.booleans(), st.none(), words, cell)
    )
)
tables = st.dictionaries(st.sampled_from(["name", "size_bytes", "kind", "x"]), column, min_size=1)


@given(tables, st.sampled_from([PLAIN, ESCAPED]))
def test_table_is_written_as_a_list_of_its_rows(
    columns: dict[str, list[object]], dialect: Dialect
) -> None:
    rows = Rows(columns)
    assert write(rows, dialect) == write(list(rows.objects()), dialect)

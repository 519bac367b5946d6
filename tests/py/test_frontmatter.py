"""Front matter: its values, and no harm from any file."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from backstaff.frontmatter import KEYS, MAX_BYTES, MAX_EVENTS, Document, parse
from tests.py.examples import examples

often = examples(2)


def fields(text: str) -> dict[str, Any]:
    """Return the values of the front matter `text`."""
    return dict(parse(f"---\n{text}\n---\nbody\n".encode()).fields)


@pytest.mark.parametrize("text", ["true", "True", "TRUE", "true   ", "true # yes", "!!bool true"])
def test_true_in_yaml_1_2_is_true(text: str) -> None:
    assert fields(f"is_dependency: {text}")["is_dependency"] is True


@pytest.mark.parametrize(
    "text",
    ["yes", "on", "y", "1", "tRUE", '"true"', "'true'", "!!str true", "[true]", "false", "null"],
)
def test_nothing_else_is_true(text: str) -> None:
    assert fields(f"is_dependency: {text}")["is_dependency"] is not True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Analyze logs", "Analyze logs"),
        ("2025-11-15", "2025-11-15"),
        ("12:30:45", "12:30:45"),
        ("'it''s'", "it's"),
        ('"a\\tb"', "a\tb"),
        ("|\n  two\n  lines", "two\nlines\n"),
        (">-\n  one\n  line", "one line"),
        ("two\n  lines", "two lines"),
        ("C# and a:b", "C# and a:b"),
        ("42", "42"),
        ("-1.5e3", "-1.5e3"),
        ("0x1F", "0x1F"),
        (".inf", ".inf"),
        ("1.2.3", "1.2.3"),
        ("~", None),
        ("", None),
        ("Größe", "Größe"),
    ],
)
def test_values(text: str, value: object) -> None:
    found = fields(f"description: {text}")["description"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["[a, 'b c', 3]", "\n  - a\n  - b c\n  - 3", "\n- a\n- b c\n- 3", "[a, b c, 3]"]
)
def test_a_list_is_empty_text(text: str) -> None:
    assert fields(f"description: {text}")["description"] == ""


def test_only_the_keys_that_are_asked_for_are_kept() -> None:
    assert fields("name: x\ndescription: y") == {"description": "y"}
    assert fields("name: [x]\ndescription: y") == {"description": "y"}


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("eol", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("value", [b"plain", b"'quoted'"])
def test_a_byte_order_mark_and_any_line_ends_are_fine(bom: bytes, eol: bytes, value: bytes) -> None:
    lines = (b"---", b"description: " + value, b"is_dependency: true", b"---  ", b"one", b"two")
    document = parse(bom + eol.join(lines))
    assert dict(document.fields) == {
        "description": value.decode().strip("'"),
        "is_dependency": True,
    }
    assert document.body() == "one\ntwo"
    assert not document.warning


@pytest.mark.parametrize(
    "text", ["", "body", "----\na: b\n---\n", " ---\na: b\n---\n", "--- a\n---\n", "---"]
)
def test_without_front_matter_all_is_body(text: str) -> None:
    assert parse(text.encode()) == Document(rest=text.encode())


def test_an_empty_block_says_nothing() -> None:
    for text in ("---\n---\nbody", "---\n\n---\nbody", "---\n# no 'keys'\n---\nbody"):
        document = parse(text.encode())
        assert (dict(document.fields), document.body(), document.warning) == ({}, "body", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &x 1\ndescription: D", "anchor"),
        ("description: D\na: *x", "alias"),
        ("*x", "alias"),
        ("description: D\na: " + "[" * 9_000 + "]" * 9_000, ""),
        ("description: D: E", "mapping values"),
        ("description: D\n  bad: [", ""),
        ("description: D\n\x07bell: x", "character"),
        ("- a list\n- 'description'", "not a mapping"),
        ("just text", "not a mapping"),
        ("description: D\n...\n---x: y", ""),
        ("description: 'D'\n... \nmore: x", ""),
        ("description: D\n\ttab: x", ""),
    ],
)
def test_a_broken_block_is_a_warning_and_has_no_fields(text: str, problem: str) -> None:
    document = parse(f"---\n{text}\n---\nbody".encode())
    assert "front matter" in document.warning
    assert problem in document.warning
    assert document.body() == "body"
    assert not document.fields


def test_the_warning_names_the_line_of_the_file() -> None:
    assert "line 3" in parse(b"---\ntitle: 'x'\na: *b\n---\n").warning


def test_a_merge_key_is_a_key() -> None:
    assert not parse(b"---\n<<: {a: 1}\ntitle: x\n---\n").warning


@pytest.mark.parametrize("body", ["", "\n# Title\n"])
def test_a_block_without_an_end_is_a_warning(body: str) -> None:
    document = parse(f"---\ndescription: D\nis_dependency: true\n{body}".encode())
    assert not document.fields
    assert "not closed by" in document.warning


def test_a_text_that_begins_with_a_rule_keeps_its_body() -> None:
    assert parse(b"---\n\nA text.\n").body() == "---\n\nA text.\n"


@pytest.mark.parametrize("line", [b"key: value\n", b"key: 'value'\n"])
def test_a_block_is_cut_at_64_kib(line: bytes) -> None:
    start = b"---\ndescription: D\n"
    fill = line * ((MAX_BYTES - len(start) - 4) // len(line))
    assert parse(start + fill + b"---\n").body() == ""
    assert "64 KiB" not in parse(start + fill + b"---\n").warning
    document = parse(start + fill + line * 2 + b"---\nbody")
    assert not document.fields
    assert "not closed within 64 KiB" in document.warning
    assert document.body() == ""


def test_text_that_is_not_utf_8_is_reported() -> None:
    latin = parse("---\ndescription: Größe\n---\n".encode("latin-1"))
    assert latin.fields["description"] == "Gr\ufffd\ufffde"
    assert "not UTF-8" in latin.warning
    for name in ("utf-16", "utf-16-le", "utf-16-be"):
        bom = b"" if name == "utf-16" else "\ufeff".encode(name)
        assert parse(bom + "---\ntitle: x\n---\n".encode(name)).warning == "the text is UTF-16"


@pytest.fixture
def events_read(monkeypatch: pytest.MonkeyPatch) -> list[yaml.Event]:
    """Counts the events that were requested of the YAML library."""
    read: list[yaml.Event] = []
    library = yaml.parse

    def parse_and_note(*arguments: Any, **options: Any) -> Iterator[yaml.Event]:  # noqa: ANN401
        for event in library(*arguments, **options):
            read.append(event)
            yield event

    monkeypatch.setattr(yaml, "parse", parse_and_note)
    return read


ALIAS_BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_BOMB = "a: &a {x: 1}\n" + "".join(
    f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.check(45)
@pytest.mark.parametrize("bomb", [ALIAS_BOMB, MERGE_BOMB, "a: {<<: *b}\n"])
def test_a_bomb_is_refused_before_it_is_read(events_read: list[yaml.Event], bomb: str) -> None:
    assert "refused" in parse(f"---\n{bomb}---\n".encode()).warning
    assert len(events_read) < 10


@pytest.mark.parametrize("unit", ["a: b\n", "'a': b\n", "- a\n", "{}, ", "? \n", "[", "a: [", "'"])
def test_how_much_is_read_is_bounded(events_read: list[yaml.Event], unit: str) -> None:
    parse(f"---\nt: 'x'\n{unit * (MAX_BYTES // len(unit) - 20)}\n---\n".encode())
    assert len(events_read) <= MAX_EVENTS + 1


WORDS = st.text(alphabet="abTrue019 .:#-'\"[]{}&*!|>%@`,?~<=\\/\t\u00e9\u3000\x85", max_size=12)
LINES = st.one_of(
    st.builds("{}: {}".format, st.sampled_from((*KEYS, "name", "a-b", "<<")), WORDS),
    st.builds("{}:{}".format, st.sampled_from(KEYS), WORDS),
    st.builds("# {}".format, WORDS),
    WORDS,
)


@often
@given(
    head=st.one_of(
        st.binary(),
        st.builds(b"---\n%b\n---\n%b".__mod__, st.tuples(st.binary(), st.binary())),
        st.text().map(lambda text: f"---\n{text}\n---\n".encode()),
        st.lists(LINES).map(lambda lines: "\n".join(["---", *lines, "---", ""]).encode()),
    ),
    whole=st.booleans(),
)
@example(head=b'---\na: "\\UFFFFFFFF"\n---\n', whole=True)
@example(head=b"---\n%YAML 9999999999999999999.1\n--- \n---\n", whole=True)
def test_nothing_raises(*, head: bytes, whole: bool) -> None:
    document = parse(head, whole=whole)
    assert set(document.fields) <= set(KEYS)
    document.body().encode()


@pytest.fixture
def without_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML as it is without its C part."""
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


@pytest.mark.usefixtures("without_c")
def test_the_library_without_its_c_part_says_the_same() -> None:
    assert fields("tags: [1, b]\ndescription: >-\n  a\n  b\nis_dependency: true") == {
        "description": "a b",
        "is_dependency": True,
    }
    for bomb in (ALIAS_BOMB, MERGE_BOMB):
        assert "line 2: it uses" in parse(f"---\n{bomb}---\n".encode()).warning


@pytest.mark.usefixtures("without_c")
@pytest.mark.parametrize("text", ['"\\UFFFFFFFF"', "\x00", "'open", "{", "!<x", "\t\t- a", "%"])
def test_the_library_without_its_c_part_raises_nothing_else(text: str) -> None:
    assert parse(f"---\ntitle: 'x'\na: {text}\n---\n".encode()).warning

"""workspace/read_file: rules that golden cases cannot show."""

import base64
import codecs
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.reading import encoding, text
from backstaff.reading.text import Settings as ReadSettings
from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Settings
from tests.py.examples import times
from tests.py.servers import server_at
from tests.py.tools.random_texts import MEBIBYTE, RandomFile, random_file, window
from tests.py.trees import Plant

FILES = int(os.environ.get("BACKSTAFF_FILES") or times(1))
"""How many random files are read (BACKSTAFF_FILES in the environment)."""
WINDOWS = 20
TOOL = "workspace/read_file"
MORE = re.compile(r"^\[more: start_line=(\d+)\]\n\Z", re.MULTILINE)
CUT = re.compile(r"\[\+\d+ bytes: (start_line=\d+ max_lines=1)\]\n")


def raised(root: Path, limit: int = 1 << 30) -> Server:
    """A server that reads files up to `limit`."""
    return Server(discover(), Settings({"read_file": ReadSettings(limit)}), str(root))


@pytest.fixture
def root(folder: Path) -> Path:
    return folder


def read(server: Server, tool: str = TOOL, path: str = "a", **arguments: object) -> dict[str, Any]:
    """The data of an answer."""
    return found(server.call(tool, {"path": path} | arguments))


def found(reply: Reply) -> dict[str, Any]:
    assert reply.data is not None, reply.text
    return dict(reply.data)


def error(reply: Reply) -> str:
    assert reply.error, reply.text
    return str(reply.error["code"])


def write(root: Path, data: bytes, name: str = "a") -> Server:
    (root / name).write_bytes(data)
    return server_at(root)


# ---------------------------------------------------------------------------- against an oracle


def call(server: Server, file: RandomFile, **arguments: object) -> Reply:
    context: dict[str, object] = {"max_output_bytes": 4 << 20}
    context |= {"codings": [["a", file.coding]]} if file.coding else {}
    encoding = {"encoding": file.encoding} if file.encoding else {}
    return server.call(TOOL, {"path": "a"} | encoding | arguments, context)


def differences(server: Server, file: RandomFile, random: Random) -> list[str]:
    """How the tool's answers about `file` differ from the oracle's."""
    if file.text() is None:
        code = error(call(server, file))
        return [] if code == "BINARY_NOT_SUPPORTED" else [f"binary: {code}"]
    lines, wrong = file.lines(), []
    for _ in range(WINDOWS):
        start = random.randint(1, len(lines) + 2)
        count = random.choice([1, 2, 7, 200, 500])
        reply = call(server, file, start_line=start, max_lines=count)
        if reply.data is None:
            wrong.append(reply.text)
            continue
        data = found(reply)
        answer = (data["content"], data["cut_lines"], data["next_start_line"])
        facts = (data["meta"]["byte_length"], data["meta"]["line_count"], data["revision"])
        revision = hashlib.sha256(file.data).hexdigest()[:16]
        if answer != window(lines, start, count):
            wrong.append(f"start {start}, count {count}: {str(answer)[:200]}")
        if facts != (len(file.data), len(lines), revision):
            wrong.append(f"facts: {facts}")
    return wrong


def test_random_files_are_read_as_a_simple_reader_reads_them(root: Path) -> None:
    random, server = Random(24), raised(root)  # noqa: S311  # repeatable
    for number in range(FILES):
        file = random_file(random)
        (root / "a").write_bytes(file.data)
        wrong = differences(server, file, random)
        assert not wrong, f"file {number}, {file.codec}, {file.data[:200]!r}: {wrong[:3]}"


def test_random_files_are_read_in_small_pieces_as_well(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "PIECE_BYTES", 57)
    random, server = Random(240), raised(root)  # noqa: S311  # repeatable
    for number in range(FILES):
        file = random_file(random)
        if len(file.data) > 50_000:  # in such small pieces it would take minutes
            continue
        (root / "a").write_bytes(file.data)
        wrong = differences(server, file, random)
        assert not wrong, f"file {number}, {file.codec}, {file.data[:200]!r}: {wrong[:3]}"


def test_pages_of_a_large_file_are_those_of_the_file_as_it_is_now(root: Path) -> None:
    server = raised(root)
    large = b"".join(b"line %d\n" % number for number in range(400_000))
    for data, lines in ((large, "line 398999"), (large.replace(b"8", b"9"), "line 399999")):
        (root / "a").write_bytes(data)
        page = read(server, start_line=399_000, max_lines=1)
        assert (page["content"], page["meta"]["line_count"]) == (lines, 400_001)
        assert page["revision"] == hashlib.sha256(data).hexdigest()[:16]


def test_pages_that_the_answers_name_make_the_whole_text_again(root: Path) -> None:
    random, server = Random(42), raised(root)  # noqa: S311  # repeatable
    for number in range(FILES // 4 + 1):  # of which each has many pages
        file = random_file(random)
        lines = [] if file.text() is None else file.lines()
        if not lines:
            continue
        (root / "a").write_bytes(file.data)
        longest = max(len(line.encode()) for line in lines)
        limit = {"max_output_bytes": 6 * longest + random.choice([300, 1000, 5000])}
        assert rejoined(server, file, limit) == lines, f"file {number}"


def rejoined(server: Server, file: RandomFile, context: Mapping[str, object]) -> list[str]:
    """Return the lines of `file`, by only the calls that the text of each answer names."""
    lines: list[str] = []
    arguments: dict[str, object] = {"path": "a", "max_lines": 50}
    arguments |= {"encoding": file.encoding} if file.encoding else {}
    context = {**context, "codings": [["a", file.coding]]}
    start = 1
    while True:
        reply = server.call(TOOL, arguments | {"start_line": start}, context)
        page = found(reply)["content"].split("\n")
        for named in CUT.findall(reply.text):
            one = {name: int(value) for name, value in (pair.split("=") for pair in named.split())}
            answer = server.call(TOOL, arguments | one, context)
            page[one["start_line"] - start] = found(answer)["content"]
        lines += page
        more = MORE.search(reply.text)
        if not more:
            return lines
        assert int(more[1]) > start
        start = int(more[1])


@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)
    | st.text("a\n\x1b", max_size=900),
    limit=st.integers(0, 900),
    count=st.integers(1, 20),
    numbers=st.booleans(),
)
def test_no_text_is_over_its_budget(
    tmp_path_factory: pytest.TempPathFactory, *, text: str, limit: int, count: int, numbers: bool
) -> None:
    root = tmp_path_factory.getbasetemp()
    server = write(root, text.encode())
    arguments = {"path": "a", "max_lines": count, "line_numbers": numbers}
    reply = server.call(TOOL, arguments, {"max_output_bytes": limit})
    assert len(reply.text.encode()) <= max(limit, 64), reply.text
    assert reply.text


# ---------------------------------------------------------------------------- the contract's rules


@pytest.mark.parametrize(
    ("data", "eol", "count"),
    [
        (b"", "none", 0),
        (b"a", "none", 1),
        (b"a\n", "lf", 2),
        (b"a\r\nb", "crlf", 2),
        (b"a\rb\r", "cr", 3),
        (b"a\rb\n", "mixed", 2),
        (b"a\r\r\n", "mixed", 2),
        (b"a\r\nb\n", "mixed", 3),
        (b"\xef\xbb\xbf", "none", 0),
        (b"\n", "lf", 2),
    ],
)
def test_lines_and_their_ends_are_counted(root: Path, data: bytes, eol: str, count: int) -> None:
    """read 1."""
    answer = read(write(root, data))
    assert (answer["eol"], answer["meta"]["line_count"]) == (eol, count)


@pytest.mark.parametrize("at", range(-2, 3))
def test_newline_of_two_bytes_may_lie_between_two_pieces(root: Path, at: int) -> None:
    """read 1."""
    answer = read(write(root, b"x" * ((128 << 10) + at) + b"\r\ny"), start_line=2)
    assert (answer["content"], answer["eol"], answer["meta"]["line_count"]) == ("y", "crlf", 2)


def test_call_that_the_answer_names_begins_where_it_ended(root: Path) -> None:
    """read 2."""
    server = write(root, b"1\n2\n3")
    first = read(server, max_lines=2)
    assert (first["content"], first["truncated"], first["next_start_line"]) == ("1\n2", True, 3)
    last = read(server, start_line=3)
    assert (last["content"], last["truncated"], last["next_start_line"]) == ("3", False, None)


def test_checks_come_in_the_order_of_the_contract(root: Path) -> None:
    """read 4: arguments, sandbox, there, a regular file, size, binary, text."""
    large = b"\0" * (MEBIBYTE + 1)
    server = write(root, large)
    write(root, b"\0\xff", "binary")
    write(root, b"\xff", "text")
    asked: list[tuple[str, dict[str, object]]] = [
        ("../a", {"max_lines": 0}),
        ("../nothing", {}),
        ("nothing", {}),
        (".", {}),
        ("a", {}),
        ("binary", {}),
        ("text", {}),
    ]
    assert [error(server.call(TOOL, {"path": path} | more)) for path, more in asked] == [
        "INVALID_ARGUMENT",
        "SANDBOX_VIOLATION",
        "NOT_FOUND",
        "NOT_FILE",
        "SIZE_LIMIT_EXCEEDED",
        "BINARY_NOT_SUPPORTED",
        "ENCODING_UNKNOWN",
    ]


def test_link_whose_target_is_missing_is_told_as_such(tree: Plant) -> None:
    links = {"broken": "gone", "there": "../in", "out": "../gone"}
    root = tree({name: {"link": target} for name, target in links.items()})
    (root.parent / "in").write_text("")
    server = server_at(root)
    reply = server.call(TOOL, {"path": "broken"})
    assert reply.text == "Error: Path 'broken' is a link whose target does not exist"
    assert error(reply) == "NOT_FOUND"
    # Nothing tells whether a target outside the root exists.
    for path in ("there", "out"):
        refused = server.call(TOOL, {"path": path}).text
        assert refused == f"Error: Path '{path}' is outside the workspace"


def test_size_limit_is_a_mebibyte_and_a_setting_raises_it(root: Path) -> None:
    """read 5."""
    assert read(write(root, b"x" * MEBIBYTE))["meta"]["byte_length"] == MEBIBYTE
    too_large = write(root, b"x\n" * MEBIBYTE)
    assert error(too_large.call(TOOL, {"path": "a"})) == "SIZE_LIMIT_EXCEEDED"
    assert read(raised(root), start_line=MEBIBYTE, max_lines=1)["content"] == "x"


@pytest.mark.parametrize(
    ("at", "code"), [(8191, "BINARY_NOT_SUPPORTED"), (8192, None), (0, "BINARY_NOT_SUPPORTED")]
)
def test_nul_in_the_first_8_kib_is_binary(root: Path, at: int, code: str | None) -> None:
    """read 5."""
    reply = write(root, b"x" * at + b"\0" + b"x" * 9000).call(TOOL, {"path": "a"})
    assert (reply.error or {}).get("code") == code
    if code:
        assert f"byte {at} is NUL" in reply.text


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x7fELF\x02\x01\x01\0", "ELF"),
        (b"PK\x03\x04\0", "zip"),
        (b"?\0", None),
    ],
)
def test_binary_file_is_told_by_its_kind(root: Path, head: bytes, kind: str | None) -> None:
    """read 6."""
    reply = write(root, head).call(TOOL, {"path": "a"})
    assert reply.error
    assert reply.error["kind"] == kind


def test_same_file_has_the_same_answer_and_another_has_another_revision(root: Path) -> None:
    """read 7."""
    server = write(root, b"one\n")
    first = read(server)
    assert read(server) == first
    assert first["revision"] == hashlib.sha256(b"one\n").hexdigest()[:16]
    assert read(write(root, b"two\n"))["revision"] != first["revision"]


def test_a_byte_order_mark_goes_before_all_that_anyone_says(root: Path) -> None:
    server = write(root, codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le"))
    reply = server.call(TOOL, {"path": "a", "encoding": "latin-1"}, {"codings": [["a", "koi8-r"]]})
    assert (found(reply)["content"], found(reply)["encoding"]) == ("é\n", "utf-16")


def test_the_buffer_s_coding_goes_before_a_cookie_and_that_before_the_caller_s(root: Path) -> None:
    server = write(root, b"# coding: koi8-r\n\xe9")
    visits = {"codings": [["a", "iso-latin-1-dos"]]}
    named = {"path": "a", "encoding": "cp1251"}
    assert found(server.call(TOOL, named, visits))["encoding"] == "latin-1"
    assert found(server.call(TOOL, named))["encoding"] == "koi8-r"
    write(root, b"\xe9")
    assert found(server.call(TOOL, named))["encoding"] == "cp1251"


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("utf-8-unix", "utf-8"),
        ("utf-8-with-signature-dos", "utf-8-sig"),
        ("iso-latin-9", "iso8859-15"),
        ("japanese-shift-jis-mac", "shift_jis"),
        ("windows-1252", "cp1252"),
        ("undecided", ""),
        ("no-conversion", ""),
        ("rot13", ""),
        ("base64", ""),
        ("unicode_escape", ""),
        ("utf-7", ""),
        ("\0", ""),
        ("é", ""),
    ],
)
def test_codings_go_by_the_names_of_emacs_mime_and_python(name: str, codec: str) -> None:
    assert encoding.codec(name) == codec


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Ein Käse für die Größe der Straße.", "cp1252"),
        ("これは日本語のテキストです。", "shift_jis"),
        ("これは日本語のテキストです。", "euc_jp"),
        ("Съешь же ещё этих мягких французских булок", "cp1251"),
    ],
)
def test_likely_encodings_are_suggested_and_one_of_them_reads_the_file(
    root: Path, text: str, codec: str
) -> None:
    reply = write(root, text.encode(codec)).call(TOOL, {"path": "a"})
    assert error(reply) == "ENCODING_UNKNOWN"
    assert reply.error
    likely = reply.error["suggestions"]
    assert isinstance(likely, list)
    assert codec in likely
    assert f'encoding="{codec}"' in reply.text
    assert read(server_at(root), encoding=codec)["content"] == text


@pytest.mark.parametrize("tool", ["workspace/read_file", "workspace/outline"])
def test_cookie_of_utf_16_without_its_mark_is_an_answer(root: Path, tool: str) -> None:
    server = write(root, b"# -*- coding: utf-16 -*-\ncaf\351\n")
    for arguments in ({"path": "a"}, {"path": "a", "encoding": "utf-16"}):
        reply = server.call(tool, arguments)
        assert reply.error is not None
        assert reply.error["code"] == "ENCODING_UNKNOWN", reply.text


def test_encoding_that_does_not_fit_is_told_with_the_byte(root: Path) -> None:
    reply = write(root, b"ok\xff").call(TOOL, {"path": "a", "encoding": "shift_jis"})
    assert error(reply) == "ENCODING_UNKNOWN"
    assert "not UTF-8 (byte 2) nor shift_jis (byte 2)" in reply.text


def test_match_in_a_window_past_the_end_names_no_call(root: Path) -> None:
    reply = write(root, b"one\ntwo\n").call(TOOL, {"path": "a", "start_line": 9, "match": "x"})
    assert reply.ok
    assert "max_lines=" not in reply.text


def test_line_of_more_than_the_limit_counts_the_bytes_left_out(root: Path) -> None:
    server = write(root, "é".encode() * 2500 + b"\ny")
    reply = server.call(TOOL, {"path": "a", "max_lines": 1}, {"max_output_bytes": 1000})
    shown = len(found(reply)["content"].encode())
    assert 850 < shown < 1000
    left = f"[+{5000 - shown} bytes left out for a limit of 1000 bytes]"
    assert f"{left}\n[more: start_line=2]\n" in reply.text
    assert found(reply)["cut_lines"] == [1]


# ---------------------------------------------------------------------------- special files


@pytest.mark.check(21)
def test_what_is_no_regular_file_is_refused_without_waiting(tree: Plant) -> None:
    """read 6."""
    root = tree({"pipe": {"fifo": True}, "d/x": "x", "zero": {"link": "/dev/zero"}})
    server = server_at(root)
    codes = [error(server.call(TOOL, {"path": path})) for path in ("pipe", "d", "zero")]
    assert codes == ["NOT_FILE", "NOT_FILE", "SANDBOX_VIOLATION"]


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/tty", "/proc/version"])
def test_devices_and_files_of_the_kernel_are_refused(path: str) -> None:
    """read 6."""
    if not os.path.lexists(path):
        pytest.skip(f"needs {path}")
    reply = server_at(Path(path).parent).call(TOOL, {"path": path})
    assert error(reply) == "NOT_FILE", reply.text


# ---------------------------------------------------------------------------- unsaved text


def unsaved(name: str, data: bytes, coding: str = "") -> dict[str, object]:
    digest = hashlib.sha256(data).hexdigest()
    return {"unsaved": [[name, digest, coding, base64.b64encode(data).decode()]]}


@pytest.mark.parametrize("path", ["src/a", "./src//a", "l/a", "b", "{root}/src/a", "src/../src/a"])
def test_unsaved_text_counts_by_whatever_path_it_is_named(tree: Plant, path: str) -> None:
    root = tree({"src/a": "old", "l": {"link": "src"}, "b": {"link": "src/a"}})
    asked = {"path": path.replace("{root}", str(root))}
    data = found(server_at(root).call(TOOL, asked, unsaved("src/a", b"new")))
    assert (data["content"], data["source"]) == ("new", "buffer")


@pytest.mark.parametrize("path", ["new", "l", "none/new", "./none/../none/new"])
def test_unsaved_text_of_a_file_that_is_not_there_yet(tree: Plant, path: str) -> None:
    root = tree({"l": {"link": "new"}, "none.txt": ""})
    name = "none/new" if "none" in path else "new"
    reply = server_at(root).call(TOOL, {"path": path}, unsaved(name, b"text"))
    if ".." in path:  # as in the system, no path leads up from a name that does not exist
        assert error(reply) == "NOT_FOUND"
    else:
        assert found(reply)["content"] == "text"
        assert found(reply)["meta"]["mtime_ms"] is None


@pytest.mark.parametrize(("path", "code"), [("../a", "SANDBOX_VIOLATION"), ("b", "NOT_FOUND")])
def test_unsaved_text_stands_for_no_other_file(root: Path, path: str, code: str) -> None:
    reply = server_at(root).call(TOOL, {"path": path}, unsaved("a", b"text"))
    assert error(reply) == code


def test_unsaved_text_is_decoded_by_its_coding_and_has_its_own_line_ends(root: Path) -> None:
    server = write(root, b"old\n")
    context = unsaved("a", "é\r\n".encode("koi8-r", "replace") + b"\xc1\r\n", "koi8-r-dos")
    data = found(server.call(TOOL, {"path": "a"}, context))
    assert (data["encoding"], data["eol"], data["content"]) == ("koi8-r", "crlf", "?\n\u0430\n")


def test_saved_files_come_from_the_disk(root: Path) -> None:
    server = write(root, b"disk")
    data = found(server.call(TOOL, {"path": "a"}, unsaved("b", b"buffer")))
    assert (data["content"], data["source"]) == ("disk", "disk")


def test_ranges_of_a_file_too_large_for_an_outline_have_their_lines(root: Path) -> None:
    (root / "a").write_text("".join(f"line {n}\n" for n in range(1, 200_001)))
    ranges = [{"start_line": 100_000, "max_lines": 1}, {"start_line": 5, "max_lines": 2}]
    reply = raised(root).call(TOOL, {"path": "a", "ranges": ranges})
    pages = "a: line 100000 of 200001\n100000\tline 100000\n", "a: lines 5-6 of 200001\n5\tline 5\n"
    assert reply.text == "".join((*pages, "6\tline 6\n"))

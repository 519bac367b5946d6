"""The texts of unsaved buffers in the context of a call, and how the server keeps them."""

import base64
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backstaff.errors import ToolError
from backstaff.manifest import READS_CONTENT
from backstaff.registry import Registry
from backstaff.server import Reply, Server
from backstaff.tool import Context, Result, Tool
from backstaff.unsaved import MAX_BEGUN, MAX_CALL_BYTES, MAX_KEPT_BYTES
from tests.py.epc import Client
from tests.py.servers import Nothing, server_at, tool

Item = list[object]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sent(name: str, data: bytes, coding: object = "utf-8-unix") -> Item:
    return [name, digest(data), coding, base64.b64encode(data).decode()]


def named(name: str, data: bytes, coding: object = "utf-8-unix") -> Item:
    return [name, digest(data), coding]


def answer(_: Nothing, context: Context) -> Result:
    texts = {name: [text.data, text.coding] for name, text in context.unsaved.items()}
    return Result(text="read", data={"texts": texts, "codings": context.codings})


@pytest.fixture
def server(folder: Path) -> Server:
    """Return a server of a tool that reads files, and of one that does not."""
    reader: Tool[Any] = replace(tool(answer, "reader"), reads_content=True)
    registry = Registry({"test/reader": reader, "test/other": tool(answer, "other")})
    return server_at(folder, registry)


def call(server: Server, *items: object, name: str = "reader", **context: object) -> Reply:
    return server.call(name, {}, {"unsaved": list(items)} | context)


def texts(reply: Reply) -> object:
    assert reply.data, reply.text
    return reply.data["texts"]


def refused(reply: Reply, code: str = "INVALID_ARGUMENT") -> str:
    assert reply.error, reply.text
    assert reply.error["code"] == code
    return reply.text


def test_tool_that_reads_content_gets_the_texts(server: Server) -> None:
    reply = call(server, sent("src/a.c", b"\xff\0x\n"), codings=[["b.c", "latin-1"]])
    assert texts(reply) == {"src/a.c": [b"\xff\0x\n", "utf-8-unix"]}
    assert reply.data
    assert reply.data["codings"] == {"b.c": "latin-1"}


def test_other_tools_get_none(server: Server) -> None:
    reply = call(server, sent("a.c", b"x"), name="other", codings=[["b.c", "latin-1"]])
    assert reply.data == {"texts": {}, "codings": {}}


def test_bytes_that_were_sent_before_need_not_come_again(server: Server) -> None:
    call(server, sent("a.c", b"x"))
    assert texts(call(server, named("b.c", b"x", ""))) == {"b.c": [b"x", ""]}


def test_text_counts_only_for_calls_that_name_it(server: Server) -> None:
    call(server, sent("a.c", b"x"))
    assert texts(call(server)) == {}


def test_unknown_digest_is_refused_by_name_and_sending_all_helps(server: Server) -> None:
    reply = call(server, named("a.c", b"x"), sent("b.c", b"y"), named("c.c", b"z"))
    assert "'a.c', 'c.c'" in refused(reply, "UNSAVED_NEEDED")
    assert reply.error
    assert reply.error["names"] == ["a.c", "c.c"]
    again = call(server, sent("a.c", b"x"), named("b.c", b"y"), sent("c.c", b"z"))
    assert texts(again)


def test_texts_that_were_not_named_for_longest_are_forgotten(server: Server) -> None:
    large = [bytes([number]) * MAX_CALL_BYTES for number in range(5)]
    for data in large[:4]:
        call(server, sent("a.c", data))
    call(server, named("a.c", large[0]))
    call(server, sent("a.c", large[4]))
    assert texts(call(server, named("a.c", large[0])))
    refused(call(server, named("a.c", large[1])), "UNSAVED_NEEDED")
    assert MAX_KEPT_BYTES == 4 * MAX_CALL_BYTES


def pieces(data: bytes, most: int) -> list[list[object]]:
    """Return the arguments of `keep_text` that send `data` in pieces of `most` bytes."""
    return [
        [digest(data), len(data), start, base64.b64encode(data[start : start + most]).decode()]
        for start in range(0, len(data), most)
    ]


def test_text_may_come_in_pieces_before_the_call(server: Server) -> None:
    data = bytes(range(256)) * 4
    here = [server.texts.keep_text(*piece) for piece in pieces(data, 300)]
    assert here == [300, 600, 900, 1024]
    assert texts(call(server, named("a.c", data))) == {"a.c": [data, "utf-8-unix"]}


def test_text_is_unknown_until_its_last_piece_is_there(server: Server) -> None:
    data = b"x" * 100
    for piece in pieces(data, 10)[:-1]:
        server.texts.keep_text(*piece)
        refused(call(server, named("a.c", data)), "UNSAVED_NEEDED")
    server.texts.keep_text(*pieces(data, 10)[-1])
    assert texts(call(server, named("a.c", data)))


def test_pieces_may_come_twice_and_a_text_goes_on_where_it_was_given_up(server: Server) -> None:
    data = bytes(range(100))
    first, second, third = pieces(data, 40)
    assert [server.texts.keep_text(*one) for one in (first, second)] == [40, 80]
    assert [server.texts.keep_text(*one) for one in (first, second, third)] == [80, 80, 100]
    assert [server.texts.keep_text(*one) for one in (first, third)] == [100, 100]


def test_piece_behind_a_gap_does_not_count(server: Server) -> None:
    first, _, third = pieces(bytes(range(100)), 40)
    assert [server.texts.keep_text(*one) for one in (first, third)] == [40, 40]


def test_pieces_of_some_texts_may_come_in_turns(server: Server) -> None:
    halves = [pieces(bytes([number]) * 100, 50) for number in range(MAX_BEGUN)]
    assert [server.texts.keep_text(*first) for first, _ in halves] == [50] * MAX_BEGUN
    assert [server.texts.keep_text(*second) for _, second in halves] == [100] * MAX_BEGUN


def test_oldest_of_too_many_texts_that_were_begun_begins_anew(server: Server) -> None:
    halves = [pieces(bytes([number]) * 100, 50) for number in range(MAX_BEGUN + 1)]
    assert [server.texts.keep_text(*first) for first, _ in halves] == [50] * (MAX_BEGUN + 1)
    assert server.texts.keep_text(*halves[0][1]) == 0


@pytest.mark.parametrize(
    ("piece", "words"),
    [
        ([1, 1, 0, "eA=="], "takes a string, a size of at most"),
        (["x", "1", 0, "eA=="], "takes a string, a size of at most"),
        ([digest(b"x"), 1, 0, 1], "takes a string, a size of at most"),
        ([digest(b"x"), 1, 0, "eQ=="], "another digest"),
        ([digest(b"x"), 1, 0, "e Q=="], "takes a string, a size of at most"),
        ([digest(b"x"), MAX_CALL_BYTES + 1, 0, "eA=="], "at most 4194304 bytes"),
        ([digest(b"x"), -1, 0, "eA=="], "at most 4194304 bytes"),
    ],
)
def test_piece_of_another_form_is_refused(server: Server, piece: list[object], words: str) -> None:
    with pytest.raises(ToolError, match=words):
        server.texts.keep_text(*piece)
    refused(call(server, named("a.c", b"x")), "UNSAVED_NEEDED")


def test_piece_over_the_wire_is_answered_with_the_bytes_that_are_here(client: Client) -> None:
    assert client.call("keep_text", f'"{digest(b"abc")}"', "3", "0", '"YWJj"')[2] == 3
    assert client.call("keep_text", '"x"')[0] == "return-error"


def test_one_call_has_a_limit_of_bytes_sent_now_or_before(server: Server) -> None:
    half = b"x" * (MAX_CALL_BYTES // 2)
    assert texts(call(server, sent("a.c", half), sent("b.c", half)))
    text = refused(call(server, named("a.c", half), named("b.c", half), sent("c.c", b"y")))
    assert f"names {MAX_CALL_BYTES + 1} bytes of text, more than {MAX_CALL_BYTES}" in text


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ("x", "must be a list of at most 1000 (NAME SHA256 CODING BASE64)"),
        (["x"], "has an item that is not (NAME SHA256 CODING BASE64)"),
        ([["a.c", digest(b"")]], "has an item that is not"),
        ([[*sent("a.c", b""), "more"]], "has an item that is not"),
        ([["a.c", "ABC", ""]], "has 'ABC' for 'a.c', not 64 hex digits in lower case"),
        ([["a.c", digest(b"x"), "", "eQ=="]], "has other bytes for 'a.c' than its digest says"),
        ([["a.c", digest(b"x"), "", "e Q=="]], "has other bytes for 'a.c'"),
        ([["a.c", digest(b"x"), "", 7]], "has an item that is not"),
        *(
            ([named(name, b"x")], "it must be a path below the root")
            for name in ("", "/a", "../a", "a/..", "./a", "a//b", "a/", "a\0")
        ),
        ([named("a", b"")] * 1001, "must be a list of at most 1000"),
    ],
)
def test_other_forms_are_refused(server: Server, items: object, words: str) -> None:
    reply = server.call("reader", {}, {"unsaved": items})
    assert words in refused(reply)
    assert "Context key 'unsaved'" in reply.text


@pytest.mark.parametrize("items", ["x", ["x"], [["a.c"]], [["../a.c", "latin-1"]]])
def test_codings_of_another_form_are_refused(server: Server, items: object) -> None:
    assert "Context key 'codings'" in refused(server.call("reader", {}, {"codings": items}))


def test_lisp_s_symbols_and_nil_are_codings(client: Client) -> None:
    context = f'(:unsaved (("a" "{digest(b"")}" utf-8-unix "") ("b" "{digest(b"")}" nil nil)))'
    call = f'(call 1 get_file_info ((:path ".") {context}))'
    client.send(call.encode())
    reply = client.receive()
    assert reply[0] == "return"
    assert "Type: directory" in json.dumps(reply[2])


def test_text_is_known_to_a_call_that_was_sent_right_behind(client: Client) -> None:
    data = b"x" * (1 << 20)
    lisp = f'"a" "{digest(data)}" nil'
    brings = f'(:unsaved (({lisp} "{base64.b64encode(data).decode()}")))'
    calls = [
        f'(call {uid} get_file_info ((:path ".") {context}))'.encode()
        for uid, context in enumerate((brings, f"(:unsaved (({lisp})))"), 1)
    ]
    client.send(*calls)
    assert all("Type: directory" in json.dumps(client.receive()[2]) for _ in calls)


def test_hello_lists_the_tools_that_read_content(client: Client) -> None:
    told: Any = client.call("hello")[2]
    assert told[":reads-content"] == list(READS_CONTENT)

"""Agent-Q's tools beyond the golden cases."""

import errno
import os
import threading
import tracemalloc
from collections.abc import Mapping
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.budget import Budget
from backstaff.errors import path_error
from backstaff.fs import entry
from backstaff.fs.root import Root
from backstaff.result import Rows
from backstaff.server import Reply
from backstaff.tool import Context
from backstaff.tools.agent_q import list_directory
from tests.py.processes import unprivileged
from tests.py.replies import code
from tests.py.servers import server_at
from tests.py.trees import Plant

MTIME = 1_700_000_000


def listing(root: Path, path: str = ".", context: object = None, **arguments: object) -> Reply:
    """The listing of `path` below `root`."""
    server = server_at(root)
    return server.call("agent-q/list_directory", {"path": path, **arguments}, context)


def info(root: Path, path: str) -> Reply:
    """The info about `path` below `root`."""
    return server_at(root).call("agent-q/get_file_info", {"path": path})


def columns(reply: Reply) -> Mapping[str, Any]:
    """The rows of a listing's data, by columns."""
    assert reply.data, reply.text
    rows = reply.data["entries"]
    assert isinstance(rows, Rows)
    return rows.columns


def rows(reply: Reply) -> list[str]:
    """The rows of a listing's text."""
    return [line for line in reply.text.splitlines() if line.startswith(("[DIR]", "[FILE]"))]


# ---------------------------------------------------------------------------- order

names = st.lists(
    st.text(st.sampled_from("aAbBzZ_.ß日é1 ñÑſ"), min_size=1, max_size=4),
    unique=True,
    max_size=12,
).map(lambda found: [name for name in found if name not in (".", "..")])
statuses = st.tuples(st.booleans(), st.integers(0, 3), st.integers(-1, 2))


@given(names, st.data(), st.sampled_from(["name", "size", "modified"]))
def test_order_is_that_of_the_contract(
    tmp_path_factory: pytest.TempPathFactory, found: list[str], data: st.DataObject, sort_by: str
) -> None:
    root = tmp_path_factory.mktemp("R")
    made = {name: data.draw(statuses) for name in found}
    for name, (is_directory, size, modified) in made.items():
        if is_directory:
            (root / name).mkdir()
        else:
            (root / name).write_text("x" * size)
        os.utime(root / name, (MTIME, MTIME + modified))

    def key(name: str) -> tuple[object, ...]:
        status = (root / name).stat()
        value = {"name": 0, "size": -status.st_size, "modified": -status.st_mtime_ns}[sort_by]
        return (not made[name][0], value, name.casefold(), name)

    reply = listing(root, sort_by=sort_by, show_hidden=True)
    assert columns(reply)["name"] == sorted(found, key=key)
    assert [row.startswith("[DIR]  ") for row in rows(reply)] == sorted(
        (is_directory for is_directory, _, _ in made.values()), reverse=True
    )


@pytest.mark.parametrize("sort_by", ["SIZE", "Size", "size"])
def test_order_is_named_in_either_case(tree: Plant, sort_by: str) -> None:
    root = tree({"a": "1", "b": "22", "c": "333"})
    reply = listing(root, sort_by=sort_by)
    assert columns(reply)["name"] == ["c", "b", "a"]
    assert reply.warnings == ()


def test_unknown_order_is_by_name_with_a_warning(tree: Plant) -> None:
    reply = listing(tree({"b": "22", "a": "1"}), sort_by="date\n[DIR]  x")
    assert columns(reply)["name"] == ["a", "b"]
    assert reply.warnings == (
        'Unknown sort_by "date\\n[DIR]  x": sorted by name (known: name, size, modified)',
    )


def test_few_of_many_names_are_the_first_of_all(tree: Plant) -> None:
    found = [f"{'Aa'[number % 2]}{number * 7919 % 1000:03}" for number in range(1000)]
    root = tree(dict.fromkeys(found, ""))
    few = listing(root, context={"max_output_bytes": 600})
    everything = columns(listing(root))["name"]
    shown = columns(few)["name"]
    assert 0 < len(shown) < 30
    assert shown == everything[: len(shown)]


# ---------------------------------------------------------------------------- budget


@pytest.fixture
def project(tree: Plant) -> Path:
    """A root with names of very different lengths, in bytes, columns and rows."""
    root = tree(
        {
            "dir/": None,
            "日本語/": None,
            "a": "",
            "a-name-that-is-longer-than-the-column-is-wide": "x" * 3000,
            "日本語の名前": "",
            "with  blanks\n": "",
            "z" * 120: "",
            "😀": "",
        }
    )
    (root / os.fsdecode(b"clich\xe9")).touch()
    return root


def check_cut(reply: Reply, whole: Reply, limit: int) -> None:
    """Whether `reply` is `whole` cut to `limit` as it should be."""
    shown, total = len(rows(reply)), len(rows(whole))
    size = len(reply.text.encode())
    assert size <= limit, f"{size} bytes at a limit of {limit}"
    assert reply.data
    assert (reply.data["shown"], reply.data["total"]) == (shown, total)
    assert columns(reply)["name"] == columns(whole)["name"][:shown]
    assert [row.split() for row in rows(reply)] == [row.split() for row in rows(whole)[:shown]]
    assert reply.truncated == (shown < total)
    assert reply.text.splitlines()[:3] == whole.text.splitlines()[:3]
    left_out = total - shown
    noun = "entry" if left_out == 1 else "entries"
    said = f"... {left_out} more {noun} left out for a limit of {limit} bytes"
    last = reply.text.splitlines()[-1]
    assert last.startswith(said) == bool(left_out)
    assert not left_out or last == said or limit > 4 * len("workspace/search_files")


def test_text_keeps_within_any_limit_in_whole_rows(project: Path) -> None:
    whole = listing(project)
    size = len(whole.text.encode())
    head = len("\n".join(whole.text.splitlines()[:3]).encode()) + 1
    shown: dict[bool, list[int]] = {False: [], True: []}
    last_line = len("... 9 more entries left out for a limit of 100 bytes\n")
    for limit in (*range(0, size, 3), size, size + 1):
        reply = listing(project, context={"max_output_bytes": limit})
        if limit < head + last_line:
            assert len(reply.text.encode()) <= max(limit, 64)
            assert reply.text.endswith(f"[cut to {max(limit, 64)} bytes]\n")
        else:
            check_cut(reply, whole, limit)
        shown["all files:" in reply.text].append(len(rows(reply)))
    for with_remedy in (False, True):
        assert shown[with_remedy] == sorted(shown[with_remedy]), "a higher limit shows less"
    assert (shown[False][0], shown[False][-1], len(rows(listing(project)))) == (0, 9, 9)


@pytest.mark.parametrize("sort_by", ["size", "modified"])
def test_text_keeps_within_a_limit_in_every_order(project: Path, sort_by: str) -> None:
    whole = listing(project, sort_by=sort_by)
    for limit in range(150, len(whole.text.encode()), 37):
        reply = listing(project, sort_by=sort_by, context={"max_output_bytes": limit})
        check_cut(reply, whole, limit)


def test_window_of_the_model_is_a_limit_too(project: Path) -> None:
    narrow = listing(project, context={"available_capacity_bytes": 400})
    assert narrow.truncated
    assert len(narrow.text.encode()) <= 400
    assert "for a limit of 400 bytes" in narrow.text
    both = {"available_capacity_bytes": 100_000, "max_output_bytes": 400}
    assert listing(project, context=both).text == narrow.text
    wide = {"available_capacity_bytes": 400, "max_output_bytes": 100_000}
    assert listing(project, context=wide).text == narrow.text


def test_one_entry_left_out_is_in_the_singular(tree: Plant) -> None:
    root = tree({"a": "", "b" * 200: ""})
    reply = listing(root, context={"max_output_bytes": 220})
    assert "... 1 more entry left out for a limit of 220 bytes\n" in reply.text


# ---------------------------------------------------------------------------- names and kinds


def test_data_carry_the_exact_names(tree: Plant) -> None:
    root = tree({"l": {"link": os.fsdecode(b"to-\xff")}})
    for name in (b"clich\xe9", b"clich\xe8", "日\n".encode(), b'"quoted"'):
        (root / os.fsdecode(name)).touch()
    reply = listing(root)
    found = dict(zip(columns(reply)["name"], columns(reply)["target"], strict=True))
    assert {os.fsencode(name) for name in found} == {
        *(b"clich\xe9", b"clich\xe8", "日\n".encode(), b'"quoted"', b"l"),
    }
    assert found["l"] == os.fsdecode(b"to-\xff")
    assert len(rows(reply)) == 5


@pytest.mark.check(27)
@pytest.mark.parametrize(
    "path", ["a\n[FILE] b", "\x1b[2J", "\u202e", "a'b", "d\u2028", os.fsdecode(b"clich\xe9")]
)
@pytest.mark.parametrize("tool", ["list_directory", "get_file_info"])
def test_message_that_echoes_a_path_is_one_visible_line(folder: Path, path: str, tool: str) -> None:
    reply = server_at(folder).call(tool, {"path": path})
    assert code(reply) == "NOT_FOUND"
    assert reply.text.isprintable(), reply.text


@pytest.mark.parametrize("path", ["a\0", "\ud800", "x" * 5000])
@pytest.mark.parametrize("tool", ["list_directory", "get_file_info"])
def test_what_is_no_path_is_an_invalid_argument(folder: Path, path: str, tool: str) -> None:
    reply = server_at(folder).call(tool, {"path": path})
    assert code(reply) == "INVALID_ARGUMENT"
    assert reply.text.startswith("Error: Argument 'path' is no path: ")


@pytest.mark.parametrize("path", ["l", "l/", "l/x", "l/none", "..", "../none", "/etc", "/none"])
@pytest.mark.parametrize("tool", ["list_directory", "get_file_info"])
def test_answers_about_the_outside_are_equal_whatever_is_there(
    tree: Plant, path: str, tool: str
) -> None:
    outside = tree({"x": ""}, "outside")
    root = tree({"l": {"link": str(outside)}})
    reply = server_at(root).call(tool, {"path": path})
    assert code(reply) == "SANDBOX_VIOLATION"
    assert reply.text == f"Error: Path '{path}' is outside project root"


@pytest.mark.parametrize("path", ["loop", "chain"])
def test_links_without_end_are_reported(tree: Plant, path: str) -> None:
    chain = {f"l{n}": {"link": f"l{n - 1}"} for n in range(1, 42)}
    root = tree({"l0/": None, **chain, "loop": {"link": "loop"}, "chain": {"link": "l41"}})
    assert listing(root, path).text == (
        f"Error: Cannot read directory '{path}': too many levels of symbolic links"
    )
    assert code(info(root, path)) == "IO_ERROR"
    assert listing(root, "l40").ok


def test_link_that_leads_nowhere_is_not_found(tree: Plant) -> None:
    root = tree({"l": {"link": "none"}})
    assert listing(root, "l").text == "Error: Directory 'l' not found"
    assert info(root, "l").text == "Error: File 'l' not found"
    assert "[FILE] l" in listing(root).text


# ---------------------------------------------------------------------------- refusals


def test_unreadable_directory_is_reported(tree: Plant) -> None:
    root = tree({"protected/f": ""})
    (root / "protected").chmod(0o111)
    reply = unprivileged(lambda: listing(root, "protected/"))
    assert code(reply) == "PERMISSION_DENIED"
    assert reply.text == "Error: Cannot read directory 'protected/'"
    assert unprivileged(lambda: info(root, "protected/f")).ok
    described = unprivileged(lambda: info(root, "protected")).text
    assert "Readable: No\nWritable: No\n" in described
    (root / "protected").chmod(0o755)


@pytest.mark.check(18)
def test_directory_that_can_only_be_read_is_listed_without_sizes(tree: Plant) -> None:
    root = tree({"d/sub/": None, "d/f": "12345", "d/l": {"link": "f"}})
    (root / "d").chmod(0o444)
    reply = unprivileged(lambda: listing(root, "d"))
    assert reply.text.endswith(
        "[DIR]  sub/\n"
        "[FILE] f                  (size unknown)\n"
        "[FILE] l                  (size unknown)\n"
    )
    assert columns(reply)["kind"] == ["unknown"] * 3
    assert columns(reply)["size"] == columns(reply)["modified"] == [None] * 3
    for sort_by in ("size", "modified"):
        again = unprivileged(lambda sort_by=sort_by: listing(root, "d", sort_by=sort_by))  # type: ignore[misc]
        assert rows(again) == rows(reply)
    (root / "d").chmod(0o755)


def test_closed_directory_on_the_way_is_reported(tree: Plant) -> None:
    root = tree({"closed/d/f": ""})
    (root / "closed").chmod(0o000)
    told = unprivileged(lambda: [listing(root, "closed/d").text, info(root, "closed/d/f").text])
    assert told == [
        "Error: Cannot read directory 'closed/d'",
        "Error: Cannot read file 'closed/d/f'",
    ]
    (root / "closed").chmod(0o755)


# ---------------------------------------------------------------------------- meanwhile


@pytest.mark.check(17)
def test_entry_that_vanishes_is_listed_as_unknown(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"stays": "x" * 2048, "vanishes": ""})
    real = entry.lstat

    def lstat(name: str, directory: int) -> os.stat_result:
        if name == "vanishes":
            raise FileNotFoundError(errno.ENOENT, "gone")
        return real(name, directory)

    monkeypatch.setattr(entry, "lstat", lstat)
    reply = listing(root)
    assert rows(reply) == [
        "[FILE] stays              (2.0 KB)",
        "[FILE] vanishes           (size unknown)",
    ]
    assert columns(reply)["kind"] == ["file", "unknown"]


def test_entry_without_a_status_comes_after_one_from_before_1970(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a-vanishes": "", "b-old": "", "c-new": ""})
    os.utime(root / "b-old", (-MTIME, -MTIME))
    real = entry.lstat

    def lstat(name: str, directory: int) -> os.stat_result:
        if name == "a-vanishes":
            raise FileNotFoundError(errno.ENOENT, "gone")
        return real(name, directory)

    monkeypatch.setattr(entry, "lstat", lstat)
    found = columns(listing(root, sort_by="modified"))["name"]
    assert found == ["c-new", "b-old", "a-vanishes"]


def test_directory_that_cannot_be_read_to_its_end_is_reported(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def groups_in(_: int, __: Budget) -> None:
        raise path_error(OSError(errno.EIO, os.strerror(errno.EIO)))

    monkeypatch.setattr(entry, "groups_in", groups_in)
    reply = listing(tree({"d/": None}), "d")
    assert reply.text == "Error: Cannot read directory 'd': input/output error"


def run_with(root: Path, budget: Budget, limit: int | None = None) -> Any:  # noqa: ANN401
    """The result of the tool itself, with a `budget` that no call can ask for."""
    arguments = list_directory.Arguments(path=".", show_hidden=False, sort_by="name")
    with Root(str(root)) as opened:
        settings = list_directory.Settings()
        context = Context(root=opened, budget=budget, max_output_bytes=limit, settings=settings)
        return list_directory.run(arguments, context)


LATE = "... the time was up before all was read\n"


def test_listing_says_that_the_time_was_up(tree: Plant) -> None:
    result = run_with(tree({"f": ""}), Budget(deadline=0))
    assert result.truncated
    assert result.text.endswith(f"Total: 0 files, 0 directories\n\n{LATE}")


def test_late_listing_keeps_within_its_limit_too(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({f"f{number}": "" for number in range(10)})
    whole = len(run_with(root, Budget()).text)
    for limit in range(whole - 60, whole + len(LATE) + 2):
        looks = chain([False], cycle([True]))
        monkeypatch.setattr(Budget, "expired", lambda _, looks=looks: next(looks))
        result = run_with(root, Budget(), limit)
        assert len(result.text.encode()) <= limit
        assert result.text.endswith(LATE)
        assert result.truncated


def test_cancelled_listing_says_so(tree: Plant) -> None:
    cancelled = threading.Event()
    cancelled.set()
    server = server_at(tree({"f": ""}))
    reply = server.call("agent-q/list_directory", {"path": "."}, None, cancelled)
    assert code(reply) == "CANCELLED"


# ---------------------------------------------------------------------------- get_file_info


@pytest.mark.usefixtures("utc")
def test_time_before_the_epoch_and_far_ahead_is_shown(tree: Plant) -> None:
    root = tree({"old": "", "new": ""})
    os.utime(root / "old", (-1, -86_400))
    os.utime(root / "new", (MTIME, 2**33))
    assert (
        "Modified: 1969-12-31 00:00:00\nAccessed: 1969-12-31 23:59:59\n" in info(root, "old").text
    )
    assert "Modified: 2242-03-16 12:56:32\n" in info(root, "new").text


def test_time_that_no_calendar_holds_is_in_seconds(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def localtime(_: float) -> None:
        raise OverflowError

    monkeypatch.setattr("time.localtime", localtime)
    root = tree({"f": ""})
    os.utime(root / "f", (MTIME, MTIME))
    assert f"Modified: @{MTIME}\n" in info(root, "f").text


@pytest.mark.usefixtures("utc")
def test_time_is_local(tree: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"f": ""})
    os.utime(root / "f", (MTIME, MTIME))
    assert "Modified: 2023-11-14 22:13:20\n" in info(root, "f").text
    monkeypatch.setenv("TZ", "EST5")
    __import__("time").tzset()
    assert "Modified: 2023-11-14 17:13:20\n" in info(root, "f").text


def test_root_itself_is_described(tree: Plant) -> None:
    root = tree({"f": ""})
    for path in ("", ".", "..", str(root)):
        reply = info(root, path)
        if path == "..":
            assert code(reply) == "SANDBOX_VIOLATION"
        else:
            assert reply.text.startswith(f"File: {root}/\n\nType: directory\n")


@pytest.mark.check(21)
def test_fifo_is_described_at_once(tree: Plant) -> None:
    reply = info(tree({"pipe": {"fifo": True}}), "pipe")
    assert "Type: fifo\n" in reply.text
    assert reply.data
    assert (str(reply.data["type"]), str(reply.data["kind"])) == ("file", "fifo")
    assert str(reply.data["permissions"]).startswith("p")


def test_path_with_odd_characters_is_quoted_whole(tree: Plant) -> None:
    root = tree({"a\nb": ""})
    assert info(root, "a\nb").text.startswith(f'File: "{root}/a\\nb"\n\n')
    (root / "a\nb").unlink()
    (root / "a\nb").mkdir()
    assert listing(root, "a\nb").text.startswith(f'Directory: "{root}/a\\nb/"\n')


@pytest.mark.parametrize("sort_by", ["size", "modified"])
def test_facts_of_many_entries_are_not_all_kept(tree: Plant, sort_by: str) -> None:
    root = tree({f"{number:04d}": "x" * (number * 7 % 100) for number in range(3000)})
    for number in range(3000):
        os.utime(root / f"{number:04d}", (10**9, 10**9 + number * 13 % 1000))
    server = server_at(root)
    arguments = {"path": ".", "sort_by": sort_by}
    server.call("agent-q/list_directory", arguments)
    peaks = []
    texts = []
    for limit in (1 << 20, 1000):
        tracemalloc.start()
        texts.append(
            server.call("agent-q/list_directory", arguments, {"max_output_bytes": limit}).text
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    whole, part = (text.splitlines()[3:] for text in texts)
    assert 10 < len(part) < 40
    assert part[:-1] == whole[: len(part) - 1]
    assert peaks[1] < 900_000 < peaks[0], peaks  # 420,000 and 1,400,000 alone

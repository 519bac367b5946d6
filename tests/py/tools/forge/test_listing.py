"""forge/list_directory: which entries are listed, and their facts.

Each test names the requirements (FR-, NFR-, CFG-LD-...) and scenarios (T-LD-...) that it shows.
"""

import json
import os
import re
from pathlib import Path

import pytest

from backstaff.result import Rows
from tests.py.tools.forge.calls import ENTRY_KEYS, KEYS, entries_of, listed, output, paths, plain
from tests.py.tools.forge.model import written
from tests.py.trees import Plant

# ---------------------------------------------------------------------------- traversal


def test_default_arguments_give_the_children_sorted(tree: Plant) -> None:
    """T-LD-01, FR-LD-LST-01, FR-LD-OUT-01."""
    root = tree({"b/x": "", "a": "12", "C": "", "é": "", ".h": ""})
    reply = output(listed(root))
    assert [(e["path"], e["depth"]) for e in reply["entries"]] == [
        ("C", 1),
        ("a", 1),
        ("b", 1),
        ("é", 1),
    ]
    assert (reply["returned"], reply["truncated"], reply["truncated_reason"]) == (4, False, None)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_recursion_gives_all_entries_down_to_max_depth(tree: Plant, depth: int) -> None:
    """T-LD-04, FR-LD-LST-02: and a cut by depth is no truncation."""
    root = tree({"a/b/c/d/e": "", "f": ""})
    reply = output(listed(root, recursive=True, max_depth=depth))
    there = ["a", "a/b", "a/b/c", "a/b/c/d"]
    assert [e["path"] for e in reply["entries"]] == [*there[:depth], "f"]
    assert [e["depth"] for e in reply["entries"]] == [*range(1, depth + 1), 1]
    assert not reply["truncated"]


def test_dot_and_dot_dot_are_no_entries(tree: Plant) -> None:
    """FR-LD-LST-03."""
    root = tree({"a/": None})
    assert paths(listed(root, recursive=True, include_hidden=True)) == ["a"]


def test_preorder_decides_which_entries_are_kept_and_whole_paths_the_output(tree: Plant) -> None:
    """FR-LD-LST-05, FR-LD-OUT-01: "a/z" is met before "a-b", but sorts after it."""
    root = tree({"a/z": "", "a-b": "", "b": ""})
    assert paths(listed(root, recursive=True)) == ["a", "a-b", "a/z", "b"]
    assert paths(listed(root, recursive=True, max_entries=2)) == ["a", "a/z"]


def test_hidden_entries_are_omitted_and_not_entered(tree: Plant) -> None:
    """T-LD-07, T-LD-11, FR-LD-LST-06, -06a."""
    root = tree({".f": "", ".d/x": "", "a/.g": "", "a/b": "", "…": "", "-": ""})
    assert paths(listed(root, recursive=True)) == ["-", "a", "a/b", "…"]
    reply = output(listed(root, recursive=True, include_hidden=True))
    hidden = {e["path"]: e["is_hidden"] for e in reply["entries"]}
    assert {path for path, is_hidden in hidden.items() if is_hidden} == {".f", ".d", "a/.g"}
    assert ".d/x" in hidden


def test_hidden_entries_do_not_count(tree: Plant) -> None:
    """FR-LD-LST-06: filters go before the count."""
    root = tree({f".h{n}": "" for n in range(9)} | {"a": "", "b": "", "p": {"fifo": True}})
    reply = output(listed(root, max_entries=2))
    assert (reply["returned"], reply["truncated"]) == (2, False)


@pytest.mark.parametrize(("most", "cut"), [(1, True), (4, True), (5, False), (6, False)])
def test_max_entries_truncates_only_when_something_is_left(
    tree: Plant, most: int, *, cut: bool
) -> None:
    """T-LD-05, FR-LD-LST-07, FR-LD-OUT-02b."""
    reply = output(listed(tree({f"f{n}": "" for n in range(5)}), max_entries=most))
    assert reply["returned"] == len(reply["entries"]) == min(most, 5)
    assert reply["max_entries"] == most
    assert reply["truncated"] is cut
    assert reply["truncated_reason"] == ("max_entries" if cut else None)


def test_one_more_eligible_entry_is_looked_for_in_the_whole_tree(tree: Plant) -> None:
    """FR-LD-LST-07: unwanted entries do not make a listing truncated."""
    root = tree({"a/f": "", "b/c/": None, "d/": None, "z": {"fifo": True}})
    arguments = {"recursive": True, "include_dirs": False, "max_entries": 1}
    assert output(listed(root, **arguments))["truncated"] is False
    (root / "b/c/late").write_text("")
    assert output(listed(root, **arguments))["truncated"] is True


def test_links_are_listed_and_never_followed(project: Path) -> None:
    """T-LD-08, FR-LD-VAL-09, NFR-LD-SEC-03."""
    reply = output(listed(project, recursive=True))
    types = {e["path"]: e["type"] for e in reply["entries"]}
    links = {"in", "out", "up", "loop", "dangling"}
    assert {path for path, kind in types.items() if kind == "symlink"} == links
    assert not any(path.split("/")[0] in links for path in types if "/" in path)
    assert all(e["size_bytes"] is None for e in reply["entries"] if e["type"] == "symlink")
    without = paths(listed(project, recursive=True, include_symlinks=False))
    assert without == sorted(set(types) - links)


def test_directories_that_are_not_wanted_are_still_entered(project: Path) -> None:
    """FR-LD-LST-02 with include_dirs=false."""
    found = paths(listed(project, recursive=True, include_dirs=False, include_symlinks=False))
    assert found == ["d/e/g", "d/f", "f"]


def test_only_the_kinds_that_are_wanted_are_listed(project: Path) -> None:
    """FR-LD-VAL-05, -06a."""
    assert paths(listed(project, include_files=False, include_symlinks=False)) == ["d"]
    assert paths(listed(project, include_dirs=False, include_symlinks=False)) == ["f"]
    assert "in" in paths(listed(project, include_dirs=False, include_files=False))


@pytest.mark.parametrize("flags", [{}, {"include_symlinks": False}])
def test_entries_that_are_not_wanted_take_no_place_of_others(
    tree: Plant, flags: dict[str, object]
) -> None:
    """FR-LD-LST-06, -07: filters go before the count, however many there are of them."""
    root = tree({f"a{n}": {"fifo": True} for n in range(9)} | {"x": "", "y": "", "z": ""})
    reply = output(listed(root, max_entries=2, **flags))
    assert [e["path"] for e in reply["entries"]] == ["x", "y"]
    assert reply["truncated"] is True
    assert paths(listed(root, max_entries=3, **flags)) == ["x", "y", "z"]


# ---------------------------------------------------------------------------- entries


def test_entries_tell_size_and_time_of_the_thing_itself(project: Path) -> None:
    """FR-LD-OUT-02 and the field rules of 3.5: by lstat, milliseconds cut off."""
    os.utime(project / "f", ns=(0, 1_700_000_000_123_999_999))
    os.utime(project / "in", ns=(0, 1_600_000_000_000_000_000), follow_symlinks=False)
    entries = entries_of(listed(project))
    assert (entries["f"]["size_bytes"], entries["f"]["modified_epoch_ms"]) == (5, 1_700_000_000_123)
    assert (entries["in"]["size_bytes"], entries["in"]["modified_epoch_ms"]) == (
        None,
        1_600_000_000_000,
    )
    assert entries["d"]["size_bytes"] is None


@pytest.mark.parametrize(
    ("nanoseconds", "shown"), [(0, 0), (999_999, 0), (-1, None), (-(10**15), None)]
)
def test_time_before_1970_is_null(tree: Plant, nanoseconds: int, shown: int | None) -> None:
    """The field rules of 3.5."""
    root = tree({"f": ""})
    os.utime(root / "f", ns=(0, nanoseconds))
    assert entries_of(listed(root))["f"]["modified_epoch_ms"] == shown


def test_keys_stand_in_the_order_of_the_contract(project: Path) -> None:
    """FR-LD-OUT-02a."""
    reply = output(listed(project))
    assert list(reply) == KEYS
    assert all(list(entry) == ENTRY_KEYS for entry in reply["entries"])


def test_escapes_are_the_shortest_ones_and_the_rest_is_raw(tree: Plant) -> None:
    r"""FR-LD-OUT-02a, NFR-LD-SEC-02: no control character below U+0020 stands raw."""
    odd = '"\\\b\f\n\r\t\x01\x1f\x7fé\u2028\U0001f600'
    text = listed(tree({odd: ""})).text
    name = '"\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7fé\u2028\U0001f600"'
    assert f'"entries":[{{"name":{name},"path":{name},"depth":1,' in text
    assert not re.search(r"[\x00-\x1f]", text)


def test_undecodable_name_is_lossy_in_output_and_order_but_entered_by_its_bytes(
    tree: Plant,
) -> None:
    """T-LD-09, NFR-LD-REL-02, FR-LD-LST-05, FR-LD-OUT-01."""
    root = tree({"\udce9/f": "", "\uffff": "", "z": "", "\U0001f600": "", "a\udcff": ""})
    reply = listed(root, recursive=True)
    reply.text.encode("utf-8")
    assert paths(reply) == ["a\ufffd", "z", "\ufffd", "\ufffd/f", "\uffff", "\U0001f600"]
    assert paths(listed(root, recursive=True, max_entries=4)) == [
        "a\ufffd",
        "z",
        "\ufffd",
        "\ufffd/f",
    ]
    assert output(listed(root, path="\udce9"))["path"] == "\ufffd"
    assert reply.data
    assert output(reply) == json.loads(written(plain(reply.data)))


@pytest.mark.parametrize("flags", [{}, {"include_symlinks": False}, {"include_dirs": False}])
def test_undecodable_name_is_kept_or_cut_by_its_lossy_form(
    tree: Plant, flags: dict[str, object]
) -> None:
    """T-LD-09, FR-LD-LST-05: U+FFFD comes after U+FF5E, the raw byte would come before."""
    root = tree({"\udce9/f": "", "\uff5e": ""})
    assert paths(listed(root, recursive=True, max_entries=1, **flags)) == ["\uff5e"]


@pytest.mark.check(22)
def test_names_that_are_equal_after_conversion_are_both_listed_in_a_stable_order(
    tree: Plant,
) -> None:
    """T-LD-09, NFR-LD-REL-02, FR-LD-OUT-02."""
    sizes = [("\udc80/x", 9), ("\udcfe", 1), ("\udcff", 2), ("\ufffd", 3)]
    for turn, contents in enumerate((sizes, sizes[::-1])):
        root = tree({name: {"bytes": size} for name, size in contents}, f"turn-{turn}")
        entries = output(listed(root, recursive=True))["entries"]
        assert [(e["path"], e["size_bytes"]) for e in entries] == [
            ("\ufffd", None),
            ("\ufffd", 1),
            ("\ufffd", 2),
            ("\ufffd", 3),
            ("\ufffd/x", 9),
        ]


def test_data_has_exact_names_and_the_json_valid_ones(folder: Path) -> None:
    odd = os.fsdecode(b"a\xff\n")
    (folder / odd).touch()
    reply = listed(folder)
    assert [entry["name"] for entry in output(reply)["entries"]] == ["a\ufffd\n"]
    assert reply.data is not None
    entries = reply.data["entries"]
    assert isinstance(entries, Rows)
    assert [entry["name"] for entry in entries.objects()] == [odd]

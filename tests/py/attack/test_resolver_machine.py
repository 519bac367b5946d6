"""The resolver compared with a slow model of it, while a tree changes step by step."""

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from backstaff.fs.root import Root
from tests.py.attack.figures import MINUTES, tally
from tests.py.examples import examples
from tests.py.fs.test_root_against_kernel import NAMES, inodes, judge, path

pytestmark = pytest.mark.slow

PLACE = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
TARGET = path | st.sampled_from(("..", "../..", "../out", "../R", "{R}", "{out}/a", "a/../.."))
TEXT = path | st.sampled_from((*NAMES, "a/..", "b/../..", "a/b/..", "../R/a", "{R}/b/.."))
SIDE = st.sampled_from(("R", "R", "R", "out"))


class Tree(RuleBasedStateMachine):
    """A root that stays open, a neighbour, and entries that move between them."""

    @initialize()
    def plant(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="backstaff-")).resolve()
        names = {"R": "R", "out": "out", "over": "."}
        self.names = {name: str(self.folder / there) for name, there in names.items()}
        for name in ("R", "out", "R-evil"):
            (self.folder / name).mkdir()
        (self.folder / "R-evil" / "a").write_text("secret")
        for name, there in (("to-R", "R"), ("to-a", "{R}/a")):
            (self.folder / name).symlink_to(there.format(**self.names))
        self.root = Root(self.names["R"])
        self.before = descriptors()

    @rule(side=SIDE, place=PLACE)
    def make_directory(self, side: str, place: str) -> None:
        try_to(lambda: (self.folder / side / place).mkdir(parents=True))

    @rule(side=SIDE, place=PLACE)
    def make_file(self, side: str, place: str) -> None:
        try_to((self.folder / side / place).touch)

    @rule(side=SIDE, place=PLACE, words=TARGET)
    def make_link(self, side: str, place: str, words: str) -> None:
        there = words.format(**self.names)
        try_to(lambda: (self.folder / side / place).symlink_to(there))

    @rule(source=SIDE, place=PLACE, side=SIDE, other=PLACE)
    def move(self, source: str, place: str, side: str, other: str) -> None:
        try_to(lambda: (self.folder / source / place).rename(self.folder / side / other))

    @rule(side=SIDE, place=PLACE)
    def remove(self, side: str, place: str) -> None:
        there = self.folder / side / place
        if there.is_symlink() or not there.is_dir():
            try_to(there.unlink)
        elif inside(there, self.folder):
            shutil.rmtree(there.resolve())  # the path may lead through the removed entry

    @precondition(lambda self: hasattr(self, "root"))
    @rule(texts=st.lists(TEXT, min_size=1, max_size=6))
    def look(self, texts: list[str]) -> None:
        found = inodes(self.names["R"])
        for text in texts:
            judge(self.root, self.names["R"], text.format(**self.names), found)
        with Root(self.names["R"]) as anew:
            judge(anew, self.names["R"], texts[0].format(**self.names), found)
        tally(attacks_tried=len(texts) + 1)
        assert descriptors() == self.before, "a look leaves a descriptor open"

    def teardown(self) -> None:
        if hasattr(self, "root"):
            self.root.close()
            shutil.rmtree(self.folder)


def try_to(change: Callable[[], object]) -> None:
    """Do `change`, unless the tree makes it impossible."""
    with suppress(OSError):
        change()


def inside(there: Path, folder: Path) -> bool:
    """Return True if the removed entry really is below `folder`, even through links."""
    return str(there.resolve()).startswith(f"{folder}/")


def descriptors() -> int:
    """Return the number of open descriptors."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


TestTree = Tree.TestCase
TestTree.settings = examples(1 / 6, least=MINUTES * 20, stateful_step_count=40)

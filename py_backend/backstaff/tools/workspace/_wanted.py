"""Which matches of a search are wanted: those that define something, those in no test."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from backstaff.budget import Budget
from backstaff.contents.regexp_worker import Match
from backstaff.contents.scan import text_of
from backstaff.render.lines import plural
from backstaff.result import Note, NoteKind
from backstaff.structure.outline import Outline, outline

_FILE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|testdata|e2e)/|(?:^|/)(?:test_[^/]*|conftest\.py)\Z"
    r"|[^/](?:_tests?|[-.]tests?|[._]spec|Tests?|Spec)\.[^/.]+\Z"
)
"""The path of a file of tests."""


@dataclass(slots=True)
class Wanted:
    """Chooses among matches, and counts those that tests have.

    With `definitions` a match has to be on the line of a name that is defined there; with
    `no_tests` it has to be in no test, by its file or by a definition around it.
    """

    definitions: bool
    no_tests: bool
    budget: Budget
    files: int = 0
    matches: int = 0

    def some_of(self, files: Sequence[str]) -> Sequence[str]:
        """FILES but for those of tests."""
        left = [path for path in files if not (self.no_tests and _FILE.search(path))]
        self.files = len(files) - len(left)
        return left

    def choose(self, path: str, data: bytes, matches: Sequence[Match]) -> Sequence[Match]:
        """Those of `matches` in the file `path`, whose text is in `data`, that are wanted."""
        text = text_of(data)
        made = outline(text.decode(), path, self.budget) if isinstance(text, bytes) else None
        if self.definitions:
            lines = {one.line for one in made.definitions} if made else set()
            matches = [match for match in matches if match[0] in lines]
        if self.no_tests and made:
            left = [match for match in matches if not _in_test(match[0], made)]
            self.matches += len(matches) - len(left)
            return left
        return matches

    def told(self) -> list[Note]:
        """Say what was left out: `12 files of tests and 5 matches in tests left out`."""
        parts = [plural(self.files, "file of tests", "files of tests")] * bool(self.files)
        parts += [plural(self.matches, "match in tests", "matches in tests")] * bool(self.matches)
        return [Note(NoteKind.NOT_SEARCHED, f"{' and '.join(parts)} left out")] if parts else []


def _in_test(number: int, made: Outline) -> bool:
    inner = made.around(number)
    return inner is not None and any(one.is_test for one in (*made.above(inner), inner))

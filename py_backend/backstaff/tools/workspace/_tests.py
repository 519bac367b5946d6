"""What is a test: files by their names, and definitions inside sources."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from backstaff.contents.regexp_worker import Match
from backstaff.render.lines import plural
from backstaff.structure.outline import Outline

_FILE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|testdata|e2e)/|(?:^|/)(?:test_[^/]*|conftest\.py)\Z"
    r"|[^/](?:_tests?|[-.]tests?|[._]spec|Tests?|Spec)\.[^/.]+\Z"
)


@dataclass(slots=True)
class Tests:
    """Leaves tests out where they are `excluded`, and counts them."""

    excluded: bool
    files: int = 0
    matches: int = 0

    def without(self, files: Sequence[str]) -> Sequence[str]:
        """FILES but for those with tests."""
        left = [path for path in files if not _FILE.search(path)]
        self.files = len(files) - len(left)
        return left

    def left(self, matches: Sequence[Match], outline: Outline) -> Sequence[Match]:
        """Those of MATCHES that stand in no test of OUTLINE."""
        if not self.excluded:
            return matches
        left = [match for match in matches if not _in_test(match[0], outline)]
        self.matches += len(matches) - len(left)
        return left

    def told(self) -> list[str]:
        """What was left out, as a note: `12 files of tests and 5 matches in tests left out`."""
        parts = [plural(self.files, "file of tests", "files of tests")] * bool(self.files)
        parts += [plural(self.matches, "match in tests", "matches in tests")] * bool(self.matches)
        return [f"{' and '.join(parts)} left out"] if parts else []


def _in_test(number: int, outline: Outline) -> bool:
    inner = outline.around(number)
    around = [*outline.above(inner), inner] if inner else []
    return any(one.is_test for one in around)

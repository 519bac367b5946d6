"""The scan of many files for a regular expression, in their order, as far as matches are wanted."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backstaff.fs.budget import Budget
from backstaff.fs.contents import Contents, Unread
from backstaff.search.regexp import Likely, Regexp
from backstaff.search.regexp_worker import Match

BATCH = 1 << 18
FIRST_BATCH, MAX_BATCH = 8, 64
"""Bytes and texts that are searched in one go, while the next are read. The first go is a short
one, as many a search ends with it."""
AUTOMATIC, FEW = 15, 3
"""Lines around a match that are kept unasked, and how many matches have such."""
LINE_END = re.compile(r"\r\n|\r|\n")
STRIDE = 32
"""Files between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file with matches. `count` is their number for the output "count".

    `lines` are those around the matches, by number, where any are wanted.
    """

    path: str
    count: int
    matches: Sequence[Match]
    lines: Mapping[int, str]


@dataclass(slots=True)
class Scan:
    """A search of FILES for `most` matches, or files with any, after the first `skipped`.

    `output` is as in `regexp_worker.found_in`. `looked_at` counts the files up to the one with the
    last match, and `unread` has the numbers of those that are no text, with the reason. `waits_for`
    counts the files up to the one that the process searches; 0 is none. So many lines `around` a
    match are kept; None is for `AUTOMATIC` ones, as long as there are at most `FEW` matches.
    """

    files: Sequence[str]
    output: str = "files"
    skipped: int = 0
    most: int = 1
    around: int | None = 0
    texts: Mapping[str, bytes | Unread] = field(default_factory=dict)
    """Texts that take the place of files."""
    found: list[Found] = field(default_factory=list)
    looked_at: int = 0
    unread: list[tuple[int, Unread]] = field(default_factory=list)
    waits_for: int = 0
    matches: int = 0
    """How many matches were found, or files for other outputs than "content"."""

    def run(self, regexp: Regexp, contents: Contents, budget: Budget) -> None:
        """Search. Raises `BadRegexp`, `DeadlineExceeded` and `Cancelled`."""
        batch: list[tuple[int, str, Likely]] = []
        sent: list[tuple[int, str, Likely]] = []
        size, most = 0, FIRST_BATCH
        for number, path in enumerate(budget.checked(self.files, STRIDE)):
            self.looked_at = number + 1
            text = self.texts[path] if path in self.texts else contents.text(path)
            if isinstance(text, Unread):
                self.unread.append((number, text))
                continue
            likely = regexp.likely(text)
            if likely is None:
                continue
            batch.append((number, path, likely))
            size += len(text)
            if size >= BATCH or len(batch) >= most:
                if self._is_enough(regexp, sent):
                    return
                self._send(regexp, batch)
                sent, batch, size, most = batch, [], 0, MAX_BATCH
        for last in (batch, []):
            if self._is_enough(regexp, sent):
                return
            if last:
                self._send(regexp, last)
            sent = last

    def unread_by_reason(self) -> Counter[Unread]:
        """How many of the files that were looked at are no text, by reason."""
        return Counter(reason for number, reason in self.unread if number < self.looked_at)

    def _send(self, regexp: Regexp, batch: Sequence[tuple[int, str, Likely]]) -> None:
        texts = [likely for _, _, likely in batch]
        regexp.search(texts, self.output, self.skipped, self.most - self.matches)

    def _is_enough(self, regexp: Regexp, sent: Sequence[tuple[int, str, Likely]]) -> bool:
        """Wait for the answers about the SENT texts. Whether all is found that is wanted."""
        is_enough = False
        for number, path, (text, _) in sent:
            self.waits_for = number + 1
            count, matches = regexp.answer()
            if is_enough:
                continue  # after what is wanted, nothing is searched
            if self.output == "content":
                self.skipped -= count
            elif count and self.skipped:
                self.skipped -= 1
                continue
            if matches or (count and self.output != "content"):
                self.matches += len(matches) if self.output == "content" else 1
                self.found.append(Found(path, count, matches, self._lines(text, matches)))
            if self.matches >= self.most:
                self.looked_at = number + 1
                is_enough = True
        self.waits_for = 0
        return is_enough

    def _lines(self, text: bytes, matches: Sequence[Match]) -> Mapping[int, str]:
        around = self.around
        if around is None:
            around = AUTOMATIC if self.matches <= FEW else 0
        if not around or not matches:
            return {}
        lines = LINE_END.split(text.decode("utf-8-sig").removesuffix("\n"))
        numbers = {
            number
            for match in matches
            for number in range(match[0] - around, match[0] + around + 1)
            if 0 < number <= len(lines)
        }
        return {number: lines[number - 1] for number in numbers}

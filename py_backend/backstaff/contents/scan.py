"""The scan of many files for a regular expression, in their order, as far as matches are wanted."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.contents.regexp import Regexp
from backstaff.contents.regexp_worker import Match, judged
from backstaff.fs.contents import Contents, Unread

BYTES = 1 << 18
FIRST_FILES, FILES = 8, 64
"""Bytes and files that are searched at once, while the next are read. The first are few, as many a
search ends with them."""
AUTOMATIC, FEW = 15, 3
"""Lines around a match that are kept unasked, and how many matches have such."""


class Batch(NamedTuple):
    """The texts of files from the number `first` on; b"" for one that has none."""

    first: int
    texts: Sequence[bytes]


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
    codings: Mapping[str, str] = field(default_factory=dict)
    """The encodings that are known of files that are not UTF-8, by path."""
    found: list[Found] = field(default_factory=list)
    looked_at: int = 0
    unread: list[tuple[int, Unread]] = field(default_factory=list)
    waits_for: int = 0
    matches: int = 0
    """How many matches were found, or files for other outputs than "content"."""

    def run(self, regexp: Regexp, contents: Contents, budget: Budget) -> None:
        """Search. Raises `BadRegexp`, `DeadlineExceeded` and `Cancelled`."""
        sent = Batch(0, ())
        for batch in self.batches(contents, budget):
            if self._is_enough(regexp, sent):
                return
            regexp.search(batch.texts, self.output, self.skipped, self.most - self.matches)
            sent = batch
            if batch.first == 0:  # nothing is read that need not be
                if self._is_enough(regexp, sent):
                    return
                sent = Batch(0, ())
        self._is_enough(regexp, sent)

    def batches(self, contents: Contents, budget: Budget) -> Iterator[Batch]:
        """Read the files. Raises `DeadlineExceeded` and `Cancelled`."""
        while (first := self.looked_at) < len(self.files):
            budget.check()
            texts: list[bytes] = []
            size = 0
            for path in self.files[first : first + (FILES if first else FIRST_FILES)]:
                text = contents.data(path)
                if path in self.codings and isinstance(text, bytes):
                    text = text_of(text, "utf-8", self.codings[path])
                if isinstance(text, Unread):
                    self.unread.append((first + len(texts), text))
                    text = b""
                texts.append(text)
                size += len(text)
                if size >= BYTES:
                    break
            self.looked_at = first + len(texts)
            yield Batch(first, texts)

    @property
    def searched(self) -> int:
        """How many texts were searched."""
        return self.looked_at - self.unread_by_reason().total()

    def unread_by_reason(self) -> Counter[Unread]:
        """How many of the files that were looked at are no text, by reason."""
        return Counter(reason for number, reason in self.unread if number < self.looked_at)

    def unread_because(self, reason: Unread) -> list[str]:
        """The files that were looked at and are no text for that REASON."""
        numbers = [at for at, why in self.unread if why is reason and at < self.looked_at]
        return [self.files[number] for number in numbers]

    def _is_enough(self, regexp: Regexp, sent: Batch) -> bool:
        """Wait for the answers about what was SENT. Whether all is found that is wanted."""
        if not sent.texts:
            return False
        is_enough, self.waits_for = False, sent.first + 1
        unread, numbers = regexp.candidates()
        self.unread += [(sent.first + number, Unread(reason)) for number, reason in unread]
        for number in numbers:
            self.waits_for = sent.first + number + 1
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
                lines = self._lines(sent.texts[number], matches)
                path = self.files[sent.first + number]
                self.found.append(Found(path, count, matches, lines))
            if self.matches >= self.most:
                self.looked_at = self.waits_for
                is_enough = True
        self.waits_for = 0
        return is_enough

    def _lines(self, data: bytes, matches: Sequence[Match]) -> Mapping[int, str]:
        around = self.around
        if around is None:
            around = AUTOMATIC if self.matches <= FEW else 0
        if not around or not matches:
            return {}
        text = text_of(data)
        lines = [] if isinstance(text, Unread) else text.decode().removesuffix("\n").split("\n")
        numbers = {
            number
            for match in matches
            for number in range(match[0] - around, match[0] + around + 1)
            if 0 < number <= len(lines)
        }
        return {number: lines[number - 1] for number in numbers}


def text_of(data: bytes, *codings: str) -> bytes | Unread:
    """The text of DATA as the process sees it; or why they are none. See `judged`."""
    text = judged(data, *codings)
    return Unread(text) if isinstance(text, str) else text

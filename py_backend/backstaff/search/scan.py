"""The scan of many files for a regular expression, in their order, as far as matches are wanted."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backstaff.fs.budget import Budget
from backstaff.fs.contents import Contents, Unread, is_plain, judged
from backstaff.search.regexp import Likely, Regexp
from backstaff.search.regexp_worker import Match

BYTES = 1 << 18
FIRST_FILES, FILES = 8, 64
"""Bytes and files that are searched in one go, while the next are read. The first go is a short
one, as many a search ends with it."""
AUTOMATIC, FEW = 15, 3
"""Lines around a match that are kept unasked, and how many matches have such."""


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
        sent: list[tuple[int, str, Likely]] = []
        at, at_once = 0, FIRST_FILES
        while at < len(self.files):
            budget.check()
            likely = list(self._likely(regexp, contents, at, at_once))
            at = self.looked_at
            if self._is_enough(regexp, sent):
                return
            self._send(regexp, likely)
            sent = likely
            if at_once == FIRST_FILES and self._is_enough(regexp, sent):
                return  # as many a search does
            sent, at_once = (sent, FILES) if at_once == FILES else ([], FILES)
        self._is_enough(regexp, sent)

    def _likely(
        self, regexp: Regexp, contents: Contents, first: int, most: int
    ) -> Iterator[tuple[int, str, Likely]]:
        """Read at most MOST files from the FIRST on; yield those in which a line can match."""
        texts: list[bytes] = []
        size = 0
        for number in range(first, min(first + most, len(self.files))):
            path = self.files[number]
            text = self.texts[path] if path in self.texts else contents.data(path)
            if isinstance(text, Unread):
                self.unread.append((number, text))
                text = b""
            texts.append(text)
            size += len(text)
            if size >= BYTES:
                break
        self.looked_at = first + len(texts)
        together = b"\n".join(texts)
        if not is_plain(together):
            for number, data in enumerate(texts):
                text = judged(data)
                if isinstance(text, Unread):
                    self.unread.append((first + number, text))
                    text = b""
                texts[number] = text
            together = b"\n".join(texts)
        for number, likely in regexp.likely(texts, together):
            yield first + number, self.files[first + number], likely

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
        lines = text.decode().removesuffix("\n").split("\n")
        numbers = {
            number
            for match in matches
            for number in range(match[0] - around, match[0] + around + 1)
            if 0 < number <= len(lines)
        }
        return {number: lines[number - 1] for number in numbers}

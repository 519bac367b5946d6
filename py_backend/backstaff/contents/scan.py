"""The scan of many files for a regular expression, in their order, as far as matches are wanted."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from backstaff.budget import Budget
from backstaff.contents.regexp import Regexp
from backstaff.contents.regexp_worker import Match, judged
from backstaff.fs.contents import Contents, Unread

BYTES = 1 << 18
FIRST_FILES, FILES = 8, 64
"""Bytes and files that are searched at once, while the next are read. The first are few, as many a
search ends with them."""
MOST_AT_ONCE = 20_000
"""Maximum number of matches, of the files searched at once, to choose among."""
MOST_KEPT = 32 << 20
"""Maximum number of bytes of the texts that are kept of files with matches."""
Choose = Callable[[str, bytes, Sequence[Match]], Sequence[Match]]
"""Chooses among the matches of a file, of which it gets the path and the text."""
Share = Callable[[str, bytes], int]
"""The maximum number of matches that a file, with this path and text, adds to a full page."""


class Batch(NamedTuple):
    """The texts of files from the number `first` on; b"" for one that has none."""

    first: int
    texts: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Found:
    """A file with matches: `count` of them, of which `passed` come before the wanted ones.

    `share` is the number of those that a full page shows. `text` is the whole text, where matches
    are wanted and there is room.
    """

    path: str
    count: int
    passed: int = 0
    matches: Sequence[Match] = ()
    share: int = 0
    text: bytes = b""


@dataclass(slots=True)
class Scan:
    """A search of `files` for `most` matches, or files with any, after the first `skipped`.

    `output` is as in `regexp_worker.found_in`. `looked_at` counts the files up to the one with the
    last match, and `unread` has the numbers of those that are no text, with the reason. `waits_for`
    counts the files up to the one that the process searches; 0 is none.
    Where the matches are `chosen`, only these count, and of a line with `one_a_line` the first.
    A file has at most `most` matches in `found`, and counts as many of them as its `share` allows.
    While nothing is found, `others` are looked for as well: it is called once, and returns the
    numbers of more patterns. `likely` gets the numbers of files that can match one of these.
    """

    files: Sequence[str]
    output: str = "files"
    skipped: int = 0
    most: int = 1
    chosen: Choose | None = None
    one_a_line: bool = False
    share: Share | None = None
    others: Callable[[], Sequence[int]] | None = None
    prefix: str = ""
    """The text before each path in an answer."""
    codings: Mapping[str, str] = field(default_factory=dict)
    """The encodings that are known of files that are not UTF-8, by path."""
    found: list[Found] = field(default_factory=list)
    looked_at: int = 0
    unread: list[tuple[int, Unread]] = field(default_factory=list)
    likely: list[int] = field(default_factory=list)
    waits_for: int = 0
    matches: int = 0
    """The number of matches that count, or of files for other outputs than "content"."""
    files_cut: int = 0
    """The number of files with more matches than the `MOST_AT_ONCE` looked at, perhaps."""
    _kept: int = 0

    def run(self, regexp: Regexp, contents: Contents, budget: Budget) -> None:
        """Search. Raises `BadRegexp`, `DeadlineExceeded` and `Cancelled`."""
        sent, also = Batch(0, ()), list[int]()
        for batch in self.batches(contents, budget):
            if self._is_enough(regexp, sent):
                return
            output, skipped, most = self.output, self.skipped, self.most
            if self.chosen:
                output = "lines" if self.one_a_line else "content"
                skipped, most = 0, MOST_AT_ONCE
            elif output != "content":
                most += skipped - self.matches
            also = [] if self.found else also
            regexp.search(batch.texts, output, skipped, most, [0, *also])
            sent = batch
            if batch.first == 0:  # nothing is read that need not be
                if self._is_enough(regexp, sent):
                    return
                if self.others and not self.found:
                    also, self.likely = [*self.others()], [*range(len(batch.texts))]
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
        """The files that were looked at and are no text for that `reason`."""
        numbers = [at for at, why in self.unread if why is reason and at < self.looked_at]
        return [self.files[number] for number in numbers]

    def _is_enough(self, regexp: Regexp, sent: Batch) -> bool:
        """Wait for the answers about `sent`. Return True once enough matches are found."""
        if not sent.texts:
            return False
        is_enough, self.waits_for = False, sent.first + 1
        answered = 0
        unread, numbers, others = regexp.candidates()
        self.unread += [(sent.first + number, Unread(reason)) for number, reason in unread]
        self.likely += [sent.first + number for number in others]
        for number in numbers:
            self.waits_for = sent.first + number + 1
            count, matches = regexp.answer()
            if is_enough:
                continue  # the files after the last match count as not searched
            text, path = sent.texts[number], self.files[sent.first + number]
            answered += len(matches)
            self.files_cut += bool(self.chosen) and answered >= MOST_AT_ONCE
            if self.chosen and matches:
                matches = self.chosen(path, text, matches)
                count = len(matches)
                matches = matches[self.skipped :][: self.most]
            wants_matches = self.output == "content"
            passed = min(self.skipped, count if wants_matches else bool(count))
            self.skipped -= passed
            matches = matches if wants_matches else ()
            if matches or (count and not wants_matches and not passed):
                has_room = wants_matches and self._kept + len(text) <= MOST_KEPT
                self._kept += len(text) * has_room
                share = len(matches)
                if self.share and share > 1:
                    share = min(share, self.share(path, text))
                kept = text if has_room else b""
                self.found.append(Found(path, count, passed, matches, share, kept))
                self.matches += share if wants_matches else 1
            if self.matches >= self.most:
                self.looked_at = self.waits_for
                is_enough = True
        self.waits_for = 0
        return is_enough


def text_of(data: bytes, *codings: str) -> bytes | Unread:
    """The text of `data` as the process sees it; or why they are none. See `judged`."""
    text = judged(data, *codings)
    return Unread(text) if isinstance(text, str) else text


def page_of(
    found: Sequence[Found], room: int, *, shared: bool
) -> tuple[list[Found], Counter[str], bool]:
    """Return the files of a page of at most `room` matches, and whether more matches follow.

    If `shared`, several files share a page that has no room for all of their matches. The counter
    has how many matches of a file are not on the page for that reason.
    """
    lengths = [len(one.matches) for one in found]
    shares, shared = lengths, shared and len(found) > 1 and sum(lengths) > room
    if shared:
        shares = [one.share for one in found]
        pairs = list(zip(lengths, shares, strict=True))
        # Where all files are known, each may show more, as far as there is room.
        for level in range(room, 0, -1) if sum(shares) <= room else ():
            raised = [min(length, max(share, level)) for length, share in pairs]
            if sum(raised) <= room:
                shares = raised
                break
    page, folded, rest = list[Found](), Counter[str](), 0
    for one, share in zip(found, shares, strict=True):
        taken = one.matches[: min(share, room)]
        room -= len(taken)
        others = one.count - one.passed - len(taken)
        if shared and len(taken) == share:
            folded[one.path] = others
        else:
            rest += others
        if taken:
            page.append(replace(one, matches=taken))
    return page, folded, rest > 0

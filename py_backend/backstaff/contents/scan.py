"""The scan of many files for a regular expression, in their order, as far as matches are wanted."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from backstaff.contents.regexp import Asked, Matchers
from backstaff.contents.regexp_worker import Job, Match, Pattern
from backstaff.fs.contents import Contents, Unread

FIRST_FILES, FEW_FILES, FILES = 8, 64, 512
"""Number of files in the first job, as many a search ends with it; and the least and most later."""
MANY_FILES = 256
"""Number of files from which on several processes search."""
MOST_AT_ONCE = 20_000
"""Maximum number of matches of a file to choose among."""
MOST_KEPT = 32 << 20
"""Maximum number of bytes of the texts that are kept of files with matches."""
Choose = Callable[[str, bytes, Sequence[Match]], Sequence[Match]]
"""Chooses among the matches of a file, of which it gets the path and the text."""
Share = Callable[[str, bytes], int]
"""The maximum number of matches that a file, with this path and text, adds to a full page."""


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
    counts the files up to the one that a process searches; 0 is none.
    Where the matches are `chosen`, only these count, and of a line with `one_a_line` the first.
    A file has at most `most` matches in `found`, and counts as many of them as its `share` allows.
    While nothing is found, `others` are looked for as well: it is called once, and returns more
    patterns. `likely` gets the numbers of files that can match one of these.
    """

    pattern: Pattern
    files: Sequence[str]
    output: str = "files"
    skipped: int = 0
    most: int = 1
    chosen: Choose | None = None
    one_a_line: bool = False
    share: Share | None = None
    others: Callable[[], Sequence[Pattern]] | None = None
    prefix: str = ""
    """The text before each path in an answer."""
    codings: Mapping[str, str] = field(default_factory=dict)
    """The encodings that are known of files that are not UTF-8, by path."""
    found: list[Found] = field(default_factory=list)
    looked_at: int = 0
    unread: dict[int, Unread] = field(default_factory=dict)
    likely: set[int] = field(default_factory=set)
    waits_for: int = 0
    matches: int = 0
    """The number of matches that count, or of files for other outputs than "content"."""
    files_cut: int = 0
    """The number of files with more matches than the `MOST_AT_ONCE` looked at, perhaps."""
    _also: Sequence[Pattern] = ()
    _kept: int = 0

    def run(self, matchers: Matchers, contents: Contents) -> None:  # noqa: C901  # one thought
        """Search. Raises `BadRegexp`, `NoMatcher`, `DeadlineExceeded` and `Cancelled`."""
        jobs, sent = deque[Asked](), 0
        while jobs or sent < len(self.files):
            # One job more than processes, so that none waits for a slower one before it.
            while len(jobs) <= len(matchers.workers) and sent < len(self.files):
                # The jobs so far may find enough, at their rate; or the number to skip may change.
                if jobs and (self.skipped or self.matches * sent >= self.most * self.looked_at):
                    break
                share = (len(self.files) - sent) // (2 * len(matchers.workers))
                size = min(3 * sent or FIRST_FILES, FILES, max(FEW_FILES, share))
                jobs.append(self._asked(sent, size, contents))
                sent += size
            job = jobs[0]
            self.waits_for = self.waits_for or job.first + 1
            word, value = matchers.answer(jobs)
            if word == "unread":
                self.unread[job.first + value[0]] = Unread(value[1])
            elif word == "at":
                self.waits_for = job.first + value + 1
            elif word == "found" and self._is_enough(job.first + value[0], *value[1:]):
                self.looked_at, self.waits_for = job.first + value[0] + 1, 0
                return
            elif word == "done":
                done, likely = value
                jobs.popleft()
                if rest := job.job.paths.count("\0") + 1 - done:
                    jobs.appendleft(self._asked(job.first + done, rest, contents))
                self.likely |= {job.first + number for number in likely}
                self.looked_at, self.waits_for = job.first + done, 0
                if not jobs and sent <= FIRST_FILES:
                    if self.others and not self.found:
                        self._also, self.likely = [*self.others()], {*range(self.looked_at)}
                    if len(self.files) > MANY_FILES:
                        matchers.grow()

    def _asked(self, first: int, size: int, contents: Contents) -> Asked:
        """Return the job for `size` files from the number `first` on."""
        paths = self.files[first : first + size]
        output, skipped, most = self.output, self.skipped, self.most
        if self.chosen:
            output = "lines" if self.one_a_line else "content"
            skipped, most = 0, MOST_AT_ONCE
        elif output != "content":
            most += skipped - self.matches
        texts, codings = contents.texts, self.codings
        job = Job(
            patterns=(self.pattern, *([] if self.found else self._also)),
            paths="\0".join(paths),
            prefix=contents.prefix,
            secrets=contents.guard.globs,
            texts={path: texts[path] for path in paths if path in texts},
            codings={path: codings[path] for path in paths if path in codings},
            output=output,
            skipped=skipped,
            most=most,
            with_text=bool(self.chosen) or (output == "content" and self._kept < MOST_KEPT),
        )
        return Asked(job, contents.start, first)

    @property
    def searched(self) -> int:
        """How many texts were searched."""
        return self.looked_at - len(self.unread_files())

    def unread_files(self) -> list[tuple[str, Unread]]:
        """The files that were looked at and are no text, each with the reason."""
        unread = self.unread.items()
        return [(self.files[number], why) for number, why in unread if number < self.looked_at]

    def _is_enough(self, number: int, count: int, matches: Sequence[Match], text: bytes) -> bool:
        """Note the matches of the file `number`. Return True once enough are found."""
        path = self.files[number]
        if self.chosen:
            self.files_cut += len(matches) >= MOST_AT_ONCE
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
        return self.matches >= self.most


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

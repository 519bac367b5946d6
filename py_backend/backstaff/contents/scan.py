"""One pass of the matcher processes through many files, which ends when its caller wants no more.

`Scan.hits` yields the files in which something is found, in the order of `files`.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from backstaff.contents.regexp import Asked, Matchers
from backstaff.contents.regexp_worker import Job, Match
from backstaff.fs.contents import Contents, Unread

FIRST_FILES, FEW_FILES, FILES = 8, 64, 512  # in the first job; the least and the most later
TWO_JOBS = 4 * FIRST_FILES  # files in the first two jobs; before the third, all are confirmed
MANY_FILES = 256  # files from which on several processes search


@dataclass(frozen=True, slots=True)
class Hits:
    """A file in which something is found: a matcher's answer."""

    path: str
    count: int  # of all matches
    matches: Sequence[Match] = ()  # those of the job's window
    text: bytes = b""  # if the job asks for it
    words: Sequence[int] = ()
    size_bytes: int = 0
    folded: int = 0  # matches that a page only counts


@dataclass(slots=True)
class Scan:
    """A pass through `files`, each of which is searched as `job` says; and how far it came.

    The job's first pattern is searched for, and until that is found its others: `likely` gets the
    numbers of files that can match one of these. Before files are sent, `confirm` gets the number
    of them all, because the files may come from an older look at the disk. The caller probably
    wants no more than `most` matches, so no more files are sent than for these.
    """

    files: Sequence[str]
    job: Job
    contents: Contents
    most: float = inf
    confirm: Callable[[int], None] = lambda _: None
    looked_at: int = 0  # number of files searched so far, from the first on
    unread: dict[int, Unread] = field(default_factory=dict)  # why those numbers are no text
    likely: set[int] = field(default_factory=set)
    waits_for: int = 0  # the files up to that on which a process works, or 0
    matches: int = 0  # in the hits so far

    def hits(self, matchers: Matchers) -> Iterator[Hits]:
        """Yield the files with hits. Raises `BadRegexp`, `NoMatcher` and as a budget does."""
        matchers.settle(least=1)  # the caller of the pass before may have had enough
        jobs, sent = deque[Asked](), 0
        while jobs or sent < len(self.files):
            # One job more than processes, so that none waits for a slower one before it.
            while len(jobs) <= len(matchers.workers) and sent < len(self.files):
                # The jobs so far may find enough, at their rate.
                if jobs and self.matches * sent >= self.most * self.looked_at:
                    break
                if sent == FIRST_FILES and len(self.files) > MANY_FILES:
                    matchers.grow()
                share = (len(self.files) - sent) // (2 * len(matchers.workers))
                size = min(3 * sent or FIRST_FILES, FILES, max(FEW_FILES, share))
                jobs.append(self._asked(sent, size))
                sent += size
            job = jobs[0]
            self.waits_for = self.waits_for or job.first + 1
            word, value = matchers.answer(jobs)
            if word == "unread":
                self.unread[job.first + value[0]] = Unread(value[1])
            elif word == "at":
                self.waits_for = job.first + value + 1
            elif word == "found":
                number, *found = value
                self.looked_at, self.waits_for = job.first + number + 1, 0
                hits = Hits(self.files[job.first + number], *found)
                self.matches += hits.count
                yield hits
            elif word == "done":
                done, likely = value
                jobs.popleft()
                if rest := job.job.paths.count("\0") + 1 - done:
                    jobs.appendleft(self._asked(job.first + done, rest))
                self.likely |= {job.first + number for number in likely}
                self.looked_at, self.waits_for = job.first + done, 0

    def _asked(self, first: int, size: int) -> Asked:
        """Return the job for `size` files from the number `first` on."""
        if first <= TWO_JOBS:
            self.confirm(first + size if first < TWO_JOBS else len(self.files))
        paths, job = self.files[first : first + size], self.job
        texts, windows = self.contents.texts, job.windows  # most jobs have none
        job = job._replace(
            patterns=job.patterns[: 1 if self.matches else None],
            paths="\0".join(paths),
            prefix=self.contents.prefix,
            secrets=self.contents.guard.globs,
            texts={one: texts[one] for one in paths if one in texts} if texts else {},
            windows={one: windows[one] for one in paths if one in windows} if windows else {},
            most=0 if self.most == inf else max(1, int(self.most) - self.matches),
        )
        return Asked(job, self.contents.start, first)

    def is_early(self) -> bool:
        """Return True if the pass ended before the last file."""
        return self.looked_at < len(self.files)

    @property
    def searched(self) -> int:
        """How many texts were searched."""
        return self.looked_at - len(self.unread_files())

    def unread_files(self) -> list[tuple[str, Unread]]:
        """The files that were looked at and are no text, each with the reason."""
        return [(self.files[at], why) for at, why in self.unread.items() if at < self.looked_at]

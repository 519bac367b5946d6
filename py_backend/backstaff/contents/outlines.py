"""Outlines of texts, made by the processes that match, because a text can take any time.

The server reads the answers alone, so no text holds up another call. A process that takes too long
for a text is killed, and the outline of that text says so.
"""

from collections import deque
from collections.abc import Iterator, Mapping

from backstaff.budget import Budget
from backstaff.cache import LRUCache
from backstaff.contents.dialects import BadRegexp
from backstaff.contents.regexp import Asked, Matchers, NoMatcher
from backstaff.contents.regexp_worker import OUTLINE, Job
from backstaff.errors import DeadlineExceeded
from backstaff.structure.languages import language_of
from backstaff.structure.outline import Definition, Outline

SECONDS = 2.0  # seconds for the outline of a text: the longest linear pass takes one
TIME_SHARE = 0.5  # the part of a call's time that one text may take: others have a chance, too
FEW = 8  # texts for which one process is enough
MAX_KEPT = 256  # outlines that are kept, each some 5 kB
KEPT: LRUCache[tuple[str, int, int], Outline] = LRUCache(MAX_KEPT)


def outline(text: str, path: str, budget: Budget) -> Outline | None:
    """Return the outline of `text`, the file `path`; None in a language that is not known."""
    return dict(outlines({path: text}, budget))[path]


def outlines(texts: Mapping[str, str], budget: Budget) -> Iterator[tuple[str, Outline | None]]:
    """Yield each path of `texts` with its outline, those known first. Raises as a budget does."""
    budget.check()
    wanted = list[str]()
    for path, text in texts.items():
        if not language_of(path, text):
            yield path, None
        elif known := KEPT.get((path, hash(text), len(text))):
            yield path, known
        else:
            wanted.append(path)
    if not wanted:
        return
    try:
        with Matchers(budget) as matchers:
            if len(wanted) > FEW:
                matchers.grow()
            data = ({path: texts[path].encode("utf-8", "surrogatepass")} for path in wanted)
            jobs = deque(Asked(Job((), texts=one, output=OUTLINE), -1) for one in data)
            while jobs:
                limit = min(SECONDS, budget.left() * TIME_SHARE)
                made = next_outline(jobs, matchers, limit)
                path = wanted.pop(0)
                if not made.problem or limit == SECONDS:
                    KEPT.put((path, hash(texts[path]), len(texts[path])), made)
                yield path, made
    except NoMatcher:
        problem = "needs a process, but the system may be short of memory or processes"
        yield from ((path, Outline("", (), problem)) for path in wanted)


def lines_matching(text: str, pattern: str, budget: Budget, *, ignore_case: bool) -> list[int]:
    """Return the numbers of the lines that `pattern` matches. Raises as `Matchers.answer` does."""
    data, most = {"text": text.encode(errors="replace")}, (0, len(text) + 1)
    job = Job(((pattern, ignore_case),), "text", texts=data, output="lines", window=most)
    with Matchers(budget) as matchers:
        found = [value for word, value in matchers.answers([Asked(job, -1)]) if word == "found"]
    return [number for _, _, matches, *_ in found for number, *_ in matches]


def next_outline(jobs: deque[Asked], matchers: Matchers, limit: float) -> Outline:
    """Remove the first of `jobs`, and return its outline, made within `limit` seconds."""
    budget, definitions = matchers.budget, list[Definition]()
    matchers.budget = budget.at_most(limit)
    try:
        for word, value in matchers.answers(jobs):
            if word == "definitions":
                definitions += [Definition(*row) for row in value]
        language, comments = value
        return Outline(language, definitions, comments=comments)
    except DeadlineExceeded:
        budget.check()
        problem = "took too long"
    except (BadRegexp, NoMatcher):
        problem = "took too much memory"
    finally:
        matchers.budget = budget
        asked = jobs.popleft()
    matchers.kill(asked)
    return Outline("", (), problem)

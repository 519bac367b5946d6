"""The errors of a search of contents: a bad pattern, and time that is up."""

from backstaff.contents.choice import first_of
from backstaff.contents.dialects import BadRegexp
from backstaff.errors import ToolError
from backstaff.render.lines import counted
from backstaff.render.names import quote, show
from backstaff.tools.workspace._searched import Pass


def invalid_regex(error: BadRegexp, pattern: str, translated: str) -> ToolError:
    """Return the tool's error for `error`, which the `translated` form of `pattern` raised."""
    where = "" if error.position is None else f" (at character {error.position + 1})"
    # The position counts in the translated pattern, which is not the caller's.
    of = "" if translated == pattern or not where else f" in {quote(translated)}"
    remedy = "write it for Python's re, or give literal=true to look for the text"
    problem = f"Argument 'pattern' is no regular expression: {error}{where}{of}"
    details = {"problem": problem, "remedy": remedy, "reason": str(error)}
    return ToolError("INVALID_REGEX", f"{problem}; {remedy}", **details)


def timeout(found: Pass | None, passed_ms: float, more: str) -> ToolError:
    """Return the error that says how far the search came, and how to narrow it (search 5).

    It names the first files with matches, and no match. `passed_ms` is how long the search took,
    and `more` names the argument for more time, if that would help.
    """
    how_far = "no file was searched yet"
    if found and (number := found.scan.waits_for or found.scan.looked_at):
        prefix, files = found.searched.prefix, found.scan.files
        matches = counted(found.counted, "match", "matches")
        if found.scan.job.output == "files":
            matches = counted(found.counted, "matching file")
        named = f" ({first_of([one.path for one in found.hits], prefix)})" if found.hits else ""
        how_far = (
            f"the search had come to file {number:,} of {len(files):,},"
            f" {show(prefix + files[number - 1])}, with {matches} so far{named}"
        )
    remedy = "give a root_path, include or exclude that leaves fewer files, a simpler pattern"
    remedy += f", or a higher {more}" if more else ""
    problem = f"When the time was up (after {round(passed_ms)} ms), {how_far}"
    return ToolError("TIMEOUT", f"{problem}; {remedy}", problem=problem, remedy=remedy)

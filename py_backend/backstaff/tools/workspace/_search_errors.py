"""The errors of a search of contents: a bad pattern, and time that is up."""

from backstaff.contents.choice import first_of
from backstaff.contents.dialects import BadRegexp
from backstaff.errors import ToolError
from backstaff.render.lines import counted
from backstaff.render.names import quote, show, visible
from backstaff.tools.workspace._near import reads_as_glob
from backstaff.tools.workspace._searched import Pass


def invalid_regex(error: BadRegexp, pattern: str, translated: str) -> ToolError:
    """Return the tool's error for `error`, which the `translated` form of `pattern` raised."""
    where = "" if error.position is None else f" (at character {error.position + 1})"
    # The position counts in the translated pattern, which is not the caller's.
    of = "" if translated == pattern or not where else f" in {quote(translated)}"
    remedy = "write it for Python's re, or give literal=true to look for the text"
    if reads_as_glob(pattern):
        remedy = f'include=["{visible(pattern)}"] chooses files by such a glob, {remedy}'
    problem = f"Argument 'pattern' is no regular expression: {error}{where}{of}"
    details = {"problem": problem, "remedy": remedy, "reason": str(error)}
    return ToolError("INVALID_REGEX", f"{problem}; {remedy}", **details)


def timeout(found: Pass | None, passed: float, limit: str, *, includes: bool) -> ToolError:
    """Return the error that says how far the search came, and how to narrow it (search 5).

    It names the first files with matches, and no match (search 5). `passed` are the milliseconds
    that the search took; `limit` says which other limit there was. `includes` says that the caller
    has given `include`. No advice names `timeout_ms`, because models do not see that argument.
    """
    how_far, waits_for, prefix = (
        "no file was searched yet",
        0,
        found.searched.prefix if found else "",
    )
    if found and (number := found.scan.waits_for or found.scan.looked_at):
        waits_for = found.scan.waits_for
        is_files = found.scan.job.output == "files"
        matches = ("matching file",) if is_files else ("match", "matches")
        how_far = (
            f"the search had come to file {number:,} of {len(found.scan.files):,},"
            f" {show(prefix + found.scan.files[number - 1])},"
            f" with {counted(found.counted, *matches)} so far"
        )
        if found.hits:
            how_far += f" ({first_of([one.path for one in found.hits], prefix)})"
    remedy = {
        (False, False): "give a root_path or include",
        (True, False): "give an include",
        (False, True): "give a root_path",
        (True, True): "exclude that file" if waits_for else "give a deeper root_path",
    }[bool(prefix), includes]
    remedy += ", or a simpler pattern"
    problem = f"When the time was up (after {round(passed)} ms{limit}), {how_far}"
    return ToolError("TIMEOUT", f"{problem}; {remedy}", problem=problem, remedy=remedy)

"""Files that a search did not look at: counts for the data, and the last lines of the text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from backstaff.contents.choice import told_by_name
from backstaff.contents.scan import Scan
from backstaff.fs.contents import Unread
from backstaff.fs.entry import up_to
from backstaff.project.files import Closed, ProjectFiles
from backstaff.render.lines import paths_in_a_note, plural
from backstaff.result import Note, NoteKind
from backstaff.tools.workspace._searched import Searched

_WORDS = {
    "ignored": "ignored by git",
    "binary": "binary",
    "too_large": "over 1 MiB",
    "unreadable": "unreadable",
    "undecodable": "not in UTF-8",
    "secret": "that may hold secrets",
    "links": "linked",
}


def told(searched: Searched, scan: Scan) -> tuple[dict[str, int], list[str], list[Note]]:
    """Return what to say about the files of `searched`, as far as `scan` came.

    These are counts of files left out, by reason; the paths, from the root on, whose texts were
    those of Emacs; and notes on both. What the caller's globs leave out has no number in them.
    """
    project, choice, prefix = searched.project, searched.choice, searched.prefix
    looked_at, contents = scan.files[: scan.looked_at], searched.contents
    if scan.is_early():
        last = "".join(looked_at[-1:])
        is_early = up_to(last)
        early = [one for one in project.directories if not one.path or is_early(f"{one.path}/")]
        project, choice = replace(project, directories=early), choice.until(last)
    unread = Counter(reason for _, reason in scan.unread_files())
    counts = {
        "ignored": project.ignored,
        "hidden": 0,
        "binary": unread[Unread.BINARY],
        "too_large": unread[Unread.TOO_LARGE],
        "unreadable": unread[Unread.UNREADABLE] + len(project.closed(Closed.UNREADABLE)),
        "undecodable": unread[Unread.UNDECODABLE],
        "secret": unread[Unread.SECRET],
        "excluded": choice.by_name.total() + len(choice.by_exclude) + len(choice.by_include),
        "links": unread[Unread.LINK],
        "repositories": len(project.closed(Closed.REPOSITORY)),
    }
    parts = [f"{counts[key]:,} {words}" for key, words in _WORDS.items() if counts[key]]
    parts += [plural(len(choice.tests), "file of tests", "files of tests")] * bool(choice.tests)
    parts += ["later files"] * scan.is_early()
    parts += told_by_name(choice.by_name, prefix)
    own = ["outside include"] * bool(choice.by_include) + ["in exclude"] * bool(choice.by_exclude)
    parts += [f"files {' or '.join(own)}"] * bool(own and not parts)
    may_enter = any(path.endswith("/") for path in choice.by_name)
    note = _note(parts, project, prefix, "root_path", may_enter=may_enter)
    texts = {path for path in contents.texts if isinstance(contents.data(path), bytes)}
    unsaved = [prefix + path for path in looked_at if path in texts]  # no secret is one
    as_in_emacs = f"not saved, searched as in Emacs: {paths_in_a_note(unsaved)}"
    return counts, unsaved, [*[Note(NoteKind.UNSAVED, as_in_emacs)] * bool(unsaved), note]


def not_walked(project: ProjectFiles, prefix: str) -> list[Note]:
    """The note `not searched: 1 directory that is unreadable (locked/)`, or none."""
    unreadable = [prefix + path for path in project.closed(Closed.UNREADABLE)]
    words = plural(len(unreadable), "directory that is", "directories that are")
    parts = [f"{words} unreadable ({paths_in_a_note(unreadable, '/')})"] * bool(unreadable)
    parts += ["the rest, because the time was up"] * project.expired
    is_whole = not (parts or project.not_applied or project.closed(Closed.REPOSITORY))
    return [] if is_whole else [_note(parts, project, prefix, "path")]


def _note(
    parts: Sequence[str], project: ProjectFiles, prefix: str, name: str, *, may_enter: bool = False
) -> Note:
    """Return the note that lists `parts`; its remedy names the argument for a directory."""
    if inner := [prefix + path for path in project.closed(Closed.REPOSITORY)]:
        count = plural(len(inner), "repository", "repositories")
        parts = [*parts, f"{count} within: {paths_in_a_note(inner, '/')}"]
    text = f"not searched: {', '.join(parts) or 'nothing'}"
    if project.not_applied:
        text += f"; .gitignore is not applied, because {project.not_applied}"
    remedy = f"give a directory as {name}" if inner or may_enter else ""
    return Note(NoteKind.NOT_SEARCHED, text, remedy)

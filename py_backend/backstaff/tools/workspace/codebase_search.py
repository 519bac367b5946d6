"""workspace/codebase_search: the best places in the code for a question, or for a name.

The tool reads and leaves out the same files as regexp_search (`_searched`). One
pass counts the question's words in all of them; then the files are weighed, and the best are cut
into definitions (`contents.worth`). Nothing is kept. The same files give the same answer.

The text has a row for each file with up to three definitions, and below each the line that holds
most of the words, if that is another line. Where the query is a name, and its definition takes no
more than half of the limit, that stands whole. The data have all files. If the time is up, the
answer has files of the part searched so far, and a note says so.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from backstaff.contents.regexp import Matchers
from backstaff.contents.regexp_worker import Job
from backstaff.contents.scan import Hits, Scan
from backstaff.contents.words import Question, question
from backstaff.contents.worth import Place, Worthy, has_word
from backstaff.errors import DeadlineExceeded, ErrorCode, PathError, ToolError
from backstaff.render.lines import bracketed, counted, cut, omitted, shortened, size
from backstaff.render.names import MAX_ECHO, quote, visible
from backstaff.result import Note, NoteKind
from backstaff.tool import Context, Result, Tool, argument
from backstaff.tools.workspace._matches import MOST, path_in_text
from backstaff.tools.workspace._near import about_globs
from backstaff.tools.workspace._not_searched import told
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._searched import Searched, rules_of, searched

MAX_QUERY_CHARACTERS, MAX_RESULTS = 1024, 30
MAX_TEXT_BYTES, WHOLE_SHARE = 6 << 10, 2  # a whole definition may take a half of the text
PASS_SHARE = 0.7  # of the time, for counting words; the rest is for the definitions


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's parameters."""

    query: str = argument("A question in plain words, or a name.")
    root_path: str = argument("Directory.", default=".")
    include: tuple[str, ...] = argument(
        "Globs of the path below root_path, such as '**/*.py'.", absent=()
    )
    exclude: tuple[str, ...] = argument("Globs to leave out.", absent=())
    max_results: int = argument("Files to return.", limits=(1, MAX_RESULTS), default=10)
    exclude_tests: bool = argument("Leave out tests.", default=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A search that is over: the `best` of all `found` files with a word, the best first."""

    asked: Arguments
    question: Question
    files: Searched
    scan: Scan
    found: Sequence[Hits]
    best: Sequence[Worthy]

    def notes(self) -> list[Note]:
        """Say which words were looked for, and which of them no file has."""
        words, scan = self.question.words, self.scan
        shown = [visible(self.question.shown(word)) for word in words]
        missing = [at for at in range(len(words)) if not any(one.words[at] for one in self.found)]
        nowhere = [shown[at] for at in missing] if scan.searched else []
        text = f"words: {' '.join(shown)}" + f"; in no file: {' '.join(nowhere)}" * bool(nowhere)
        notes = [*self.files.notes, Note(NoteKind.PATTERN, text)]
        if len(self.found) > len(self.best) and self.asked.max_results < MAX_RESULTS:
            notes.append(Note(NoteKind.LIMIT, "more files", f"max_results={MAX_RESULTS}"))
        if scan.is_early():
            late = f"the time was up after {scan.looked_at:,} of {len(scan.files):,} files"
            notes.append(Note(NoteKind.TIME, late, "give root_path or include"))
        return notes

    def rows(self, limit: int) -> list[str]:
        """Return the text of each file. The first definition stands whole if it has room."""
        whole, rows = self._whole(limit // WHOLE_SHARE), list[str]()
        for one in self.best:
            places, shown = list(one.places), set[int]()  # a line stands once
            row = f"{path_in_text(self.files.prefix + one.hits.path)}\n"
            if whole and not rows:
                row, places = row + whole, places[1:]
            rows.append(row + "".join(_row(place, shown) for place in places))
        return rows

    def _whole(self, limit: int) -> str:
        """Return all lines of the best definition if the query is its name, or "" if too many."""
        places = self.best[0].places if self.best and self.question.is_name else ()
        name = self.question.identifiers[-1].lower() if places else ""
        if not places or (one := places[0].definition).name.lower() != name:
            return ""
        lines = self.files.text(self.best[0].hits.path).split("\n")
        shown = range(one.first_line, one.last_line + 1)
        written = "".join(f"  {at}: {shortened(visible(lines[at - 1]), MOST)}\n" for at in shown)
        return written if size(written) <= limit else ""

    def result(self, limit: int) -> Result:
        """Return the text in `limit` bytes, and the data."""
        scan, best, rows = self.scan, self.best, self.rows(limit)
        query = quote(self.asked.query) if len(self.asked.query) <= MAX_ECHO else "the query"
        of = f"of {scan.searched:,} searched{self.files.where()}\n"
        head = f"{query}: best {len(best)} of {counted(len(self.found), 'file')} with a word, {of}"
        head = head if rows else f"No file has a word of {query}, {of}"
        skipped, unsaved, of_files = told(self.files, scan)
        notes = [*self.notes(), *of_files]

        def end(shown: int) -> str:
            left = [omitted(f"{len(rows) - shown} more", limit)] * (shown < len(rows))
            return bracketed([*left, *notes])

        answer, shown = cut(head, rows, end, limit)
        truncated = len(best) < len(self.found) or scan.is_early() or shown < len(rows)
        return Result(
            text=answer,
            data={
                "query": self.asked.query,
                "words": list(self.question.words),
                "root_path": self.files.base,
                "files": [
                    {
                        "path": self.files.prefix + one.hits.path,
                        "score": round(one.score, 3),
                        "counts": list(one.hits.words),
                        "definitions": list(map(_place_data, one.places)),
                    }
                    for one in best
                ],
                "searched_files": scan.searched,
                "matching_files": len(self.found),
                "skipped": skipped,
                "unsaved": unsaved,
                "truncated": truncated,
                "notes": [note.data() for note in notes],
            },
            truncated=truncated,
        )


def _row(place: Place, shown: set[int]) -> str:
    """Return the row of a definition, and that of its best line unless it is one of `shown`."""
    one, line = place.definition, place.best_line
    row = f"  {one.first_line}-{one.last_line} {shortened(visible(one.text.strip()), MOST)}\n"
    if line in {one.line, *shown}:
        return row
    shown.add(line)
    return f"{row}    {line}: {shortened(visible(place.best_text.strip()), MOST)}\n"


def _place_data(place: Place) -> dict[str, object]:
    keys = ("qualified", "kind", "line", "first_line", "last_line")
    best_line = {"line": place.best_line, "text": shortened(place.best_text, MOST)}
    return {key: getattr(place.definition, key) for key in keys} | {"best_line": best_line}


def _with_names(asked: Question, found: Sequence[Hits], scan: Scan) -> list[Hits]:
    """Return `found` and the files without hits whose names have a word of the question."""
    hits = {one.path: one for one in found}
    unread = {path for path, _ in scan.unread_files()}
    for path in scan.files[: scan.looked_at]:
        if path not in hits and path not in unread and has_word(path, asked):
            hits[path] = Hits(path, 0, words=[0] * len(asked.words))
    return [hits[path] for path in scan.files if path in hits]


def run(arguments: Arguments, context: Context) -> Result:
    """Weigh the files, and return the best. Raises `ToolError`."""
    asked = question(arguments.query)
    rules = rules_of(arguments.include, arguments.exclude, exclude_tests=arguments.exclude_tests)
    problem = "" if asked.words else "has no word: give a question in plain words, or a name"
    if len(arguments.query) > MAX_QUERY_CHARACTERS:
        problem = f"is longer than {MAX_QUERY_CHARACTERS} characters"
    if problem:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Argument 'query' {problem}")
    limit = min(context.text_limit(MAX_TEXT_BYTES), MAX_TEXT_BYTES)
    budget, found = context.budget, list[Hits]()
    try:
        with (
            Matchers(budget.share(PASS_SHARE)) as matchers,
            searched(arguments.root_path.replace("\\", "/"), rules, context, budget) as files,
        ):
            scan = files.scan(Job((), words=asked.forms()))
            with suppress(DeadlineExceeded):
                found.extend(scan.hits(matchers))
            found = _with_names(asked, found, scan)
            if not found:
                notes = about_globs(files, arguments.include, budget)
                files = replace(files, notes=[*files.notes, *notes])  # noqa: PLW2901
            best = files.weighed(asked, found, scan, budget)[: arguments.max_results]
            return Answer(arguments, asked, files, scan, found, best).result(limit)
    except DeadlineExceeded as error:
        problem = "When the time was up, no file was searched yet; give a root_path or include"
        raise DeadlineExceeded(problem) from error
    except PathError as error:
        raise refusal(error, arguments.root_path, context) from error


TOOL = Tool(
    "Finds the best places in the code for a question in plain words, or for a name: files with"
    " their definitions, best first.",
    arguments=Arguments,
    run=run,
    preset=3,
    categories=("filesystem", "navigation", "search"),
    reads_content=True,
)

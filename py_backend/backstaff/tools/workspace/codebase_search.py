"""workspace/codebase_search: the best places in the code for a question, or for a name.

Files are those of regexp_search (`_searched`), and so are their texts, also unsaved ones, and the
files that are not looked at. One pass counts the question's words in all of them; then the files
are weighed, and the best are cut into definitions (`contents.worth`). Nothing is kept. The same
files give the same answer.

The text has a row for each file with up to three definitions, and below each the line that holds
most of the words, if that is another line. Where the query is a name, and its definition takes no
more than half of the limit, that stands whole. The text has at most 6 KiB; the data have all files.
If the time is up, the files come from those that were searched so far, and a note says so.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from backstaff.contents.regexp import Matchers
from backstaff.contents.regexp_worker import Job
from backstaff.contents.scan import Hits, Scan
from backstaff.contents.words import Question, question
from backstaff.contents.worth import Place, Worthy
from backstaff.errors import DeadlineExceeded, ErrorCode, PathError, ToolError
from backstaff.render.lines import bracketed, counted, fit, shortened, size
from backstaff.render.names import MAX_ECHO, quote, show, visible
from backstaff.result import Note, NoteKind
from backstaff.tool import Context, Result, ResultKind, Tool, argument
from backstaff.tools.workspace._matches import MOST, path_in_text
from backstaff.tools.workspace._not_searched import told
from backstaff.tools.workspace._refusals import refusal
from backstaff.tools.workspace._searched import Searched, rules_of, searched
from backstaff.tools.workspace._symbols import definition_data
from backstaff.tools.workspace._texts import text

MAX_QUERY_CHARACTERS = 1024
MAX_RESULTS = 30
MAX_TEXT_BYTES = 6 << 10
PASS_SHARE = 0.7
"""The part of the time for counting words; the rest is for the definitions."""
WHOLE_PART = 2
"""A definition stands whole if it takes at most this part, a half, of the limit."""


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
        """Say how to see more, which words were looked for, and which of them no file has."""
        words, scan = self.question.words, self.scan
        having = [any(one.words[at] for one in self.found) for at in range(len(words))]
        shown = [visible(self.question.shown(word)) for word in words]
        nowhere = [word for word, found in zip(shown, having, strict=True) if not found]
        nowhere *= bool(scan.searched)
        text = f"words: {' '.join(shown)}"
        text += f"; in no file: {' '.join(nowhere)}" if nowhere else ""
        notes = [Note(NoteKind.PATTERN, text)]
        if not scan.files and (globs := self.asked.include or self.asked.exclude):
            left = f"no file is left by include and exclude: {' '.join(map(show, globs))}"
            notes.append(Note(NoteKind.PATTERN, left, "a glob is about the whole path: '**/*.py'"))
        if len(self.found) > len(self.best) and self.asked.max_results < MAX_RESULTS:
            most = min(2 * self.asked.max_results, MAX_RESULTS)
            notes.insert(0, Note(NoteKind.LIMIT, "more files", f"max_results={most}"))
        if scan.is_early():
            late = f"the time was up after {scan.looked_at:,} of {len(scan.files):,} files"
            notes.append(Note(NoteKind.TIME, late, "give root_path or include"))
        return notes

    def rows(self, limit: int) -> list[str]:
        """Return the text of each file. The first definition stands whole if it has room."""
        whole, rows = self._whole(limit // WHOLE_PART), list[str]()
        for one in self.best:
            places, shown = list(one.places), set[int]()  # a line stands once
            row = f"{path_in_text(self.files.prefix + one.hits.path)}\n"
            if whole and not rows:
                row, places = row + whole, places[1:]
            for place in places:
                row += _row(place, shown)
            rows.append(row)
        return rows

    def _whole(self, limit: int) -> str:
        """Return all lines of the best definition if the query is its name, or "" if too many."""
        places = self.best[0].places if self.best else ()
        if not (self.question.is_name and places):
            return ""
        one, path = places[0].definition, self.best[0].hits.path
        if one.name.lower() != self.question.identifiers[-1].lower():
            return ""
        lines = text(path, self.files.contents).split("\n")
        shown = range(one.first_line, one.last_line + 1)
        written = "".join(f"  {at}: {shortened(visible(lines[at - 1]), MOST)}\n" for at in shown)
        return written if size(written) <= limit else ""

    def result(self, limit: int) -> Result:
        """Return the text in `limit` bytes, and the data."""
        searched_files, prefix = self.scan.searched, self.files.prefix
        query = quote(self.asked.query) if len(self.asked.query) <= MAX_ECHO else "the query"
        of = f"of {searched_files:,} searched{self.files.where()}\n"
        with_words = f"of {counted(len(self.found), 'file')} with a word, {of}"
        skipped, unsaved, of_files = told(self.files, self.scan)
        notes, rows = [*self.notes(), *of_files], self.rows(limit)
        end = bracketed(notes)

        def page_text(shown: int) -> str:
            left = f"[{len(rows) - shown} more left out for a limit of {limit} bytes]\n"
            cut = left * (shown < len(rows))
            head = (
                f"{query}: best {shown} {with_words}"
                if rows
                else f"No file has a word of {query}, {of}"
            )
            return "".join((head, *rows[:shown], cut, end))

        answer, shown = fit(page_text, len(rows), map(size, rows), limit)
        paths = [prefix + one.hits.path for one in self.best]
        has_all = len(self.best) == len(self.found) and not self.scan.is_early()
        truncated = not has_all or shown < len(rows)
        return Result(
            text=answer,
            data={
                "query": self.asked.query,
                "words": list(self.question.words),
                "root_path": self.files.base,
                "files": [
                    {
                        "path": path,
                        "score": round(one.score, 3),
                        "counts": list(one.hits.words),
                        "definitions": list(map(_place_data, one.places)),
                    }
                    for path, one in zip(paths, self.best, strict=True)
                ],
                "searched_files": searched_files,
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
    data = {key: value for key, value in definition_data(place.definition).items() if key in keys}
    return data | {"best_line": {"line": place.best_line, "text": shortened(place.best_text, MOST)}}


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
            searched(arguments.root_path, rules, context, budget) as files,
        ):
            scan = files.scan(Job((), words=asked.forms()))
            with suppress(DeadlineExceeded):
                found.extend(scan.hits(matchers))
            found = files.with_names(asked, found, scan)
            best = files.weighed(asked, found, scan, budget)[: arguments.max_results]
            return Answer(arguments, asked, files, scan, found, best).result(limit)
    except DeadlineExceeded as error:
        problem = "When the time was up, no file was searched yet; give a root_path or include"
        raise DeadlineExceeded(problem) from error
    except PathError as error:
        raise refusal(error, arguments.root_path, context) from error


TOOL = Tool(
    description=(
        "Finds the best places in the code for a question in plain words, or for a name: files with"
        " their definitions, best first."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    preset=3,
    categories=("filesystem", "navigation", "search"),
    reads_content=True,
)

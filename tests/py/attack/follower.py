"""A reader who follows the notes of answers literally and knows nothing else.

It remembers the paths of files in the texts, and the names of commands. A note that it does not
understand is a fault: whoever writes a new one must teach it here.
"""

import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from backstaff.server import Reply, Server

Call = tuple[str, dict[str, object]]
"""A tool and its arguments."""

MOST_CALLS = 3000
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"\S*|\S+')
_BARE = re.compile(r'("(?:[^"\\]|\\.)*"|[^"]*?)(/…|/\(\S+\)|/|@|)')


@dataclass(frozen=True)
class Answer:
    """The answer to a call, and its text: the lines of its body, and its notes."""

    tool: str
    given: dict[str, object]
    reply: Reply
    body: list[str]
    notes: list[str]

    @classmethod
    def of(cls, call: Call, reply: Reply) -> "Answer":
        """Take the text apart."""
        tool, given = call
        lines = reply.text.splitlines()[1:]
        is_note = re.compile(r"\[(?!DIR\] |FILE\] )|\.\.\. ").match
        body = [line for line in lines if line and not is_note(line)]
        notes = [line.removeprefix("... ").removeprefix("[") for line in lines if is_note(line)]
        return cls(tool, given, reply, body, [note.removesuffix("]") for note in notes])

    @property
    def path(self) -> str:
        """The directory of the call."""
        return str(self.given.get("path", "."))

    def lines(self) -> Iterator[tuple[str, list[str]]]:
        """For a tree or a map: each directory with a line, and the words in that line."""
        for line in self.body:
            first, *words = _WORD.findall(line)
            if first.endswith("/"):
                yield named(first)[0], words

    def rows(self) -> Iterator[tuple[str, bool]]:
        """For a listing: the name of each row, and True for a directory."""
        for line in self.body:
            found = re.fullmatch(r"\[(DIR|FILE)\] +(.*?)(/| +\([^()]*\))", line)
            if found:
                yield named(found[2])[0], found[1] == "DIR"


def named(word: str) -> tuple[str, str]:
    """Return the name that `word` stands for, and the mark behind it."""
    found = _BARE.fullmatch(word)
    assert found, word
    return json.loads(found[1]) if found[1].startswith('"') else found[1], found[2]


def joined(above: str, name: str) -> str:
    """Return the path of `name` in the directory `above`."""
    return name if above == "." else f"{above}/{name}"


# ---------------------------------------------------------------------------- the things in a text


def seen_in(answer: Answer) -> Iterator[str]:
    """Yield the files that the text names, by their paths; commands by their names."""
    match answer.tool:
        case "workspace/tree" | "workspace/project_overview":
            yield from _on_lines(answer)
        case "agent-q/get_file_info":
            yield answer.path
        case "agent-q/list_directory":
            for name, directory in answer.rows():
                yield joined(answer.path, name) + "/" * directory
        case _:
            for line in answer.body:
                yield _in_row(answer, line)


def _on_lines(answer: Answer) -> Iterator[str]:
    """Yield the words of a tree or map, except directories and counts such as `+9 .py`."""
    for path, words in answer.lines():
        is_map = answer.tool == "workspace/project_overview"
        counts = [at for at, word in enumerate(words) if re.fullmatch(r"\+\d+", word)]
        shown = words[: counts[0]] if is_map and counts else words
        for name, mark in map(named, shown):
            if mark in ("", "@") and name != "…":
                yield joined(path, name)


def _in_row(answer: Answer, line: str) -> str:
    match answer.tool:
        case "workspace/search_files":
            return named(line)[0]
        case "workspace/regexp_search":
            row = re.match(r"\d+[:-]|--", line)
            return "" if row else named(re.sub(r": \d+$", "", line))[0]
        case "commands/search_commands":
            return line.partition(" ")[2].partition(":")[0]
        case _:
            return line.partition(":")[0]


# ---------------------------------------------------------------------------- the suggested calls

Rule = Callable[[Answer, re.Match[str]], Iterator[Call]]


def same(answer: Answer, **changed: object) -> Call:
    """Return the answered call with some arguments `changed`."""
    return answer.tool, answer.given | changed


def _given_call(_: Answer, found: re.Match[str]) -> Iterator[Call]:
    yield found[1], json.loads(found[2])


def _offset(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    yield same(answer, offset=int(found[1]))


def _page(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    yield answer.tool, json.loads(found[1])


def _raise(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    name, most = found[1], int(found[2])
    yield same(answer, **{name: most})


def _more_files(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    yield same(answer, max_results=int(found[1]))


def _raise_entries(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    yield same(answer, max_entries=int(found[1]))


def _short_lines(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    depth, entries = map(int, found.groups())
    for path, words in answer.lines():
        if re.fullmatch(r"…|\+\d+", words[-1]):
            yield same(answer, path=path, max_depth=depth, max_entries=entries)


def _not_opened(answer: Answer, _: re.Match[str]) -> Iterator[Call]:
    for path, words in answer.lines():
        for word in words:
            if named(word)[1] == "/…":
                yield same(answer, path=joined(path, named(word)[0]))
    if not answer.body:
        yield same(answer, max_depth=1)


def _left_out(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    for word in _WORD.findall(re.sub(r" and \d+ more$", "", found[1])):
        path, mark = named(word)
        if mark == "/":
            yield same(answer, path=path)


def _any_directory(answer: Answer, _: re.Match[str]) -> Iterator[Call]:
    have_lines = {path for path, _ in answer.lines()}
    for path, words in answer.lines():
        for name, mark in map(named, words):
            if mark == "/" and joined(path, name) not in have_lines:
                yield same(answer, path=joined(path, name))


def _map_path(answer: Answer, _: re.Match[str]) -> Iterator[Call]:
    have_lines = {path for path, _ in answer.lines()}
    for path, words in answer.lines():
        if any(re.fullmatch(r"\+\d+", word) for word in words):
            yield same(answer, path=path)
        for name, mark in map(named, words):
            if mark.startswith("/") and joined(path, name) not in have_lines:
                yield same(answer, path=joined(path, name))


def _map_tokens(answer: Answer, _: re.Match[str]) -> Iterator[Call]:
    yield same(answer, max_tokens=20_000)


def _repositories(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    for word in _WORD.findall(re.sub(r" and \d+ more$", "", found[1])):
        yield same(answer, path=named(word)[0])


def _ignored(answer: Answer, _: re.Match[str]) -> Iterator[Call]:
    given = {"path": answer.path, "query": "**", "kind": "glob", "include_ignored": True}
    yield "workspace/search_files", given


def _include_ignored(answer: Answer, _: re.Match[str]) -> Iterator[Call]:
    yield same(answer, include_ignored=True)


def _as_glob(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    text = json.loads(found[1]) if found[1].startswith('"') else found[1][1:-1]
    yield same(answer, query=text, kind="glob")


def _other_words(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    text = json.loads(found[1]) if found[1].startswith('"') else found[1][1:-1]
    if answer.tool == "workspace/regexp_search":
        yield same(answer, include=[text])
    else:
        yield same(answer, query=text)


def _examples(_: Answer, found: re.Match[str]) -> Iterator[Call]:
    for word in _WORD.findall(re.sub(r" and \d+ more$", "", found[1])):
        yield "agent-q/get_file_info", {"path": "".join(named(word)).removesuffix("/")}


def _also(name: str, value: object) -> Rule:
    return lambda answer, _: iter([same(answer, **{name: value})])


def _flags(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    yield same(answer, flags=found[1])


def _root_paths(answer: Answer, found: re.Match[str]) -> Iterator[Call]:
    for word in re.findall(_DIRECTORY, found[1]):
        yield same(answer, root_path=named(word)[0], offset=0)


def _all_commands(_: Answer, __: re.Match[str]) -> Iterator[Call]:
    yield "commands/list_commands", {}


def _nothing(_: Answer, __: re.Match[str]) -> Iterator[Call]:
    yield from ()


_DIRECTORY = r"""(?:"(?:[^"\\]|\\.)*"|[^\s"]\S*?)/(?=[ ,;]|$)"""
_DIRECTORIES = rf"((?:{_DIRECTORY} ?)+)"
_QUOTED = r"""('[^']*'|"(?:[^"\\]|\\.)*")"""
RULES: tuple[tuple[str, Rule], ...] = (
    (r"(workspace/search_files) (\{.*?\})", _given_call),
    (r"next page: (\{.*\})", _page),
    (r"stopped at max_entries \d+: there may be more; raise it \(at most (\d+)\)", _raise_entries),
    (r"stopped at max_entries 1000: there may be more$", _nothing),
    (r"raise (max_results|max_depth) \(at most (\d+)\)", _raise),
    (
        r"a line that ends with \+N or … misses names: .* max_depth=(\d+), max_entries=(\d+)",
        _short_lines,
    ),
    (r"left out by rule: (.*); give one as path to see it", _left_out),
    (r"dir/… is not opened: give it as path", _not_opened),
    (r"left out for a limit of \d+ bytes: give a directory as path", _any_directory),
    (r'more by path="dir"', _map_path),
    (r'more by path="dir" or max_tokens', _map_tokens),
    (r"dir/\(git\) is a repository of its own: give it as path", _map_path),
    (r"(?:repository|repositories) within: (.*); give a directory as path", _repositories),
    (r"git ignores all .*: workspace/search_files with include_ignored finds it", _ignored),
    (r"names? (?:is|are) ignored by git: include_ignored searches them", _include_ignored),
    (rf"without regard to case: {_QUOTED}", _other_words),
    (rf"^the query reads as a glob: {_QUOTED} with kind=glob", _as_glob),
    (rf"^(?:no file matches include .*: )?{_QUOTED} matches \d+ files?$", _other_words),
    (r"^no file matches include [^:]*$", _nothing),
    (r"but a match is within one line: ", _nothing),
    (r"^more files: max_results=(\d+)", _more_files),
    (r"^the best files for these words: |^words: ", _nothing),
    (r"^files have changed since the page before|^the time was up before all files", _nothing),
    (rf"matches \d+ files?, {_QUOTED} [\d,]+$", _other_words),
    (r"matches \d+ files? without regard to case: (.*)", _examples),
    (r"the nearest names: (.*)", _examples),
    (r"^more: offset=(\d+)", _offset),
    (r"^no file matches 'include' from the workspace on, so here it counts from ", _nothing),
    (r"only directories are shown: entry_kind=\"all\" shows", _also("entry_kind", "all")),
    (r"^not searched: |^not saved, searched as in Emacs: ", _nothing),
    (r"match(?:es)? (?:is|are) on no line that defines", _nothing),
    (rf"\d+ in {_DIRECTORIES}.*?; give a directory as root_path", _root_paths),
    (rf"within: {_DIRECTORIES}.*?; give a directory as root_path", _root_paths),
    (r"a match of \d+ bytes is left out", _nothing),
    (r"among those that git ignores: include_ignored=true", _include_ignored),
    (r"with the pattern as text: literal=true", _also("literal", value=True)),
    (r"without regard to case: flags=(\w+)", _flags),
    (r"list_commands tells all", _all_commands),
    (r"a path of \d+ bytes is left out", _nothing),
    (r"\d+ more entr(y|ies) left out for a limit of \d+ bytes$", _nothing),
    (r"^(\d+) of \1 files named$", _nothing),
    (r"^\.gitignore is not applied, because ", _nothing),
)


def told_by(answer: Answer) -> Iterator[Call]:
    """Yield every call that the notes of `answer` suggest."""
    head = answer.reply.text.partition("\n")[0]
    for note in [*answer.notes, *([head] if "list_commands tells all" in head else [])]:
        found = [(rule, match) for words, rule in RULES if (match := re.search(words, note))]
        assert found, f"nobody knows what this tells to do: {note}"
        for rule, match in found:
            yield from rule(answer, match)


@dataclass
class Follower:
    """Calls the tools of `server` with texts of `limit` bytes; if `loyal`, only one tool."""

    server: Server
    limit: int
    loyal: bool = False
    seen: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)

    def follow(self, tool: str, given: dict[str, object], wanted: set[str]) -> set[str]:
        """Make this call and all suggested ones until `wanted` was seen; return the rest of it."""
        waiting: deque[Call] = deque([(tool, given)])
        made: set[str] = set()
        while waiting and not wanted <= self.seen:
            call = waiting.popleft()
            if (key := json.dumps(call, sort_keys=True)) in made:
                continue
            made.add(key)
            assert len(made) < MOST_CALLS, f"{wanted - self.seen} after {len(made)} calls"
            self.calls.append(call)
            reply = self.server.call(*call, {"max_output_bytes": self.limit})
            assert reply.ok, (call, reply.text)
            answer = Answer.of(call, reply)
            self.seen.update(seen_in(answer))
            waiting += [one for one in told_by(answer) if not self.loyal or one[0] == tool]
        return wanted - self.seen

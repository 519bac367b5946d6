"""Git's attributes of a path, from the files in which gitattributes(5) has them.

They decide whether the content of a file is compared as it is. Git itself would read these files in
the work tree, where they may be pipes, so they are read here, as rules of ignored files are.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from backstaff.project.ignore import MAX_BYTES, MAX_LINES
from backstaff.project.ignore_pattern import IgnorePattern, as_bytes

FILE = ".gitattributes"
MAX_LINE_BYTES = 2048
"""Maximum length of a line: git passes over longer ones."""

State = str | bool | None
"""A value, True for `name`, False for `-name`, None for `!name`."""

_BLANK = re.compile(r"[ \t\r\n]+")
_NAME = re.compile(r"(?!-)[-A-Za-z0-9_.]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MACRO = "[attr]"
_BINARY: Sequence[tuple[str, State]] = (("diff", False), ("merge", False), ("text", False))


class Line(NamedTuple):
    """A line such as `*.png -text diff=image`; a macro's has a `macro` and no `pattern`."""

    pattern: IgnorePattern | None
    macro: str
    states: Sequence[tuple[str, State]]


@lru_cache(maxsize=4)
def lines_of(content: bytes, *, ignore_case: bool) -> Sequence[Line]:
    """Parse `content`, the text of a `.gitattributes` file. Lines that git ignores are left out.

    A file that is too large has one line, which leaves all files of its directory undecided: their
    encoding is then unknown. With wildcards, `MAX_LINES` lines take 20 MB, and the first path that
    is compared with them takes a second.
    """
    if len(content) > MAX_BYTES or content.count(b"\n") > MAX_LINES:
        unknown = ("working-tree-encoding", "unknown")
        return [Line(IgnorePattern("*", ignore_case=ignore_case), "", [unknown])]
    texts = content.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")
    lines = (_line(text, ignore_case=ignore_case) for text in texts if len(text) < MAX_LINE_BYTES)
    return [line for line in lines if line]


def _line(text: str, *, ignore_case: bool) -> Line | None:
    text = text.strip(" \t\r\n")
    if not text or text.startswith("#"):
        return None
    if quoted := _QUOTED.match(text):
        name, rest = _ESCAPE.sub(_unescaped, quoted[1]), text[quoted.end() :]
    else:
        name, _, rest = _BLANK.sub(" ", text, count=1).partition(" ")
    states = []
    for word in filter(None, _BLANK.split(rest)):
        attribute, is_valued, value = word.lstrip("-!").partition("=")
        if not _NAME.fullmatch(attribute) or len(word) - len(word.lstrip("-!")) > 1:
            return None
        plain: State = value if is_valued else True
        states.append((attribute, {"-": False, "!": None}.get(word[0], plain)))
    if name.startswith(_MACRO):
        return Line(None, name.removeprefix(_MACRO), states)
    if not name or name.startswith("!"):
        return None
    return Line(IgnorePattern(name, ignore_case=ignore_case), "", states)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code, 8) & 0xFF) if code.isdigit() else _ESCAPES.get(code, code)


class Attributes:
    """The attributes of all paths in a work tree.

    `read` returns the content of a file by its path from the top. `general` are the contents of the
    system's and the user's files. `info` is that of info/attributes, which goes before all.
    """

    def __init__(
        self,
        read: Callable[[str], bytes],
        general: Sequence[bytes],
        info: bytes,
        *,
        ignore_case: bool,
    ) -> None:
        """Read the files that are for all paths."""
        self._read = read
        self._ignore_case = ignore_case
        self._files: dict[str, Sequence[Line]] = {}
        self._general = [lines_of(content, ignore_case=ignore_case) for content in general]
        self._info = lines_of(info, ignore_case=ignore_case)
        self._macros: dict[str, Sequence[tuple[str, State]]] = {"binary": _BINARY}
        for lines in (*self._general, self._of(""), self._info):
            self._macros |= {line.macro: line.states for line in lines if line.macro}

    def of(self, path: str) -> Mapping[str, State]:
        """The attributes of the file `path`, a path from the top. The nearest line counts."""
        files = [(path, self._info)]
        directory, _, name = path.rpartition("/")
        while directory:
            files.append((name, self._of(f"{directory}/")))
            directory, _, above = directory.rpartition("/")
            name = f"{above}/{name}"
        files += [(path, self._of("")), *((path, lines) for lines in reversed(self._general))]
        found: dict[str, State] = {}
        for relative, lines in files:
            text = as_bytes(relative)
            for line in reversed(lines):
                if line.pattern and line.pattern.match_file(text):
                    ahead = list(line.states)
                    while ahead:  # the last one first, and then those that it stands for
                        attribute, state = ahead.pop()
                        if attribute not in found:
                            found[attribute] = state
                            ahead += self._macros.get(attribute, ()) if state is True else ()
        return found

    def _of(self, directory: str) -> Sequence[Line]:
        if directory not in self._files:
            content = self._read(directory + FILE)
            self._files[directory] = lines_of(content, ignore_case=self._ignore_case)
        return self._files[directory]

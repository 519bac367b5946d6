r"""agent-q/read_file: the whole content of a text file, or of the unsaved buffer in its place.

The answer is the content alone, with `\n` for `\r\n` and escapes for control characters. Where it
does not fit, its first whole lines come, and one last line says how much is left and names the call
of workspace/read_file that goes on there. Nothing outside the project's root is read.
"""

import json
from dataclasses import dataclass, field

from backstaff.errors import Fault, NotAFile, PathError, ToolError
from backstaff.fs.entry import Kind
from backstaff.reading.source import TABLE, ContentError, Settings, opened
from backstaff.reading.text import LineSink, TextFacts, read
from backstaff.render.lines import cut, plural, size
from backstaff.render.names import CONTROLS, escaped, quote
from backstaff.render.refusals import AGENT_Q_FILE, refused
from backstaff.tool import Context, Keyword, Result, ResultKind, Tool, argument

MAX_TEXT_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Arguments:
    """The contract's one parameter."""

    path: str = argument("File path to read (absolute or relative)")


@dataclass(slots=True)
class Beginning:
    """Takes a text in pieces, and keeps its first `most` characters."""

    most: int
    pieces: list[str] = field(default_factory=list)
    start: int = 1

    def take(self, text: str, _first: int, _last: int) -> bool:
        """Take the next piece of the text; return whether more is wanted."""
        self.pieces.append(text[: self.most])
        self.most -= len(self.pieces[-1])
        return self.most > 0


def run(arguments: Arguments, context: Context) -> Result:
    """Read the file; refusals have the words of the contract's table of error cases."""
    limit = min(context.text_limit(), MAX_TEXT_BYTES)
    kept: list[Beginning] = []

    def taker() -> LineSink:
        kept[:] = [Beginning(limit + 1)]
        return kept[0]

    try:
        with opened(arguments.path, context) as source:
            whole = read(source, "", taker)
    except ContentError as error:
        message = f"Cannot read file {quote(arguments.path)}: {error.message}"
        if error.suggestions:
            message += f"; {context.named('workspace/read_file')} takes an encoding"
        raise ToolError(error.code, message, **error.details) from error
    except PathError as error:
        words = AGENT_Q_FILE
        if isinstance(error, NotAFile) and error.kind == Kind.DIRECTORY:
            words = words | {Fault.NOT_FILE: "{path} is a directory, not a file"}
        raise refused(error, arguments.path, words) from error
    text, content, after = _fitted("".join(kept[0].pieces), whole, source.path, limit, context)
    return Result(
        text=text or "[the file is empty]\n",
        data={
            "path": source.path,
            "content": content,
            "truncated": after is not None,
            "next_start_line": after,
            "source": source.origin,
            "encoding": whole.encoding,
            "eol": Keyword(whole.eol),
            "revision": whole.revision,
        },
        truncated=after is not None,
    )


def _fitted(
    content: str, whole: TextFacts, path: str, limit: int, context: Context
) -> tuple[str, str, int | None]:
    """The text in `limit` bytes, the part of `content` in it, and the number of the next line."""
    text = CONTROLS.sub(escaped, content)
    if size(text) <= limit:
        return text, content, None

    def end(shown: int) -> str:
        left = plural(whole.line_count - shown, "more line")
        given = json.dumps({"path": path, "start_line": shown + 1})
        call = f"{context.named('workspace/read_file')} {given}"
        return f"[{left}, {whole.byte_length} bytes in all: {call}]\n"

    text, shown = cut("", [f"{line}\n" for line in text.split("\n")], end, limit)
    return text, "\n".join(content.split("\n")[:shown]), shown + 1


TOOL = Tool(
    description=(
        "Read the contents of a file from the filesystem."
        " Returns the full file contents as a string."
    ),
    arguments=Arguments,
    run=run,
    result_kind=ResultKind.TEXT,
    categories=("filesystem",),
    reads_content=True,
    settings=Settings,
    table=TABLE,
)

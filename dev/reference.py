"""`make manual`: writes the tools into README and manual, the manifest, and the globs of secrets.

Each file has two lines for it, `BEGIN tools` and `END tools`, within comments. The text between
them is generated.
"""

import io
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import wrap

from backstaff.command_line import main
from backstaff.fs.secrets import SECRETS
from backstaff.registry import discover

PROJECT = Path(__file__).parents[1]
README, MANUAL = PROJECT / "README.md", PROJECT / "docs" / "backstaff.org"
MANIFEST = PROJECT / "py_backend" / "backstaff" / "manifest.py"
LISP_TOOLS = PROJECT / "elisp" / "backstaff-lisp-tools.el"
LISP_SERVER = PROJECT / "elisp" / "backstaff-server.el"
SUMMARY = re.compile(r"\S+: (.+?)(?: \(contract \d+\))?\.?")
WIDTH = 90


def summaries() -> Iterator[tuple[str, str]]:
    """The id of each tool, and the first line of its module's docstring without the id."""
    tools = discover().by_id
    # The toolset workspace comes first: most readers look for it.
    for tool_id in sorted(tools, key=lambda one: (not one.startswith("workspace/"), one)):
        tool = tools[tool_id]
        first = (sys.modules[tool.run.__module__].__doc__ or "").partition("\n")[0]
        match = SUMMARY.fullmatch(first)
        if match is None or not first.startswith(f"{tool_id}: "):
            sys.exit(f"reference: the docstring of {tool_id} does not start with '{tool_id}: ...'")
        yield tool_id, match[1]


def table() -> str:
    """Return the tools that a model needs, as a table of Markdown."""
    tools = discover().by_id
    rows = (
        f"| `{tool_id}` | {summary} |" for tool_id, summary in summaries() if tools[tool_id].preset
    )
    return "\n".join(("| tool | answers with |", "|---|---|", *rows))


def chapter() -> str:
    """Return the tools as sections of Org, with the arguments as `backstaff tools` prints them."""
    with redirect_stdout(io.StringIO()) as printed:
        main(["tools"])
    blocks = re.split(r"^(?=\S)", printed.getvalue(), flags=re.MULTILINE)
    told = {block.partition("\n")[0]: block.splitlines()[1:] for block in blocks if block}
    sections = []
    for tool_id, summary in summaries():
        lines = []
        for line in told[tool_id]:
            indent = " " * (len(line) - len(line.lstrip()) + 4)
            lines += wrap(line, WIDTH, subsequent_indent=indent)
        example = ["#+begin_example", *lines, "#+end_example"]
        sections.append(
            "\n".join((f"*** ={tool_id}=", "", f"Answers with {summary}.", "", *example))
        )
    return "\n\n".join(sections)


def filled(text: str, block: str, *, name: str = "tools") -> str:
    """Return `text` with `block` between the lines that begin and end `name`."""
    room = re.compile(
        rf"(^[^\n]*BEGIN {name}\b[^\n]*\n).*?(^[^\n]*END {name}\b)", re.MULTILINE | re.DOTALL
    )
    new, times = room.subn(lambda match: f"{match[1]}\n{block}\n\n{match[2]}", text)
    if times != 1:
        sys.exit(f"reference: {times} places between BEGIN {name} and END {name}, not one")
    return new


def manifest() -> str:
    """Return the module with the facts about tools that a start needs before it imports them."""
    tools = discover().by_id
    preset = sorted((one for one in tools if tools[one].preset), key=lambda one: tools[one].preset)
    text = LISP_TOOLS.read_text()
    known = re.search(r"(?s)\(defvar backstaff-lisp-tools\n(.*?)\n  \"", text)
    lists = {
        "READS_CONTENT": [one for one in tools if tools[one].reads_content],
        "PRESET": preset,
        "CLIENT_TOOLS": re.findall(r"\(\"([^\"]+)\"", known[1] if known else ""),
    }
    facts = []
    for name, ids in lists.items():
        line = f"{name} = {tuple(ids)}\n".replace("'", '"')
        rows = "".join(f'    "{one}",\n' for one in ids)
        facts.append(line if len(line) <= WIDTH else f"{name} = (\n{rows})\n")
    head = (
        '"""Ids of tools by facts that a start needs: to import them all would double its time.\n\n'
        "`make manual` writes this file from the tools, and from the list of Emacs's own.\n"
        '"""\n\n'
    )
    return head + "".join(facts)


def secrets() -> str:
    """Return the globs of files that may hold secrets, as strings of Lisp."""
    globs = " ".join(f'"{glob}"' for glob in SECRETS)
    indent = " " * 4
    lines = wrap(
        globs, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return "\n".join(lines)


if __name__ == "__main__":
    MANIFEST.write_text(manifest(), "utf-8")
    for path, block in ((README, table()), (MANUAL, chapter())):
        path.write_text(filled(path.read_text("utf-8"), block), "utf-8")
    lisp = LISP_SERVER.read_text("utf-8")
    LISP_SERVER.write_text(filled(lisp, secrets(), name="secrets"), "utf-8")

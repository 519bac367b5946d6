"""`python -m dev.pictures -L DIR`: draws the pictures of the README and the manual.

DIR is a clone of gptel, https://github.com/karthink/gptel. Before Emacs 29 a second `-L DIR` names
the package compat. Each picture is the screen of an Emacs in a terminal, in the project of
dev/pictured_project.py. To draw some of them, give their names:

    python -m dev.pictures overview find

In the picture `agent` the real gptel talks to a scripted model, which stands below. Its choice of
tools is fixed. The calls go through backstaff, and the model's answer quotes the replies.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from dev import pictured_project
from dev.terminal import Screen, Terminal, svg

PROJECT = Path(__file__).parents[1]
DOCS = PROJECT / "docs"
PLACE = Path("/tmp/courier")  # noqa: S108  # the overview shows it, so it must not change
THEMES = {"light": ("modus-operandi", "000000", "ffffff"),
          "dark": ("modus-vivendi", "ffffff", "000000")}  # fmt: skip
"""Emacs's theme, its text colour and its background, for each kind of picture."""
COLUMNS = 100

EMACS = """(progn
  (setq inhibit-startup-screen t inhibit-x-resources t ring-bell-function 'ignore
        backstaff-server-command (list (getenv "BACKSTAFF_PYTHON") "-I" (getenv "BACKSTAFF_MAIN"))
        make-backup-files nil auto-save-default nil create-lockfiles nil pop-up-windows nil
        enable-local-variables nil)
  (setq-default mode-line-format '(" %*%+  %b   (" mode-name ")"))
  (menu-bar-mode -1)
  (global-eldoc-mode -1)
  (load-theme (intern (getenv "PICTURE_THEME")) t)
  (setq icomplete-show-matches-on-no-input t icomplete-compute-delay 0
        icomplete-prospects-height 12)
  (icomplete-vertical-mode)
  (require 'backstaff)
  (global-set-key (kbd "C-c b") backstaff-map))"""

UNSAVED = """(progn
  (find-file "src/courier/session.py")
  (search-forward "self.attempts - 1")
  (insert " or not may_repeat(request)"))"""
"""Changes a file and does not save it: only Emacs knows the new text."""

GPTEL = f"""(progn
  (setq org-hide-emphasis-markers t)
  (require 'gptel-openai)
  (require 'gptel)
  (backstaff-gptel-register)
  (setq gptel-default-mode 'org-mode gptel-use-curl nil gptel-include-tool-results t
        gptel-model 'scripted
        gptel-backend (gptel-make-openai "Model" :protocol "http" :host (getenv "PICTURE_MODEL")
                        :key "none" :models '(scripted)))
  (add-hook 'gptel-mode-hook #'visual-line-mode)
  (add-hook 'gptel-post-response-functions
            (lambda (&rest _) (org-show-all) (goto-char (point-max)) (recenter -1) (message nil)))
  {UNSAVED}
  (goto-line 19)
  (recenter 0)
  (goto-line 23)
  (end-of-line)
  (select-window (split-window-below 7))
  (switch-to-buffer (gptel "*gptel*")))"""


# ---------------------------------------------------------------------------- the model

QUESTION = "@backstaff With my change in session.py, can a POST still be sent twice?"
SEARCH: dict[str, object] = {
    "pattern": r"may_repeat\(|\.send\(", "include": ["src/**"], "context_lines": 0
}  # fmt: skip
ASKS = re.compile(r"^(src/courier/session\.py)\n(?:.*\n)*?(\d+): +if .*may_repeat", re.MULTILINE)
REPEATS = re.compile(
    r"^(src/courier/adapters\.py)\nin ([\w.]+) .*\n(\d+): +return self\.send", re.MULTILINE
)
ANSWER = (
    "Yes, in one place.\n\nYour change (={0}= line {1}, not saved yet) asks ~may_repeat~ after a"
    " timeout. But ={2}= line {3} sends any request again after a stale connection, without this"
    " check. The server may have read the POST before it hung up. Ask ~may_repeat~ there as well."
)


class Model(BaseHTTPRequestHandler):
    """Plays a model with OpenAI's interface: two calls of tools, and then the text."""

    def do_POST(self) -> None:
        """Answer a request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        replies = [one["content"] for one in request["messages"] if one["role"] == "tool"]
        names = [tool["function"]["name"] for tool in request["tools"]]
        body = json.dumps({"choices": [{"index": 0, "message": said(replies, names)}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def said(replies: list[str], names: list[str]) -> dict[str, object]:
    """Return the model's message after the `replies` of tools. `names` are its tools."""
    if not replies:
        return _calls(names, "regexp_search", SEARCH)
    asks, repeats = ASKS.search(replies[0]), REPEATS.search(replies[0])
    if asks is None or repeats is None:
        return {"role": "assistant", "content": "I find nothing in: " + replies[0]}
    if len(replies) == 1:
        return _calls(names, "read_file", {"path": repeats[1], "symbol": repeats[2]})
    text = ANSWER.format(*asks.groups(), repeats[1], repeats[3])
    return {"role": "assistant", "content": text}


def _calls(names: list[str], tool: str, arguments: dict[str, object]) -> dict[str, object]:
    # In gptel a tool has its own name, or that of its toolset and its own.
    name = next(name for name in names if name in {tool, f"workspace_{tool}"})
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{name}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


# ---------------------------------------------------------------------------- the pictures


@dataclass(frozen=True, slots=True)
class Picture:
    """A screen of `rows`. `keys` are pressed, `text` is typed, then `more` is pressed.

    Keys have tmux's names. The screen is drawn when its text matches the regexp `shows`, for
    example "read first". `kinds` are keys of `THEMES`.
    """

    rows: int
    keys: tuple[str, ...]
    shows: str
    text: str = ""
    more: tuple[str, ...] = ()
    setup: str = '(find-file "README.md")'
    kinds: tuple[str, ...] = tuple(THEMES)


PICTURES = {
    "agent": Picture(
        55, (), r"With my change(?:.*\n)+.*there as well\.", QUESTION, ("C-c", "Enter"), GPTEL
    ),
    "overview": Picture(26, ("C-c", "b", "o"), "read first"),
    "find": Picture(14, ("C-c", "b", "f"), r"str cour\nsrc/courier/streams\.py\n", "str cour"),
    "menu": Picture(20, ("C-c", "b", "m"), "List a directory", kinds=("light",)),
    "tree": Picture(16, ("C-c", "b", "t"), "src/", kinds=("light",)),
    "search": Picture(
        13, ("C-c", "b", "/"), "finished", r"may_repeat\(", ("Enter",), UNSAVED, ("light",)
    ),
    "changes": Picture(19, ("C-c", "b", "g"), r"^\+.*may_repeat", setup=UNSAVED, kinds=("light",)),
    "inspector": Picture(
        26,
        ("C-c", "b", "x"),
        "tokens",
        "workspace/outline",
        ("Enter", "C-a", "C-k", '(:path "src/courier/adapters.py")', "Enter"),
        kinds=("light",),
    ),
}


def screen(picture: Picture, theme: str, folders: list[str], model: str) -> Screen:
    """Return the screen of `picture` with a `theme` of Emacs.

    `folders` are added to the load path. `model` is the model's host and port.
    """
    with tempfile.TemporaryDirectory() as home, Terminal(COLUMNS, picture.rows) as terminal:
        shutil.rmtree(PLACE, ignore_errors=True)
        pictured_project.plant(PLACE)
        variables = {
            "HOME": home,
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "BACKSTAFF_PYTHON": sys.executable,
            "BACKSTAFF_MAIN": str(PROJECT / "py_backend" / "backstaff" / "__main__.py"),
            "PICTURE_THEME": theme,
            "PICTURE_MODEL": model,
        }
        paths = [part for name in (PROJECT / "elisp", *folders) for part in ("-L", str(name))]
        emacs = [os.environ.get("EMACS", "emacs"), "-Q", "-nw", *paths, "--eval", EMACS]
        terminal.run([*emacs, "--eval", picture.setup], PLACE, variables)
        terminal.screen(r"(README\.md|session\.py|\*gptel\*)   \(")
        if picture.keys:
            terminal.press(*picture.keys)
        if picture.text:
            terminal.screen("")
            terminal.type(picture.text)
        if picture.more:
            terminal.screen("")
            terminal.press(*picture.more)
        return terminal.screen(picture.shows)


def draw(names: list[str], folders: list[str]) -> Iterator[Path]:
    """Draw the pictures `names` and yield their files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in names:
        for kind in PICTURES[name].kinds:
            theme, text, ground = THEMES[kind]
            shown = screen(PICTURES[name], theme, folders, f"127.0.0.1:{server.server_port}")
            path = DOCS / f"{name}-{kind}.svg"
            path.write_text(svg(shown, text, ground), "utf-8")
            yield path
    server.shutdown()


def main() -> None:
    """Draw the pictures that the command line names."""
    parser = argparse.ArgumentParser(description="Draws the pictures of the README and the manual.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(PICTURES)}")
    parser.add_argument("-L", dest="folders", action="append", default=[], metavar="DIR",
                        help="a folder for the load path, such as a clone of gptel")  # fmt: skip
    options = parser.parse_args()
    names = options.names or list(PICTURES)
    if unknown := set(names) - set(PICTURES):
        parser.error(f"no picture is named {', '.join(sorted(unknown))}")
    if "agent" in names and not any(Path(one, "gptel.el").exists() for one in options.folders):
        parser.error("the picture agent needs -L DIR, with a clone of gptel")
    if PLACE.exists():
        parser.error(f"{PLACE} is in the way")
    try:
        for path in draw(names, options.folders):
            print(f"pictures: {path.relative_to(PROJECT)}, {path.stat().st_size} bytes")
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)


if __name__ == "__main__":
    main()

"""The command line: makes settings, registry, server and transport; may import everything."""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module

from backstaff import __version__, log
from backstaff.arguments import json_object
from backstaff.errors import SettingsError, ToolError
from backstaff.fs.root import Root
from backstaff.manifest import CLIENT_TOOLS, PRESET
from backstaff.registry import Registry, discover
from backstaff.render.canonical import to_json
from backstaff.render.names import quote, visible
from backstaff.server import Server
from backstaff.settings import default_file, load
from backstaff.start import make_server, serve_until_the_end

EXIT_OK, EXIT_TOOL_ERROR, EXIT_USAGE = 0, 1, 2
LEVELS = ("debug", "info", "warning", "error")
PROJECT_MARKS = (".git", ".hg", ".svn", ".bzr", ".jj")  # in the top directory of a project


def main(arguments: list[str] | None = None) -> int:
    """Run the command line with `arguments` (default: the process's own); return the status."""
    if arguments is None and sys.getfilesystemencoding() != "utf-8":
        # The locale has another encoding, but names are UTF-8 or bytes: start again in UTF-8 mode.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    options = _parser().parse_args(arguments)
    try:
        log.start(options.log_file, options.log_level)
        return _COMMANDS[options.command](options)
    except BrokenPipeError:  # the reader of our answer has read enough, as head(1) does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except (SettingsError, ToolError, OSError) as error:
        print(f"backstaff: {error}", file=sys.stderr)
        return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    # Python would ask the terminal for its width, which costs each start an import.
    width = partial(argparse.HelpFormatter, width=80)
    about = "A read-only navigation back end for agents and people."
    parser = argparse.ArgumentParser("backstaff", description=about, formatter_class=width)
    parser.add_argument("--version", action="version", version=f"backstaff {__version__}")
    parser.set_defaults(log_file=None, log_level="warning")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    add = partial(commands.add_parser, formatter_class=width)
    serve = add("serve", help="answer EPC calls")
    transport = "over stdin and stdout (default: TCP, port printed)"
    serve.add_argument("--stdio", action="store_true", help=transport)
    mcp = add("mcp", help="serve MCP clients over stdin and stdout")
    chosen = "these tools, or all tools of these toolsets: workspace/tree,commands"
    mcp.add_argument("--tools", metavar="NAME,...", help=chosen)
    asks = "whether to ask a running Emacs for unsaved text (default: %(default)s)"
    mcp.add_argument("--emacs", choices=("auto", "never"), default="auto", help=asks)
    call = add("call", help="call one tool and print its answer")
    call.add_argument("id", help="the tool, e.g. agent-q/list_directory")
    call.add_argument("json", nargs="?", help="its arguments as a JSON object")
    forms = "its text; its output, or a failure, as JSON; its reply as Lisp; warnings go to stderr"
    call.add_argument("--format", choices=("text", "json", "sexp"), default="text", help=forms)
    for command in serve, mcp, call:
        command.add_argument("--root", metavar="DIR", help="the project (default: .)")
        command.add_argument("--config", metavar="FILE", help="settings (TOML)")
        command.add_argument("--log-file", metavar="FILE", help="log there and not to stderr")
        command.add_argument("--log-level", choices=LEVELS, default="warning")
    tools = add("tools", help="print the definitions of the tools")
    tools.add_argument("--json", action="store_true", help="as JSON")
    add("bundle", help="print what a start on another host needs")
    return parser


def _serve(options: argparse.Namespace) -> int:
    # python-epc costs 80 ms to import, so only the transport that is used is.
    transport = import_module(f"backstaff.wire.{'stdio' if options.stdio else 'tcp'}")
    return serve_until_the_end(transport.serve, _server(options))


def _mcp(options: argparse.Namespace) -> int:
    serve = import_module("backstaff.mcp.stdio").serve
    kind = Server if options.emacs == "never" else import_module("backstaff.live").LiveServer
    server = _server(options, kind)
    Root(server.root).close()  # reports a missing root at once, not at each call
    problem = "" if options.root else _no_project(server.root)
    if problem:
        print(f"backstaff: {problem}", file=sys.stderr)
    tools = _chosen(server.registry, options.tools, () if kind is Server else CLIENT_TOOLS)
    return serve_until_the_end(serve, server, tools, problem)


def _no_project(root: str) -> str:
    """Return the sentence that answers each call if `root` is no project's; "" if it is.

    Clients start servers wherever they run themselves, often in a home directory. They show the
    reason why a server ended only in a log; but a model tells the user the answer to a call.
    """
    home, above = os.path.realpath(os.path.expanduser("~")), [os.path.realpath(root)]
    while above[-1] not in (home, os.path.dirname(above[-1])):
        if any(os.path.lexists(os.path.join(above[-1], name)) for name in PROJECT_MARKS):
            return ""
        above.append(os.path.dirname(above[-1]))
    reason = f"no {', '.join(PROJECT_MARKS)} between it and your home directory"
    remedy = "start the server in a project, or name the directory: backstaff mcp --root DIR"
    problem = f"is in no project ({reason}), and a model would see all below it; {remedy}"
    return f"The root {quote(root)} {problem}"


def _chosen(registry: Registry, names: str | None, client_tools: Sequence[str]) -> list[str]:
    """Return the ids of the tools that `names`, of tools or toolsets, choose. Raises `ToolError`.

    The default has no `client_tools`: Emacs's would add half its size to each turn of a model.
    """
    if names is None:
        return [tool_id for tool_id in PRESET if tool_id in registry.by_id]
    chosen = list[str]()
    for name in filter(None, map(str.strip, names.split(","))):
        chosen += [
            tool_id
            for tool_id in (*registry.by_id, *client_tools)
            if name in (tool_id, tool_id.partition("/")[0], registry.model_name(tool_id))
        ] or [registry.id_of(name)]
    return list(dict.fromkeys(chosen))


def _call(options: argparse.Namespace) -> int:
    server = _server(options)
    arguments = json_object(options.json or "{}")
    Root(server.root).close()  # a missing root is a usage error, not an answer of the tool
    tool_id = server.registry.id_of(options.id)  # an unknown tool is one, too
    reply = server.call(tool_id, arguments, {"json": options.format == "json"})
    text = reply.text.removesuffix("\n")
    if options.format == "json":
        text = reply.json if reply.json is not None else to_json(reply.fields())
    elif options.format == "sexp":
        from backstaff.wire.lisp import PLAIN, write

        text = write(reply.fields(), PLAIN).decode()
    # JSON and Lisp carry odd names as they are, and read the escapes as the same characters.
    print(visible(text) if sys.stdout.isatty() else text)
    for warning in reply.warnings:
        print(f"backstaff: {warning}", file=sys.stderr)
    return EXIT_OK if reply.ok else EXIT_TOOL_ERROR


def _tools(options: argparse.Namespace) -> int:
    registry = discover()
    if options.json:
        print(to_json(registry.definitions()))
        return EXIT_OK
    for tool_id, tool in registry.by_id.items():
        print(f"{tool_id}\n    {tool.description}")
        for one in tool.parameters:
            kind = "|".join(one.choices) or str(one.type)
            print(f"      {one.name} ({kind}{', required' * one.required})  {one.described()}")
    return EXIT_OK


def _bundle(_: argparse.Namespace) -> int:
    """Print `(PROGRAM (HASH SIZE) ((HASH . PAYLOAD)))`, strings in Lisp, the payload in Base64."""
    from base64 import b64encode
    from hashlib import sha256

    from backstaff_remote.bundle import collect

    program, payload = collect()
    name, text = sha256(payload).hexdigest(), b64encode(payload).decode()
    print(f'("{program}" ("{name}" "{len(payload)}") (("{name}" . "{text}")))')
    return EXIT_OK


def _server(options: argparse.Namespace, kind: type[Server] = Server) -> Server:
    path = options.config or default_file()
    read = partial(load, path) if path else None
    return make_server(discover(), os.path.abspath(options.root or "."), read, kind)


_COMMANDS = {"serve": _serve, "mcp": _mcp, "call": _call, "tools": _tools, "bundle": _bundle}

"""The command line: makes settings, registry, server and transport; may import everything."""

import argparse
import os
import sys
from functools import partial
from importlib import import_module

from backstaff import __version__, log
from backstaff.arguments import Parameter, json_object
from backstaff.errors import ErrorCode, SettingsError, ToolError
from backstaff.fs.root import Root
from backstaff.registry import CLIENT_TOOLS, discover
from backstaff.render.canonical import to_json
from backstaff.render.names import visible
from backstaff.server import Server, enable_garbage_collection
from backstaff.settings import Settings, default_file, load

EXIT_OK, EXIT_TOOL_ERROR, EXIT_USAGE = 0, 1, 2
LEVELS = ("debug", "info", "warning", "error")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line with ARGUMENTS (default: the process's own); return the exit status."""
    if arguments is None and sys.getfilesystemencoding() != "utf-8":
        # The locale has another encoding, but names are UTF-8 or bytes: start again in UTF-8 mode.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    options = _parser().parse_args(arguments)
    try:
        log.start(options.log_file, options.log_level)
        run = {"serve": _serve, "call": _call, "tools": _tools, "bundle": _bundle}[options.command]
        return run(options)
    except BrokenPipeError:  # the reader of our answer has read enough, as head(1) does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except (SettingsError, ToolError, OSError) as error:
        print(f"backstaff: {error}", file=sys.stderr)
        return EXIT_USAGE


def _parser() -> argparse.ArgumentParser:
    # Python would ask the terminal for its width, which costs each start an import.
    width = partial(argparse.HelpFormatter, width=80)
    parser = argparse.ArgumentParser(
        prog="backstaff",
        description="A read-only navigation back end for agents and people.",
        formatter_class=width,
    )
    parser.add_argument("--version", action="version", version=f"backstaff {__version__}")
    parser.set_defaults(log_file=None, log_level="warning")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    add = partial(commands.add_parser, formatter_class=width)
    serve = add("serve", help="answer EPC calls")
    serve.add_argument(
        "--stdio", action="store_true", help="over stdin and stdout (default: TCP, port printed)"
    )
    call = add("call", help="call one tool and print its answer")
    call.add_argument("id", help="the tool, e.g. agent-q/list_directory")
    call.add_argument("json", nargs="?", default="{}", help="its arguments as a JSON object")
    call.add_argument(
        "--format",
        choices=("text", "json", "sexp"),
        default="text",
        help="the text; the tool's output (or the reply that tells of a failure) as JSON;"
        " the whole reply as Lisp",
    )
    for command in serve, call:
        command.add_argument("--root", default=".", metavar="DIR", help="the project (default: .)")
        command.add_argument("--config", metavar="FILE", help="settings (TOML)")
        command.add_argument("--log-file", metavar="FILE", help="log there and not to stderr")
        command.add_argument("--log-level", choices=LEVELS, default="warning")

    tools = add("tools", help="print the definitions of the tools")
    tools.add_argument("--json", action="store_true", help="as JSON")
    add("bundle", help="print what a start on another host needs")
    return parser


def _serve(options: argparse.Namespace) -> int:
    # So long may one thread keep the others waiting: with Python's 5 ms, a ping took as long.
    sys.setswitchinterval(0.0005)
    # python-epc costs 80 ms to import, so only the transport that is used is.
    transport = import_module(f"backstaff.wire.{'stdio' if options.stdio else 'tcp'}")
    server = _server(options)
    enable_garbage_collection()
    status = transport.serve(server)
    # The client is gone, whatever a worker does or hangs in. No orderly shutdown comes first: a
    # worker that hangs may hold a lock of the log, whose lines are all written by now.
    os._exit(status)


def _call(options: argparse.Namespace) -> int:
    enable_garbage_collection()
    server = _server(options)
    arguments = json_object(options.json)
    Root(server.root).close()  # a missing root is a usage error, not an answer of the tool
    reply = server.call(options.id, arguments, {"json": options.format == "json"})
    if reply.error and reply.error["code"] == ErrorCode.UNKNOWN_TOOL:
        raise ToolError(ErrorCode.UNKNOWN_TOOL, str(reply.error["message"]))
    text = reply.text
    if options.format == "json":
        text = reply.json if reply.json is not None else to_json(reply.fields())
    elif options.format == "sexp":
        from backstaff.wire.lisp import PLAIN, write

        text = write(reply.fields(), PLAIN).decode()
    text = text.removesuffix("\n")
    # JSON and Lisp carry odd names as they are, and read the escapes as the same characters.
    print(visible(text) if sys.stdout.isatty() else text)
    for warning in reply.warnings:
        print(f"backstaff: {warning}", file=sys.stderr)
    return EXIT_OK if reply.ok else EXIT_TOOL_ERROR


def _tools(options: argparse.Namespace) -> int:
    registry = discover()
    definitions = registry.definitions()
    if options.json:
        print(to_json(definitions))
        return EXIT_OK
    for tool_id, tool in registry.by_id.items():
        print(f"{tool_id}\n    {tool.description}")
        for parameter in tool.parameters:
            print(f"      {_summary(parameter)}  {parameter.told()['description']}")
    return EXIT_OK


def _summary(parameter: Parameter) -> str:
    """Return, for example, `depth (integer, default 3, minimum 0, maximum 12)`."""
    schema = parameter.told()
    need = "required" if parameter.required else "optional"
    if parameter.default is not None and not parameter.required:
        need = f"default {to_json(parameter.default)}"
    facts = [str(parameter.type), need]
    if parameter.choices:
        facts.append("one of " + " ".join(parameter.choices))
    facts += [f"{word} {schema[word]}" for word in ("minimum", "maximum") if word in schema]
    return f"{parameter.name} ({', '.join(facts)})"


def _bundle(_: argparse.Namespace) -> int:
    """Print a Lisp list, `(PROGRAM (MAGIC HASH SIZE HASH SIZE) ((HASH . PAYLOAD) ...))`.

    PROGRAM and the list behind it are for the host's command line. MAGIC is the bytecode's magic
    number; the first HASH is of the payload of code, the second of the payload of sources. All
    are strings, the payloads in Base64.
    """
    if sys.flags.optimize < len("OO"):  # without docstrings and columns the code is half as large
        slim = (sys.executable, "-OO", "-X", "no_debug_ranges")
        os.execv(sys.executable, [*slim, *sys.orig_argv[1:]])  # noqa: S606
    from base64 import b64encode

    from backstaff_remote.bundle import collect, digest

    bundle = collect()
    payloads = (bundle.code, bundle.source)
    facts = " ".join(f'"{digest(payload)}" "{len(payload)}"' for payload in payloads)
    pairs = " ".join(f'("{digest(data)}" . "{b64encode(data).decode()}")' for data in payloads)
    print(f'("{bundle.program}" ("{bundle.magic}" {facts}) ({pairs}))')
    return EXIT_OK


def _server(options: argparse.Namespace) -> Server:
    registry = discover()
    path = options.config or default_file()
    ids = [*registry.by_id, *CLIENT_TOOLS]
    settings = load(path, registry.settings_tables(), ids) if path else Settings()
    return Server(registry, settings, os.path.abspath(options.root))

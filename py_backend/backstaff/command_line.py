"""The command line: builds settings, registry, server and transport, and may import everything."""

import argparse
import os
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

from backstaff import __version__, log
from backstaff.arguments import Parameter, json_object
from backstaff.errors import ErrorCode, SettingsError, ToolError
from backstaff.fs.root import Root
from backstaff.registry import Registry, discover
from backstaff.render.canonical import to_json
from backstaff.render.names import visible
from backstaff.server import Reply, Server, enable_garbage_collection
from backstaff.settings import Settings, default_file, load

HAND_OVER_SECONDS = 0.0005
"""How long a thread may keep others waiting: a ping behind a call took Python's own 5 ms."""

EXIT_OK, EXIT_TOOL_ERROR, EXIT_USAGE = 0, 1, 2
LEVELS = ("debug", "info", "warning", "error")
HELP_COLUMNS = 80


def main(arguments: list[str] | None = None) -> int:
    """Run the command line with ARGUMENTS (default: the process's own); return the exit status."""
    if arguments is None:
        _insist_on_utf8()
    options = _parser().parse_args(arguments)
    try:
        log.start(options.log_file, options.log_level)
        return int(options.command(options))
    except BrokenPipeError:  # whoever read our answer has read enough, as head(1) does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except (SettingsError, ToolError, OSError) as error:
        print(f"backstaff: {error}", file=sys.stderr)
        return EXIT_USAGE


def _insist_on_utf8() -> None:
    """Start anew in UTF-8 mode under a locale of another encoding: names are UTF-8 or bytes."""
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="backstaff", description="A read-only navigation back end for agents and people."
    )
    parser.add_argument("--version", action="version", version=f"backstaff {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_serve(commands.add_parser("serve", help="answer EPC calls"))
    _add_call(commands.add_parser("call", help="call one tool and print its answer"))
    _add_tools(commands.add_parser("tools", help="print the definitions of the tools"))
    _add_bundle(commands.add_parser("bundle", help="print what a start on another host needs"))
    return parser


class _Parser(argparse.ArgumentParser):
    """One whose help has a width of its own: to ask the terminal costs each start an import."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  # argparse's
        width = partial(argparse.HelpFormatter, width=HELP_COLUMNS)
        super().__init__(formatter_class=width, **options)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stdio", action="store_true", help="over stdin and stdout (default: TCP, port printed)"
    )
    _add_common(parser)
    parser.set_defaults(command=_serve)


def _add_call(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the tool, e.g. agent-q/list_directory")
    parser.add_argument("json", nargs="?", default="{}", help="its arguments as a JSON object")
    parser.add_argument(
        "--format",
        choices=("text", "json", "sexp"),
        default="text",
        help="the text; the tool's output (or the reply that tells of a failure) as JSON;"
        " the whole reply as Lisp",
    )
    _add_common(parser)
    parser.set_defaults(command=_call)


def _add_tools(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(command=_tools, log_file=None, log_level="warning")


def _add_bundle(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_bundle, log_file=None, log_level="warning")


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", default=".", metavar="DIR", help="the project (default: .)")
    parser.add_argument("--config", metavar="FILE", help="settings (TOML)")
    parser.add_argument("--log-file", metavar="FILE", help="log there and not to stderr")
    parser.add_argument("--log-level", choices=LEVELS, default="warning")


def _serve(options: argparse.Namespace) -> int:
    sys.setswitchinterval(HAND_OVER_SECONDS)
    # python-epc costs 80 ms to import, so only the transport that is used is.
    transport = import_module(f"backstaff.wire.{'stdio' if options.stdio else 'tcp'}")
    server = _server(options)
    enable_garbage_collection()
    status = transport.serve(server)
    # Whatever a worker is doing, or stuck in: its client is gone. Nothing is shut down before, as
    # the stuck one may hold a lock of the log; each line of that was written when it came.
    os._exit(status)


def _call(options: argparse.Namespace) -> int:
    enable_garbage_collection()
    server = _server(options)
    arguments = json_object(options.json)
    Root(server.root).close()  # a root that is not there is misuse, not an answer of the tool
    reply = server.call(options.id, arguments, {"json": options.format == "json"})
    if reply.error and reply.error["code"] == ErrorCode.UNKNOWN_TOOL:
        raise ToolError(ErrorCode.UNKNOWN_TOOL, str(reply.error["message"]))
    text = _formatted(reply, options.format).removesuffix("\n")
    # JSON and Lisp carry names as they are. Both read the escapes as the same characters.
    print(visible(text) if sys.stdout.isatty() else text)
    for warning in reply.warnings:
        print(f"backstaff: {warning}", file=sys.stderr)
    return EXIT_OK if reply.ok else EXIT_TOOL_ERROR


def _formatted(reply: Reply, form: str) -> str:
    match form:
        case "json":
            return reply.json if reply.json is not None else to_json(reply.fields())
        case "sexp":
            from backstaff.wire.lisp import PLAIN, write

            return write(reply.fields(), PLAIN).decode()
        case _:
            return reply.text


def _tools(options: argparse.Namespace) -> int:
    definitions = discover().definitions()
    if options.json:
        print(to_json(definitions))
    else:
        for tool_id, tool in discover().by_id.items():
            print(f"{tool_id}\n    {tool.description}")
            for parameter in tool.parameters:
                facts = ", ".join(_facts(parameter))
                print(f"      {parameter.name} ({facts})  {parameter.description}".rstrip())
    return EXIT_OK


def _facts(parameter: Parameter) -> Iterator[str]:
    """What a caller must know of PARAMETER besides what it is for."""
    schema = parameter.schema()
    yield str(parameter.type)
    if parameter.required:
        yield "required"
    elif parameter.default is None:
        yield "optional"
    else:
        yield f"default {to_json(parameter.default)}"
    if parameter.choices:
        yield "one of " + " ".join(parameter.choices)
    yield from (f"{word} {schema[word]}" for word in ("minimum", "maximum") if word in schema)


def _bundle(_: argparse.Namespace) -> int:
    """Print a line of facts, each followed by a blank but the last, and then both payloads.

    The facts are the bytecode's magic number, hash and size of the payload of code, hash and size
    of that of sources, and the program for the host's command line.
    """
    if sys.flags.optimize < len("OO"):  # without docstrings and columns the code is half as large
        slim = (sys.executable, "-OO", "-X", "no_debug_ranges")
        os.execv(sys.executable, [*slim, *sys.orig_argv[1:]])  # noqa: S606
    from backstaff_remote.bundle import collect, digest

    bundle = collect()
    payloads = (bundle.code, bundle.source)
    facts = " ".join(f"{digest(payload)} {len(payload)}" for payload in payloads)
    print(bundle.magic, facts, bundle.program, flush=True)
    sys.stdout.buffer.write(bundle.code + bundle.source)
    sys.stdout.flush()
    return EXIT_OK


def _server(options: argparse.Namespace) -> Server:
    registry = discover()
    return Server(registry, _settings(options, registry), os.path.abspath(options.root))


def _settings(options: argparse.Namespace, registry: Registry) -> Settings:
    path = options.config or default_file()
    return load(path, registry.settings_tables(), registry.by_id) if path else Settings()

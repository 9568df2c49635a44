"""``twg``: arguments and exit codes. A command's module is imported when the command is called, so help is instant."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from thalweg import __version__, interrupt, registry
from thalweg.errors import ThalwegError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_CLOSED_PIPE = 128 + signal.SIGPIPE
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


def run() -> NoReturn:
    """The whole command, as ``thalweg.__main__`` starts it."""
    _fill_streams()
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command and give its exit code; nothing but ``--debug`` shows a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as e:
        return _flushed(e.code if isinstance(e.code, int) else EXIT_USAGE)
    if arguments.call is None:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    return _flushed(_guarded(arguments.call, arguments))


def _guarded(call: Callable[[argparse.Namespace], int], arguments: argparse.Namespace) -> int:
    """Turn what a command raises into a message and an exit code."""
    try:
        return call(arguments)
    except BrokenPipeError:
        return EXIT_CLOSED_PIPE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return EXIT_INTERRUPTED
    except (SystemExit, GeneratorExit):
        raise
    except ThalwegError as e:
        registry.attribute("thalweg.cli.render:show_error")(e, sys.stderr)
        if arguments.debug:
            registry.attribute("traceback:print_exception")(e)
        return EXIT_USAGE if isinstance(e, UserError) and not e.unanswered else EXIT_FAILED
    except BaseException as e:  # noqa: BLE001 - a panic in the engine is a BaseException too
        return _unexpected(e, arguments)


def _unexpected(error: BaseException, arguments: argparse.Namespace) -> int:
    """A full disk behind standard output; else a bug: one line, and the traceback on request."""
    if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:
        return _not_written(error)
    if arguments.debug:
        registry.attribute("traceback:print_exception")(error)
    said = " ".join(str(error).split())[:500]
    sys.stderr.write(f"internal error: {type(error).__name__}: {said} (run again with --debug)\n")
    return EXIT_FAILED


def _flushed(code: int) -> int:
    """Flush while a closed pipe can still be told apart; what is left is thrown away so that the interpreter's exit stays silent."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CLOSED_PIPE
    except OSError as e:
        return _not_written(e)
    return code


def _not_written(error: OSError) -> int:
    """Standard output takes no more: said once, and not again when the interpreter flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.stderr.write(f"error: cannot write to standard output: {os.strerror(error.errno or 0)}\n")
    return EXIT_FAILED


def _fill_streams() -> None:
    """A standard stream that came closed (``>&-``) leads nowhere; else the next file that is opened would take its place."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - standard error
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - the function takes it so
    os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _parser() -> argparse.ArgumentParser:
    """All commands and options."""
    parser = argparse.ArgumentParser(
        prog="twg",
        description="Turn a .sql file into a running data pipeline.",
        epilog="Exit codes: 0 done, 1 the pipeline failed, 2 bad file or options, 130 interrupted. See docs/reference/exit-codes.md.",
    )
    parser.add_argument("--version", action="version", version=f"twg {__version__}")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    parser.set_defaults(call=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _stream(commands)
    _check(commands)
    _repl(commands)
    _describe_schema(commands)
    _warmup(commands)
    _command(commands, "version", "print the version", _run_version)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str, call: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """A command with the options that every command has."""
    parser = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    parser.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks")
    parser.set_defaults(call=call)
    return parser


def _stream(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """``twg stream``."""
    parser = _command(commands, "stream", "run a pipeline file until its bounded end or a signal", _run_stream)
    parser.add_argument("file", metavar="FILE", help="the pipeline, a .sql file")
    _settings(parser)
    parser.add_argument("--rewrite", action="store_true", help="first remove what earlier runs of this pipeline wrote; says what and asks")
    parser.add_argument("--yes", action="store_true", help="do not ask before --rewrite removes anything")


def _check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """``twg check``."""
    parser = _command(commands, "check", "show what a pipeline file would do, and every error in it, without running it", _run_check)
    parser.add_argument("file", metavar="FILE", help="the pipeline, a .sql file")
    _settings(parser)
    parser.add_argument("--connect", action="store_true", help="ask brokers and registries too; without it no connection is opened")
    parser.add_argument("--format", choices=("text", "mermaid", "json"), default="text", help="how to print the plan (default: text)")


def _repl(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """``twg repl``."""
    parser = _command(commands, "repl", "ask questions of the tables of a pipeline file by hand", _run_repl)
    parser.add_argument("file", metavar="FILE", nargs="?", help="a pipeline file; its tables and views can be queried, its COPYs are not run")
    parser.add_argument("-c", dest="commands", metavar="SQL", action="append", help="run this and leave; may be repeated")
    _settings(parser)
    parser.add_argument(
        "--format", choices=("table", "csv", "json", "arrow"), default="table", help="how to print rows (default: table); json is one object a line"
    )


def _describe_schema(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """``twg describe-schema``."""
    parser = _command(commands, "describe-schema", "show the Arrow type of every field of a schema", _run_describe_schema)
    what = "an Avro schema, a JSON schema, a Protobuf descriptor set, a .proto file or a folder of them; with --registry SUBJECT or SUBJECT:VERSION"
    parser.add_argument("schema", metavar="SCHEMA", help=what)
    parser.add_argument("--registry", metavar="URL", help="the schema registry that holds the subject, or a folder")
    parser.add_argument("--message", metavar="NAME", help="the message or record, where there are several: Order, shop.Order, Order.Line")
    parser.add_argument(
        "--option", dest="given", metavar="KEY=VALUE", action="append", type=_pair, default=[],
        help="an option as in SQL, such as decode.max_depth=3 or basic-auth.user-info=${WHO}; may be repeated",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print it (default: text)")


def _warmup(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """``twg warmup``."""
    parser = _command(commands, "warmup", "compile the decoders for this machine ahead of the first run", _run_warmup)
    parser.add_argument("formats", metavar="FORMAT", nargs="*", help="avro, json, protobuf, kafka, ... (default: all)")


def _settings(parser: argparse.ArgumentParser) -> None:
    """``--set KEY=VALUE``."""
    parser.add_argument(
        "--set", dest="settings", metavar="KEY=VALUE", action="append", type=_pair, default=[], help="a setting, over environment, file and default; may be repeated"
    )


def _pair(text: str) -> tuple[str, str]:
    """``KEY=VALUE`` in two."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        message = f"expected KEY=VALUE, found {text!r}"
        raise argparse.ArgumentTypeError(message)
    return key.strip(), value


def _run_stream(a: argparse.Namespace) -> int:
    """Call the command's module; the allocators are told first."""
    registry.attribute("thalweg.native.allocators:settle")()
    return _loaded("thalweg.cli.stream:stream")(a.file, settings=dict(a.settings), rewrite=a.rewrite, yes=a.yes, debug=a.debug)


def _loaded(path: str) -> Callable[..., int]:
    """A command; once it is there Ctrl-C is its own affair."""
    found: Callable[..., int] = registry.attribute(path)
    interrupt.release()
    return found


def _run_check(a: argparse.Namespace) -> int:
    """Call the command's module."""
    return _loaded("thalweg.cli.check:check")(a.file, format=a.format, connect=a.connect, settings=dict(a.settings))


def _run_repl(a: argparse.Namespace) -> int:
    """Call the command's module; the allocators are told first."""
    registry.attribute("thalweg.native.allocators:settle")()
    return _loaded("thalweg.cli.repl.command:repl")(a.file, commands=a.commands, format=a.format, settings=dict(a.settings), debug=a.debug)


def _run_describe_schema(a: argparse.Namespace) -> int:
    """Call the command's module."""
    return _loaded("thalweg.cli.describe:describe_schema")(a.schema, registry=a.registry, message=a.message, given=a.given, format=a.format)


def _run_warmup(a: argparse.Namespace) -> int:
    """Call the command's module."""
    return _loaded("thalweg.cli.warmup:warmup")(a.formats)


def _run_version(_: argparse.Namespace) -> int:
    """Print the version."""
    sys.stdout.write(f"twg {__version__}\n")
    return EXIT_OK

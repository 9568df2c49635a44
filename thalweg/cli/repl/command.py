"""``twg repl``: a prompt on a terminal, a script on ``-c`` or standard input."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

from thalweg import __version__, registry
from thalweg.cli.render import show_error
from thalweg.cli.repl.shell import Shell, loaded
from thalweg.cli.repl.workspace import Workspace
from thalweg.errors import ThalwegError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def repl(file: str | None, *, commands: Sequence[str] | None, format: str, settings: Mapping[str, str], debug: bool) -> int:  # noqa: A002 - the option's name
    """Load ``file``, then do ``commands``, or standard input, or what is typed; errors of scripts are raised for the caller to show."""
    workspace = Workspace(settings, os.environ)
    shell = Shell(workspace, kind=format, out=sys.stdout, notes=sys.stderr)
    interactive = not commands and sys.stdin.isatty() and sys.stdout.isatty()
    if file is not None:
        workspace.load(file)
    if interactive:
        sys.stdout.write(f"twg {__version__}  \\? lists commands, \\q leaves\n")
        if file is not None:
            shell.note(loaded(workspace, file))
        return _interact(shell, debug=debug)
    if workspace.warning:
        shell.note(workspace.warning)
    if commands:
        for text in commands:
            shell.run_text(text, "input")
    else:
        shell.run_text(sys.stdin.read(), "stdin")
    return 0


def _interact(shell: Shell, *, debug: bool) -> int:
    """Read and do, until the end; nothing that goes wrong ends the session."""
    prompt = registry.attribute("thalweg.cli.repl.prompt:Prompt")(shell.workspace, os.environ)
    while not shell.done:
        try:
            text = prompt.read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
        try:
            shell.run_text(text, "input")
        except KeyboardInterrupt:
            shell.note("interrupted")
        except BrokenPipeError:
            raise
        except ThalwegError as e:
            show_error(e, sys.stderr)
        except Exception as e:  # noqa: BLE001 - a bug costs a statement, not the session
            if debug:
                traceback.print_exc()
            shell.note(f"internal error: {type(e).__name__}: {e} (twg repl --debug shows where)")
    return 0

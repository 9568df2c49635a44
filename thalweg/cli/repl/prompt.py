"""The prompt: several lines, history, completion; a statement ends with ``;``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.filters import completion_is_selected, has_completions
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from thalweg.cli.repl.completion import SqlCompleter
from thalweg.cli.repl.pieces import split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_toolkit.key_binding import KeyPressEvent

    from thalweg.cli.repl.workspace import Workspace

PROMPT = "twg> "
CONTINUED = "...> "


class Prompt:
    """Reads what the user types, one whole text at a time."""

    def __init__(self, workspace: Workspace, environ: Mapping[str, str]) -> None:
        """History is kept in the user's state folder; where that cannot be written, only for now."""
        self._session: PromptSession[str] = PromptSession(
            message=PROMPT, history=history(environ), multiline=True, key_bindings=_keys(), completer=SqlCompleter(workspace),
            prompt_continuation=CONTINUED, complete_while_typing=False, enable_history_search=True,
        )  # fmt: skip

    def read(self) -> str:
        """The next text; raises EOFError on Ctrl-D and KeyboardInterrupt on Ctrl-C."""
        return self._session.prompt()


def history(environ: Mapping[str, str]) -> History:
    """A history file in the state folder of the XDG rules, or a history that is forgotten where there can be no file; statements may hold secrets."""
    state = Path(environ.get("XDG_STATE_HOME") or Path(environ.get("HOME", "~")).expanduser() / ".local" / "state")
    path = state / "thalweg" / "repl_history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("a", encoding="utf-8"):
            path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


def is_complete(text: str) -> bool:
    """Whether Enter sends the text: nothing is open and everything has its ``;``."""
    return not split(text, "input", whole=False)[1].strip()


def _keys() -> KeyBindings:
    """Enter sends a complete text and breaks the line of any other."""
    keys = KeyBindings()

    @keys.add("enter", filter=~(has_completions & completion_is_selected))
    def _enter(event: KeyPressEvent) -> None:
        """Send or go on."""
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("enter", filter=has_completions & completion_is_selected)
    def _accept(event: KeyPressEvent) -> None:
        """Take the completion and close the menu."""
        event.current_buffer.complete_state = None

    return keys

"""The prompt: when Enter sends, where history is kept."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from thalweg.cli.repl.prompt import Prompt, history, is_complete

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.repl.conftest import Desk


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1;", True), ("SELECT 1", False), ("SELECT 'a;", False), ("SELECT 1; -- done", True), ("SELECT 1; SELECT 2", False),
        ("", True), ("\\dt", True), ("\\d orders", True), ("SELECT 1 /* ; */", False), ("SELECT /* ;", False),
    ],
)  # fmt: skip
def test_enter_sends_what_is_complete(text: str, complete: bool) -> None:  # noqa: FBT001 - a parameter of the table
    """A statement ends with a ; outside of strings and comments (CLI-07)."""
    assert is_complete(text) is complete


def test_several_lines_are_one_text(desk: Desk, tmp_path: Path) -> None:
    """Enter breaks an open statement's line and sends a complete one; Ctrl-C and Ctrl-D come out (CLI-07)."""
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        prompt = Prompt(desk.shell.workspace, {"XDG_STATE_HOME": str(tmp_path)})
        typed.send_text("SELECT 1\rAS a;\r")
        assert prompt.read() == "SELECT 1\nAS a;"
        typed.send_text("\x03")
        with pytest.raises(KeyboardInterrupt):
            prompt.read()
        typed.send_text("\x04")
        with pytest.raises(EOFError):
            prompt.read()

    assert "AS a;" in (tmp_path / "thalweg" / "repl_history").read_text(encoding="utf-8")


def test_history_is_private(tmp_path: Path) -> None:
    """The file is in the state folder and for its owner only: statements may hold secrets (CLI-07)."""
    kept = history({"HOME": str(tmp_path)})

    path = tmp_path / ".local" / "state" / "thalweg" / "repl_history"
    assert isinstance(kept, FileHistory)
    assert path.stat().st_mode & 0o777 == 0o600


def test_without_a_folder_history_is_forgotten(tmp_path: Path) -> None:
    """A state folder that cannot be made costs the history, not the prompt."""
    (tmp_path / "file").write_text("")

    assert isinstance(history({"XDG_STATE_HOME": os.fspath(tmp_path / "file")}), InMemoryHistory)

"""``twg repl``: scripts, standard input, and a session that survives errors."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any

import pytest

from thalweg import registry
from thalweg.cli.repl import command
from thalweg.cli.repl.command import repl
from thalweg.errors import ScriptError

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Terminal
    from tests.unit.cli.repl.conftest import Desk


def run(file: str | None = None, *commands: str, kind: str = "table", debug: bool = False) -> int:
    """``twg repl``."""
    return repl(file, commands=commands or None, format=kind, settings={}, debug=debug)


def test_commands_run_in_order(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """-c texts run one after the other over the file's tables; rows are all that is on standard output (CLI-07)."""
    assert run(desk.file(), "CREATE VIEW v AS SELECT max(id) AS m FROM orders", "SELECT m FROM v", kind="json") == 0

    said = capsys.readouterr()
    assert said.out == '{"m": 3}\n'
    assert "v created" in said.err


def test_standard_input_is_a_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A script runs until its first error, which has its place (CLI-07, CLI-08)."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELECT 1 AS a;\n\\dt\nSELECT nope;\nSELECT 2;"))

    with pytest.raises(ScriptError, match="stdin:3:8: no column named nope"):
        run()
    assert "(1 row)" in capsys.readouterr().out


def test_a_warning_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What could not be resolved is said before anything else."""

    class Unresolved(command.Workspace):
        def __init__(self, settings: Any, environ: Any) -> None:  # noqa: ANN401 - as the real one
            super().__init__(settings, environ)
            self.warning = "schemas stay unresolved: no answer"

    monkeypatch.setattr(command, "Workspace", Unresolved)

    assert run(None, "SELECT 1") == 0
    assert capsys.readouterr().err == "schemas stay unresolved: no answer\n"


class Typed:
    """A prompt that gives prepared texts; exceptions are raised."""

    def __init__(self, *texts: str | BaseException) -> None:
        """What will be typed."""
        self.texts = list(texts)

    def __call__(self, *_: object) -> Typed:
        """In the place of the class."""
        return self

    def read(self) -> str:
        """The next one; Ctrl-D at the end."""
        text = self.texts.pop(0) if self.texts else EOFError()
        if isinstance(text, BaseException):
            raise text
        return text


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> Any:  # noqa: ANN401 - a function
    """Runs an interactive session; gives what was shown."""
    real = registry.attribute

    def talk(*texts: str | BaseException, file: str | None = None, debug: bool = False) -> str:
        for name in ("stdin", "stdout", "stderr"):
            monkeypatch.setattr(sys, name, terminal)
        monkeypatch.setattr(registry, "attribute", lambda path: Typed(*texts) if path.endswith(":Prompt") else real(path))
        assert run(file, debug=debug) == 0
        return terminal.getvalue()

    return talk


def test_nothing_ends_a_session(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401 - see session
    """Errors, Ctrl-C at the prompt and in a question, and bugs cost one statement each (CLI-07, CLI-08)."""
    planned = command.Shell.ask

    def ask(self: Any, piece: Any, *, tail: bool) -> None:  # noqa: ANN401 - as the real one
        if "stop" in piece.text:
            raise KeyboardInterrupt
        if "bug" in piece.text:
            raise ZeroDivisionError("a bug")
        planned(self, piece, tail=tail)

    monkeypatch.setattr(command.Shell, "ask", ask)

    shown = session("SELECT nope;", KeyboardInterrupt(), "SELECT 'stop';", "SELECT 'bug';", "SELECT 41 + 1 AS answer;", debug=True)

    assert "no column named nope" in shown
    assert "interrupted" in shown
    assert "internal error: ZeroDivisionError: a bug" in shown
    assert "Traceback" in shown
    assert "    42" in shown


def test_a_session_says_what_was_loaded(desk: Desk, session: Any) -> None:  # noqa: ANN401 - see session
    r"""The greeting names the file's tables; \q leaves (CLI-07)."""
    shown = session("\\q", "SELECT 1;", file=desk.file())

    assert "1 table, 2 views, 2 COPYs (not run here)" in shown
    assert "(1 row)" not in shown


def test_a_closed_pipe_ends_a_session(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401 - see session
    """Nobody reads any more: the session is over (CL-02)."""

    def ask(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(command.Shell, "ask", ask)

    with pytest.raises(BrokenPipeError):
        session("SELECT 1;")

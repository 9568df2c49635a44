"""Arguments, exit codes, and that nothing shows a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from thalweg import __version__, registry
from thalweg.cli import main as cli
from thalweg.errors import PipelineError, UserError
from thalweg.testing.registry import TestRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = {
    "stream": "thalweg.cli.stream:stream",
    "check": "thalweg.cli.check:check",
    "repl": "thalweg.cli.repl.command:repl",
    "describe-schema": "thalweg.cli.describe:describe_schema",
}


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[str, tuple[object, ...], dict[str, object]]]]:
    """Replaces what a command loads; gives the calls that were made. An exception in place of a code is raised."""
    calls: list[tuple[str, tuple[object, ...], dict[str, object]]] = []
    real = registry.attribute

    def replace(answer: int | BaseException = 0) -> list[tuple[str, tuple[object, ...], dict[str, object]]]:
        def attribute(path: str) -> object:
            if path not in COMMANDS.values():
                return real(path)

            def command(*args: object, **kwargs: object) -> int:
                calls.append((path, args, kwargs))
                if isinstance(answer, BaseException):
                    raise answer
                return answer

            return command

        monkeypatch.setattr(registry, "attribute", attribute)
        return calls

    return replace


def test_help_imports_nothing_heavy() -> None:
    """Listing the commands imports no engine, no Arrow, no client and no terminal library (CLI-01)."""
    code = (
        "import sys; from thalweg.cli.main import main; main(['--help']);"
        "bad = {'pyarrow', 'datafusion', 'confluent_kafka', 'rich', 'prompt_toolkit', 'sqlglot', 'numpy', 'httpx'} & set(sys.modules);"
        "sys.exit(3 if bad else 0)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert all(name in done.stdout for name in COMMANDS)


def test_stream_takes_its_options(called: Callable[..., list[tuple[str, tuple[object, ...], dict[str, object]]]]) -> None:
    """``twg stream`` hands file, settings and switches on, and gives back its code (CLI-02)."""
    calls = called(0)

    code = cli.main(["stream", "p.sql", "--set", "a.b=1", "--set", "c=x=y", "--rewrite", "--yes", "--debug"])

    assert code == 0
    assert calls == [(COMMANDS["stream"], ("p.sql",), {"settings": {"a.b": "1", "c": "x=y"}, "rewrite": True, "yes": True, "debug": True})]


def test_check_repl_and_describe_schema_take_theirs(called: Callable[..., list[tuple[str, tuple[object, ...], dict[str, object]]]]) -> None:
    """The other commands get what was written (CLI-06, CLI-07)."""
    calls = called(1)

    codes = [
        cli.main(["check", "p.sql", "--connect", "--format", "json"]),
        cli.main(["repl", "-c", "SELECT 1", "-c", "\\dt", "--format", "csv"]),
        cli.main(["describe-schema", "a.avsc", "--message", "shop.Order"]),
    ]

    assert codes == [1, 1, 1]
    assert calls[0][2] == {"format": "json", "connect": True, "settings": {}}
    assert calls[1][1:] == ((None,), {"commands": ["SELECT 1", "\\dt"], "format": "csv", "settings": {}, "debug": False})
    assert calls[2][2] == {"registry": None, "message": "shop.Order", "given": [], "format": "text"}


def test_a_registry_that_is_down_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is wrong with the file, and the error says which option names whom; a question that does not need the table is answered (CL-01, REG-04)."""
    monkeypatch.chdir(tmp_path)
    with TestRegistry() as gone:
        url = gone.url
    Path("p.sql").write_text(
        "CREATE EXTERNAL TABLE o STORED AS MEMORY LOCATION 'memory://o'\n"
        f"OPTIONS ('format' 'avro-confluent', 'avro-confluent.url' '{url}', 'avro-confluent.subject' 'o');\nCOPY o TO './out/' STORED AS PARQUET;\n",
        encoding="utf-8",
    )

    for command in (["stream"], ["check", "--connect"], ["repl", "-c", "SELECT * FROM o;"]):
        assert cli.main([command[0], "p.sql", *command[1:]]) == 1
        assert "p.sql:2:58: " in (err := capsys.readouterr().err)
        assert f"the schema registry gives no answer: ConnectError: [Errno 111] Connection refused ({url})" in err
    assert cli.main(["check", "p.sql"]) == 0
    assert cli.main(["repl", "p.sql", "-c", "SELECT 41 + 1 AS answer;"]) == 0


@pytest.mark.parametrize(
    ("error", "code"), [(UserError("bad file", hint="fix it"), 2), (PipelineError("gone"), 1), (KeyboardInterrupt(), 130), (BrokenPipeError(), 141)]
)
def test_errors_have_codes(
    called: Callable[..., object], error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bad file is 2, a failed pipeline 1, an interrupt 130, a closed pipe 141, never with a traceback (CLI-08, CL-01, CL-02)."""
    called(error)

    assert cli.main(["check", "p.sql"]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_the_unexpected_is_one_line(called: Callable[..., object], capsys: pytest.CaptureFixture[str]) -> None:
    """A bug is an internal error on one line and exits with 1; --debug shows where (CLI-08)."""
    called(ZeroDivisionError("a\nb"))

    assert cli.main(["check", "p.sql"]) == 1
    assert capsys.readouterr().err == "internal error: ZeroDivisionError: a b (run again with --debug)\n"

    assert cli.main(["--debug", "check", "p.sql"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_user_errors_show_hint_and_debug_shows_more(called: Callable[..., object], capsys: pytest.CaptureFixture[str]) -> None:
    """The message and its hint are shown; a traceback only when asked for."""
    called(UserError("bad file", hint="fix it"))

    cli.main(["check", "p.sql"])
    assert capsys.readouterr().err == "error: bad file\n    hint: fix it\n"

    cli.main(["check", "p.sql", "--debug"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["nonsense"], ["stream"], ["stream", "p.sql", "--set", "novalue"], ["check", "p.sql", "--format", "xml"], []])
def test_bad_arguments_are_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown commands, missing files and values that do not fit are 2 and say so on standard error (CLI-08)."""
    assert cli.main(argv) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert "usage: twg" in said.err


def test_versions(capsys: pytest.CaptureFixture[str]) -> None:
    """``twg version`` and ``--version`` say the same (CLI-01)."""
    assert (cli.main(["version"]), cli.main(["--version"])) == (0, 0)
    assert capsys.readouterr().out == f"twg {__version__}\n" * 2


def test_a_closed_pipe_is_silent() -> None:
    """Output that nobody reads ends with 141 and no word on standard error (CL-02)."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([sys.executable, "-m", "thalweg", "version"], stdout=write, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(write)

    assert (done.returncode, done.stderr) == (141, b"")


def test_ascii_terminals_get_escapes() -> None:
    """An encoding that lacks a character shows its escape instead of failing (CL-02)."""
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}

    done = subprocess.run([sys.executable, "-m", "thalweg", "check", "ä.sql"], capture_output=True, env=env, check=False)

    assert done.returncode == 2
    assert b"\\xe4.sql" in done.stderr


def test_run_exits_with_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The console script's entry point turns the code into the process's."""
    monkeypatch.setattr(sys, "argv", ["twg", "version"])

    with pytest.raises(SystemExit) as left:
        cli.run()

    assert left.value.code == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output_is_one_line(unbuffered: str) -> None:
    """It is no internal error, and the interpreter does not complain once more at its end (CL-02)."""
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-m", "thalweg", "version"], stdout=full, stderr=subprocess.PIPE, check=False, env=env)

    assert (done.returncode, done.stderr) == (1, b"error: cannot write to standard output: No space left on device\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_came_closed_lead_nowhere(closed: str) -> None:
    """As with ``/dev/null``: a daemon's closed descriptors are no error and no file ends up in their place (CL-02)."""
    done = subprocess.run(["/bin/sh", "-c", f"exec {sys.executable} -m thalweg version {closed}"], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")

"""When an Avro program gets code of its own."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from thalweg.codecs.avro import straight as policy
from thalweg.codecs.avro.kernel_decoder import AvroProgram, compile_decoder
from thalweg.kernels import straight
from thalweg.native.compiling import Compiling

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.array([b"\2", b"\4"] * 50, pa.binary())


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After two hundred rows, and with an empty cache; the machine is there already."""
    compile_decoder("long").decode(ROWS)
    monkeypatch.setattr(policy, "WORTH", 200)
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))


def has_code(program: AvroProgram) -> bool:
    """Whether it is used for the next batch."""
    return bool(program.written.words(64, [ROWS.to_numpy(zero_copy_only=False)] * 7).size)


def wait() -> None:
    """Until nobody compiles any more."""
    for thread in threading.enumerate():
        if thread.name == "thalweg-avro":
            thread.join(60)


def test_after_many_rows() -> None:
    """Not before; the next program of the same schema has it at once, and everything is decoded as before."""
    program = compile_decoder("long")
    first = program.decode(ROWS).batch
    before = has_code(program)
    program.decode(ROWS)
    wait()

    assert (before, has_code(program), has_code(compile_decoder("long"))) == (False, True, True)
    assert program.decode(ROWS).batch.equals(first)
    assert first.column(0).to_pylist() == [1, 2] * 50


@pytest.mark.parametrize(("end", "why"), [("sys.exit('no memory')", "no memory"), ("0", "the cache lost it")])
def test_a_compiler_that_fails_is_asked_once(monkeypatch: pytest.MonkeyPatch, end: str, why: str) -> None:
    """It is said, and the machine goes on."""
    said, asked = list[str](), list[object]()
    monkeypatch.setattr(straight, "command", lambda program: asked.append(program) or [sys.executable, "-c", f"import sys; {end}"])
    monkeypatch.setattr(policy._LOG, "info", lambda text, *values: said.append(text % values))
    program = compile_decoder("long")
    for _ in range(5):
        program.decode(ROWS)
        wait()

    assert said == [f"an Avro schema has no code of its own, and is decoded by the common machine: {why}"]
    assert len(asked) == 1
    assert not has_code(program)


def test_several_decoders_of_one_schema_need_one_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that ask later find in the cache what the first one waited for."""
    begun, begin = list[Compiling](), Compiling.begin

    def count(told: list[str], folder: Path) -> Compiling | None:
        child = begin(told, folder)
        begun.extend([] if child is None else [child])
        return child

    monkeypatch.setattr(Compiling, "begin", count)
    programs = [compile_decoder("long") for _ in range(3)]
    for program in programs * 2:
        program.decode(ROWS)
    wait()

    assert [has_code(program) for program in programs] == [True] * 3
    assert len(begun) == 1


def test_no_thread_to_wait_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that were decoded are not lost for that, and nobody asks again."""
    said, asked = list[str](), list[object]()

    def refuse(thread: threading.Thread) -> None:
        asked.append(thread)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(policy._LOG, "info", lambda text, *values: said.append(text % values))
    program = compile_decoder("long")
    found = [program.decode(ROWS).batch.num_rows for _ in range(4)]

    assert found == [100] * 4
    assert len(asked) == 1
    assert said == ["an Avro schema has no code of its own, and is decoded by the common machine: can't start new thread"]


def test_a_cache_that_takes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There is no code, and the run goes on."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "file"))
    said = list[str]()
    monkeypatch.setattr(policy._LOG, "info", lambda text, *values: said.append(text % values))
    program = compile_decoder("long")
    for _ in range(3):
        assert program.decode(ROWS).batch.num_rows == 100
    wait()

    assert "Not a directory" in said[0]


def test_a_run_that_ends_waits_for_nobody(tmp_path: Path) -> None:
    """The process is over while its child compiles, which goes on for the next run."""
    begun, go_on = tmp_path / "begun", tmp_path / "go_on"
    source = f"""
import pathlib, sys, time
from thalweg.codecs.avro import straight as policy
from thalweg.codecs.avro.kernel_decoder import compile_decoder
from thalweg.kernels import straight
begun, go_on, policy.WORTH, command = pathlib.Path({str(begun)!r}), pathlib.Path({str(go_on)!r}), 1, straight.command
wait = "import pathlib, runpy, sys, time; pathlib.Path(sys.argv[1]).touch()\\nend = time.monotonic() + 60\\nwhile not pathlib.Path(sys.argv[2]).exists() and time.monotonic() < end: time.sleep(0.01)\\nsys.argv[1:] = sys.argv[4:]; "
run = "runpy.run_module(" + repr(straight.WRITER) + ", run_name='__main__')"
straight.command = lambda program: [sys.executable, "-c", wait + run, str(begun), str(go_on), *command(program)[-2:]]
written = policy.Written(compile_decoder("long").steps)
written.words(64, ())
written.count(1)
while not begun.exists():
    time.sleep(0.01)
"""
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)
    program, deadline = compile_decoder("long").steps, time.monotonic() + 60
    before = straight.kept(program)
    go_on.touch()
    while straight.kept(program) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)

    assert before is None


def test_what_cannot_be_written_is_never_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema with a rare type."""
    monkeypatch.setattr(straight, "command", None)
    program = compile_decoder({"type": "fixed", "name": "F", "size": 1})
    for _ in range(5):
        assert program.decode(ROWS).batch.num_rows == 100
    wait()

    assert not has_code(program)

"""When an Avro program gets code of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from thalweg.codecs.avro import straight as policy
from thalweg.codecs.avro.kernel_decoder import AvroProgram, compile_decoder
from thalweg.kernels import straight

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.array([b"\2", b"\4"] * 50, pa.binary())


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After two hundred rows, and with an empty cache."""
    monkeypatch.setattr(policy, "WORTH", 200)
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    monkeypatch.setattr(straight, "_path", lambda program: tmp_path / f"{len(program)}.o")


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


def test_a_compiler_that_fails_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, and the machine goes on."""
    said, asked = list[str](), list[object]()

    def fail(program: object) -> None:
        asked.append(program)
        raise RuntimeError("no memory")

    monkeypatch.setattr(straight, "made", fail)
    monkeypatch.setattr(policy._LOG, "warning", lambda text, *values: said.append(text % values))
    program = compile_decoder("long")
    for _ in range(5):
        program.decode(ROWS)
        wait()

    assert said == ["an Avro schema has no code of its own, and is decoded by the common machine: no memory"]
    assert len(asked) == 1
    assert not has_code(program)


def test_what_cannot_be_written_is_never_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema with a rare type."""
    monkeypatch.setattr(straight, "made", None)
    program = compile_decoder({"type": "fixed", "name": "F", "size": 1})
    for _ in range(5):
        assert program.decode(ROWS).batch.num_rows == 100
    wait()

    assert not has_code(program)

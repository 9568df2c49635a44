"""The code that is written for an Avro program: its command, and its checks of every access."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from thalweg.codecs.avro.kernel_decoder import compile_decoder
from thalweg.kernels import avro_ops, avro_straight, llvm, straight

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.kernels.memory import Longs

SCHEMA: dict[str, Any] = {"type": "record", "name": "R", "fields": [
    {"name": "a", "type": "long"}, {"name": "b", "type": ["null", "string"]}, {"name": "c", "type": {"type": "map", "values": "boolean"}}, {"name": "d", "type": "float"},
]}  # fmt: skip
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in {"", "0"}
DATUM = b"\x80\1" + b"\2\x30" + b"twenty-four characters!!" + b"\2\2k\1\0" + b"\0\0\x80\x3f"


class Short(straight.Loaded):
    """Says that one array is shorter than it is."""

    array = avro_ops.A_SRC

    def words(self, room: int, arrays: Any) -> Longs:  # noqa: ANN401 - as in the class above
        """One word is wrong."""
        words = super().words(room, arrays)
        words[self.array + 1] = 1
        return words


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a child is told ends as code in the cache."""
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    program = compile_decoder(SCHEMA).steps

    avro_straight.main(straight.command(program)[-1:])

    assert straight.kept(program) == avro_straight.machine_code(program, checked=CHECKED)

    monkeypatch.setattr(avro_straight, "machine_code", None)
    avro_straight.main(straight.command(program)[-1:])  # is there already


@pytest.mark.parametrize("array", [avro_ops.A_OFFS, avro_ops.A_PROG, avro_ops.A_ARENA, avro_ops.A_ROWS])
def test_checked_code_sees_what_lies_outside(monkeypatch: pytest.MonkeyPatch, array: int) -> None:
    """An array that is shorter than the code believes ends the decoding with an error, and no access."""
    monkeypatch.setattr(Short, "array", array)
    program = compile_decoder(SCHEMA)
    program.written.use(Short(avro_straight.machine_code(program.steps, checked=True)))

    if array == avro_ops.A_OFFS:  # says how many rows there are
        assert program.decode(pa.array([DATUM] * 100, pa.binary())).batch.num_rows == 100
        return
    with pytest.raises(IndexError, match="out of bounds"):
        program.decode(pa.array([DATUM] * 100, pa.binary()))


@pytest.mark.parametrize("gathers", [True, False])
def test_any_processor(monkeypatch: pytest.MonkeyPatch, gathers: bool) -> None:  # noqa: FBT001 - as the function says it
    """With and without the instructions that this one may have."""
    has = llvm.gathers()
    monkeypatch.setattr(llvm, "gathers", lambda: gathers and has)
    program = compile_decoder(SCHEMA)
    program.written.use(straight.Loaded(avro_straight.machine_code(program.steps), pause=0))

    batch = program.decode(pa.array([DATUM] * 100, pa.binary())).batch

    assert batch.to_pylist() == [{"a": 64, "b": "twenty-four characters!!", "c": [("k", True)], "d": 1.0}] * 100

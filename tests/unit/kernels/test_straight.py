"""Code for one program: where it comes from, where it is kept, and when there is none."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest

from thalweg.codecs.avro.kernel_decoder import compile_decoder
from thalweg.kernels import avro_ops, straight
from thalweg.kernels.avro_straight import machine_code
from thalweg.kernels.objects import MachineCode

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.kernels.memory import Longs

COMMON = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": {"type": "array", "items": "string"}}]}


def steps(schema: object) -> Longs:
    """The program of a schema."""
    return compile_decoder(schema).steps  # type: ignore[arg-type]


@pytest.mark.parametrize("rare", [
    {"type": "fixed", "name": "F", "size": 3}, ["null", "int", "string"], {"type": "string", "logicalType": "uuid"}, {"type": "array", "items": "null"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9},
])  # fmt: skip
def test_rare_types_need_the_machine(rare: object) -> None:
    """One of them is enough, and so are very many fields."""
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": rare}]}

    assert straight.possible(steps(COMMON))
    assert not straight.possible(steps(schema))
    assert not straight.possible(np.tile(steps(COMMON), (200, 1)))


def test_code_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A child process writes it, and the next run finds it, unless it is of another program."""
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    program, other = steps(COMMON), steps("long")
    before = straight.kept(program)

    subprocess.run(straight.command(program), check=True)

    found = straight.kept(program)
    assert before is None
    assert found is not None
    assert found.entry == "straight"
    assert straight.kept(other) is None


def test_a_cache_that_takes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It has no code, and who puts some there is told."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "file"))

    assert straight.kept(steps("long")) is None
    with pytest.raises(NotADirectoryError):
        straight.keep(steps("long"), MachineCode("entry", b""))


def test_words_tell_where_arrays_lie() -> None:
    """Addresses and lengths in the order of the constants."""
    arrays = [np.zeros(n, np.uint8) for n in range(1, 8)]

    words = straight.Loaded(machine_code(steps("long")), pause=5).words(64, arrays)

    assert words[avro_ops.A_SELF] == words.ctypes.data
    assert (words[avro_ops.A_ROOM], words[avro_ops.A_PAUSE], words[avro_ops.A_OUTSIDE]) == (64, 5, 0)
    assert words[avro_ops.A_SRC :: 2].tolist() == [a.ctypes.data for a in arrays]
    assert words[avro_ops.A_SRC + 1 :: 2].tolist() == [len(a) for a in arrays]

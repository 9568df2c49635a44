"""The compiled decoder of each format that has one, against the suite of ``thalweg.testing.codecs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.test_codecs import BENCHES, FORMATS
from thalweg import registry
from thalweg.kernels.arena import Arena
from thalweg.plan import formats
from thalweg.testing.codecs import CodecBench, CodecSuite, decode

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.kernels.memory import Longs
    from thalweg.ports.codec import Decoder


FAST = [f for f in FORMATS if formats.codec(f).fast]


class Compiled(CodecBench):
    """A bench whose decoder is the compiled one."""

    def decoder(self) -> Decoder:
        """What takes the reference decoder's place in a run."""
        assert self.plugin.fast is not None
        made: Decoder | None = registry.attribute(self.plugin.fast)(self.request, self.registry, super().decoder())
        assert made is not None
        return made


def compiled(name: str, folder: Path) -> CodecBench:
    """The bench of a format with its compiled decoder."""
    plain = BENCHES[name](folder)
    kind: type[CodecBench] = Compiled if type(plain) is CodecBench else type("CompiledInside", (type(plain), Compiled), {})
    return kind(**vars(plain))


class TestCompiled(CodecSuite):
    """The suite, over each of them."""

    @pytest.fixture(params=FAST)
    def bench(self, request: pytest.FixtureRequest, tmp_path: Path) -> CodecBench:
        """One format."""
        return compiled(request.param, tmp_path)


@pytest.mark.parametrize("name", FAST)
def test_without_memory_for_the_columns_the_exact_path_decodes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each column gets room for the longest payload: a few megabytes beside a thousand columns may be more than the system gives."""
    bench, plain = compiled(name, tmp_path), BENCHES[name](tmp_path)
    payloads = [*bench.encoded(), b"\xff"]
    decoder = bench.decoder()
    with monkeypatch.context() as patch:
        patch.setattr(Arena, "_lay_out", out_of_memory)
        found = decode(decoder, payloads)
    expected = plain.decode(payloads)

    assert found.batch.equals(expected.batch)
    assert found.rows.equals(expected.rows)
    assert found.bad == expected.bad
    assert sum(decoder.slow_rows.values()) >= len(payloads) - 1
    assert decode(decoder, payloads).batch.to_pylist() == expected.batch.to_pylist()


@pytest.mark.parametrize("name", FAST)
def test_one_long_payload_goes_the_exact_way_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for the longest payload in every column, the others are decoded by the kernel all the same."""
    bench, plain = compiled(name, tmp_path), BENCHES[name](tmp_path)
    good = bench.encoded()
    payloads = [*good, good[0] + bytes(200_000), *good]
    decoder = bench.decoder()
    lay_out = Arena._lay_out

    def little_memory(arena: Arena, slots: Longs, nbytes: Longs) -> None:
        if max(slots.max(), nbytes.max()) > 500_000:
            raise MemoryError("Unable to allocate 119. GiB")
        lay_out(arena, slots, nbytes)

    before = sum(decoder.slow_rows.values())
    with monkeypatch.context() as patch:
        patch.setattr(Arena, "_lay_out", little_memory)
        found = decode(decoder, payloads)
    slow = sum(decoder.slow_rows.values()) - before
    decode(decoder, [*good, *good])
    expected = plain.decode(payloads)

    assert found.batch.schema == expected.batch.schema
    assert found.batch.to_pylist() == expected.batch.to_pylist()  # symbols may lie in dictionaries of another order
    assert found.rows.equals(expected.rows)
    assert found.bad == expected.bad
    assert slow <= sum(decoder.slow_rows.values()) - before - slow + 1


def out_of_memory(*_arguments: object) -> None:
    """As NumPy says it."""
    raise MemoryError("Unable to allocate 119. GiB")

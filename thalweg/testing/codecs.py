"""Conformance of codecs: subclass the suite, give it the fixture ``bench``, and every law of ``ports/codec.py`` is tried."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg import registry
from thalweg.arrow.metadata import DEFAULT_PREFIX, HEADERS
from thalweg.model import options
from thalweg.ports.codec import DecodeRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from thalweg.arrow.batch import Decoded
    from thalweg.ports.codec import CodecPlugin, Decoder
    from thalweg.ports.schemas import SchemaRegistry

_MUTATIONS = 400


@dataclass
class CodecBench:
    """One table's payloads and what the suite needs to try its codec."""

    format: str
    declared: pa.Schema | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    registry: SchemaRegistry | None = None
    rows: Sequence[dict[str, Any]] = ()
    """Rows that the format can carry, as ``to_pylist`` gives them back."""
    topic: str | None = "t"
    is_key: bool = False

    @property
    def plugin(self) -> CodecPlugin:
        """The plug-in that claims the format."""
        found: CodecPlugin = next(p for p in (registry.load("codecs", n) for n in registry.names("codecs")) if self.format in p.formats)
        return found

    @property
    def request(self) -> DecodeRequest:
        """What the table says."""
        values, errors = options.read(self.plugin.options, self.options)
        assert not errors, errors
        return DecodeRequest(self.format, self.declared, values, self.topic, DEFAULT_PREFIX, self.is_key)

    @property
    def schema(self) -> pa.Schema | None:
        """What the codec says before anything is decoded."""
        return self.plugin.resolve(self.request, self.registry)

    def decoder(self) -> Decoder:
        """A new decoder."""
        return self.plugin.decoder(self.request, self.registry)

    def encoded(self) -> list[bytes]:
        """The rows as payloads."""
        assert self.plugin.encode_row is not None
        encode = self.plugin.encode_row(self.request, self.registry)
        return [encode(row) for row in self.rows]

    def decode(self, payloads: Sequence[bytes], headers: Sequence[Sequence[tuple[str, bytes | None]]] | None = None) -> Decoded:
        """Decode payloads with a new decoder; every batch is validated in full."""
        return decode(self.decoder(), payloads, headers)


def decode(decoder: Decoder, payloads: Sequence[bytes], headers: Sequence[Sequence[tuple[str, bytes | None]]] | None = None) -> Decoded:
    """Decode payloads, headers as pairs; the batch is validated in full."""
    sent = None
    if headers is not None:
        sent = pa.array([[{"key": k, "value": v} for k, v in pairs] for pairs in headers], HEADERS)
    out = decoder.decode(pa.array(payloads, pa.binary()), sent)
    out.batch.validate(full=True)
    assert out.batch.schema == decoder.schema
    assert len(out.rows) == out.batch.num_rows
    assert sorted([*out.rows.to_pylist(), *out.bad.rows]) == list(range(len(payloads)))
    return out


def mutated(payloads: Sequence[bytes], seed: int, count: int) -> Iterator[bytes]:
    """Payloads with bytes changed, cut, added or repeated; the same for the same seed."""
    dice = random.Random(seed)  # noqa: S311 - test data, not a secret
    for _ in range(count):
        data = bytearray(dice.choice(payloads))
        for _ in range(dice.randint(1, 4)):
            at = dice.randint(0, len(data))
            match dice.randint(0, 4):
                case 0:
                    data[at : at + 1] = bytes([dice.randint(0, 255)])
                case 1:
                    del data[at:]
                case 2:
                    data[at:at] = dice.randbytes(dice.randint(1, 12))
                case 3:
                    data[at : at + 1] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                case _:
                    data += data[at:]
        yield bytes(data)


class CodecSuite:
    """What every codec does, whatever its format."""

    def test_rows_come_back(self, bench: CodecBench) -> None:
        """What the encoder writes, the decoder reads (JSX-02, AVR-09)."""
        out = bench.decode(bench.encoded())

        assert out.bad.messages == []
        assert out.batch.to_pylist() == list(bench.rows)
        assert out.rows.to_pylist() == list(range(len(bench.rows)))

    def test_schema_is_known_before(self, bench: CodecBench) -> None:
        """The resolved schema is the schema of every batch (DEC-04)."""
        assert bench.schema == bench.decoder().schema == bench.decode(bench.encoded()).batch.schema

    def test_an_empty_batch(self, bench: CodecBench) -> None:
        """No payloads, no rows, the same schema."""
        assert bench.decode([]).batch.num_rows == 0

    def test_a_slice_decodes_like_a_copy(self, bench: CodecBench) -> None:
        """Offsets of a sliced array are respected."""
        payloads = pa.array([b"x", *bench.encoded()], pa.binary()).slice(1)

        assert bench.decoder().decode(payloads, None).batch.to_pylist() == list(bench.rows)

    def test_a_decoder_keeps_nothing(self, bench: CodecBench) -> None:
        """The same batch twice gives the same rows twice, also after bad payloads."""
        decoder = bench.decoder()
        first = decode(decoder, bench.encoded())
        decode(decoder, list(mutated(bench.encoded(), 7, 20)))

        assert decode(decoder, bench.encoded()).batch.equals(first.batch)

    def test_mutations_cost_one_row_each(self, bench: CodecBench) -> None:
        """A damaged payload is a row or a bad row with a code; its neighbours do not notice."""
        good = bench.encoded()
        damaged = list(mutated(good, 1, _MUTATIONS))
        payloads = [p for bad in damaged for p in (good[0], bad, good[-1])]
        out = bench.decode(payloads)

        assert all(code.startswith("decode.") for code in out.bad.codes)
        assert all(message and "\n" not in message for message in out.bad.messages)
        assert {row % 3 for row in out.bad.rows} <= {1}
        by_row = dict(zip(out.rows.to_pylist(), out.batch.to_pylist(), strict=True))
        assert [by_row[3 * i] for i in range(_MUTATIONS)] == [bench.rows[0]] * _MUTATIONS
        assert [by_row[3 * i + 2] for i in range(_MUTATIONS)] == [bench.rows[-1]] * _MUTATIONS

    def test_alone_and_together_are_the_same(self, bench: CodecBench) -> None:
        """What becomes of a payload does not depend on the batch that it came in."""
        damaged = list(mutated(bench.encoded(), 2, 40))
        together = bench.decode(damaged)
        alone = [bench.decode([payload]) for payload in damaged]

        assert [m for one in alone for m in one.bad.messages] == together.bad.messages
        assert repr([r for one in alone for r in one.batch.to_pylist()]) == repr(together.batch.to_pylist())

    def test_headers_of_others_do_not_matter(self, bench: CodecBench) -> None:
        """Headers that are not the format's own change nothing."""
        payloads = bench.encoded()
        headers = [[("trace", b"1"), ("trace", None)]] * len(payloads)

        assert bench.decode(payloads, headers).batch.to_pylist() == list(bench.rows)

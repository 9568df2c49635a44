"""The format of container files' records against the suite of codecs, by the exact and by the compiled decoder."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.conformance.test_codecs import ORDER, ROWS
from tests.oracle.containers import header, write
from thalweg import registry
from thalweg.arrow.metadata import HEADERS
from thalweg.ports.codec import Decoder
from thalweg.testing.codecs import CodecBench, CodecSuite

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.arrow.batch import Decoded


class TestContainers(CodecSuite):
    """The suite, over records whose schema lies in a file's header."""

    @pytest.fixture(params=["exact", "compiled"])
    def bench(self, request: pytest.FixtureRequest, tmp_path: Path) -> CodecBench:
        """Records as their source hands them over."""
        write(tmp_path / "f.avro", header(ORDER))
        known = registry.load("registries", "containers").make(str(tmp_path), {})
        kind = _InFile if request.param == "exact" else _Compiled
        return kind("avro-container", registry=known, rows=ROWS, topic=str(tmp_path))


class _InFile(CodecBench):
    """Plain data, each record with the header that the source adds."""

    def encoded(self) -> list[bytes]:
        """As plain data."""
        return CodecBench("avro", options={"avro.schema": json.dumps(ORDER)}, rows=self.rows).encoded()

    def decoder(self) -> Decoder:
        """With the header."""
        assert self.registry is not None
        return _Naming(self.inner(), b"\x01" + uuid.UUID(str(self.registry.latest("").id)).bytes)

    def inner(self) -> Decoder:
        """The exact decoder."""
        return super().decoder()


class _Compiled(_InFile):
    """The same, compiled."""

    def inner(self) -> Decoder:
        """The compiled decoder."""
        assert self.plugin.fast is not None
        made: Decoder | None = registry.attribute(self.plugin.fast)(self.request, self.registry, super().inner())
        assert made is not None
        return made


class _Naming(Decoder):
    """A decoder whose records all have the header ``__value_schema_id``."""

    def __init__(self, inner: Decoder, value: bytes) -> None:
        """``value`` of the header."""
        self._inner, self._header = inner, {"key": "__value_schema_id", "value": value}

    @property
    def schema(self) -> pa.Schema:
        """The inner one's."""
        return self._inner.schema

    def decode(self, payloads: pa.BinaryArray, headers: pa.ListArray | None) -> Decoded:
        """With one more header each."""
        given = [[]] * len(payloads) if headers is None else headers.to_pylist()
        return self._inner.decode(payloads, pa.array([[*(h or ()), self._header] for h in given], HEADERS))

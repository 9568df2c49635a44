"""The compiled JSON decoder behind the codec's port: which schemas it takes, and which the reference keeps."""

from __future__ import annotations

import pyarrow as pa
import pytest

from thalweg.codecs.json import fast
from thalweg.testing.codecs import CodecBench, decode


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int64(), 2),
        pa.map_(pa.string(), pa.list_(pa.list_(pa.int64(), 2))),
        pa.list_(pa.struct([("a", pa.int64()), ("a", pa.int64())])),
    ],
)  # fmt: skip
def test_types_that_only_the_reference_reads(kind: pa.DataType) -> None:
    """Lists of a fixed length, and structs with two fields of one name, have no compiled decoder: no error, the exact path stays (DEC-02)."""
    bench = CodecBench("json", pa.schema([("x", kind), ("n", pa.int64())]))
    reference = bench.decoder()

    assert fast.make(bench.request, None, reference) is None
    assert decode(reference, [b'{"x":null,"n":1}']).batch.to_pylist() == [{"x": None, "n": 1}]


@pytest.mark.parametrize("kind", [pa.large_list(pa.string_view()), pa.map_(pa.int64(), pa.large_string()), pa.struct([]), pa.null(), pa.binary(0)])
def test_unusual_types_that_the_kernel_reads(kind: pa.DataType) -> None:
    """They give what the reference gives."""
    bench = CodecBench("json", pa.schema([("x", kind)]))
    reference = bench.decoder()
    made = fast.make(bench.request, None, reference)
    assert made is not None
    sent = [b"{}", b'{"x":null}', b'{"x":["a",null]}', b'{"x":{"1":"b"}}', b'{"x":{}}', b'{"x":""}']
    found, expected = decode(made, sent), decode(reference, sent)

    assert found.batch == expected.batch
    assert found.rows == expected.rows
    assert found.bad.codes == expected.bad.codes

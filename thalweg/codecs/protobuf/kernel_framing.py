"""What the payloads of a batch begin with, all at once: which different prefixes there are, and which payload has which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow.kernel_rows import payload_views
from thalweg.codecs.protobuf.framing import PREFIX_BYTES

if TYPE_CHECKING:
    import numpy.typing as npt

WINDOW: Final = 16
"""Longest prefix that is told from others here; longer ones, which nobody writes, are the reference decoder's."""
_LAST: Final = 0x80
_FIRST_MESSAGE: Final = PREFIX_BYTES + 1


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The framing of a batch of payloads."""

    found: list[bytes]
    """Every different prefix; short ones are followed by zeros."""
    which: npt.NDArray[np.int64]
    """Its place in ``found`` for each payload, int64[n]; -1 where a payload has none, or a longer one."""


def prefixes_of(payloads: pa.BinaryArray) -> Prefixes:
    """The framing of each payload: a magic byte, an id of four bytes, then the path of message indexes."""
    src, offs, _ = payload_views(payloads)
    which = np.full(len(payloads), -1, np.int64)
    framed = np.flatnonzero(np.diff(offs) > PREFIX_BYTES)
    framed = framed[src[offs[framed]] == 0]
    is_first = src[offs[framed] + PREFIX_BYTES] == 0
    first = framed[is_first]
    ids, which[first] = _distinct(_ids(src, offs[first].astype(np.int64)))
    found = [b"\0" + int(schema_id).to_bytes(4, "big") + b"\0" for schema_id in ids]
    others = framed[~is_first]
    if len(others):
        more, places = _longer(src, offs[others].astype(np.int64), offs[others + 1].astype(np.int64))
        which[others] = np.where(places >= 0, places + len(found), -1)
        found += more
    return Prefixes(found, which)


def _ids(src: npt.NDArray[np.uint8], at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The ids behind the magic bytes at ``at``."""
    out = np.zeros(len(at), np.int64)
    for byte in range(1, PREFIX_BYTES):
        out = out << 8 | src[at + byte]
    return out


def _distinct(values: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The different values and each one's place; most batches have one."""
    if len(values) and (values == values[0]).all():
        return values[:1], np.zeros(len(values), np.int64)
    different, places = np.unique(values, return_inverse=True)
    return different, places.astype(np.int64)


def _longer(
    src: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> tuple[list[bytes], npt.NDArray[np.int64]]:
    """Prefixes with a path of several bytes: the different ones, and each payload's place among them, -1 for what is longer than the window."""
    columns = np.arange(WINDOW)
    inside = at[:, None] + columns < end[:, None]
    window = np.where(inside, src[np.where(inside, at[:, None] + columns, 0)], 0).astype(np.uint8)
    numbers = np.cumsum((window[:, PREFIX_BYTES:] < _LAST) & inside[:, PREFIX_BYTES:], axis=1)
    wanted = 1 + (window[:, PREFIX_BYTES].astype(np.int64) >> 1)
    is_whole = (numbers[:, -1] >= wanted) & (window[:, PREFIX_BYTES] < _LAST)
    size = _FIRST_MESSAGE + np.argmax(numbers >= wanted[:, None], axis=1)
    window[columns >= size[:, None]] = 0
    kept = np.ascontiguousarray(window[is_whole])
    encoded = pa.FixedSizeBinaryArray.from_buffers(pa.binary(WINDOW), len(kept), [None, pa.py_buffer(kept)]).dictionary_encode()
    places = np.full(len(at), -1, np.int64)
    places[is_whole] = encoded.indices.to_numpy()
    return encoded.dictionary.to_pylist(), places

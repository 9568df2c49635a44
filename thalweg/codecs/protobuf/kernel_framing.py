"""What the payloads of a batch begin with, all at once: which different prefixes there are, and which payload has which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow.kernel_rows import payload_views
from thalweg.arrow.rows import BadValue
from thalweg.codecs.protobuf.framing import PREFIX_BYTES, from_prefix

if TYPE_CHECKING:
    import numpy.typing as npt

WINDOW: Final = 16
"""Longest prefix that is told from others here; longer ones, which nobody writes, are the reference decoder's."""
_LAST: Final = 0x80
_USUAL: Final = 8
"""Different prefixes that are looked for one after the other, which is quicker than all at once."""
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
    at, end = offs[:-1].astype(np.int64), offs[1:].astype(np.int64)
    which = np.full(len(payloads), -1, np.int64)
    left = np.flatnonzero(end - at > PREFIX_BYTES)
    left = left[src[at[left]] == 0]
    found: list[bytes] = []
    while len(left) and len(found) < _USUAL:
        prefix = _first(src[at[left[0]] : min(end[left[0]], at[left[0]] + WINDOW)].tobytes())
        if prefix is None:
            break
        same = _begins(src, at[left], end[left], prefix)
        which[left[same]] = len(found)
        found.append(prefix)
        left = left[~same]
    if len(left):
        more, places = _others(src, at[left], end[left])
        which[left] = np.where(places >= 0, places + len(found), -1)
        found += more
    return Prefixes(found, which)


def beginning(payloads: pa.BinaryArray, rows: npt.NDArray[np.intp], prefix: bytes) -> npt.NDArray[np.bool_]:
    """Which of some payloads begin with a prefix: bool[len(rows)]."""
    src, offs, _ = payload_views(payloads)
    at, end = offs[rows].astype(np.int64), offs[rows + 1].astype(np.int64)
    same = end - at >= len(prefix)
    long = np.flatnonzero(same)
    for i, byte in enumerate(prefix):
        same[long] &= src[at[long] + i] == byte
    return np.asarray(same)


def _first(payload: bytes) -> bytes | None:
    """The prefix of a payload; None where it is broken or longer than the window."""
    try:
        return payload[: from_prefix(payload)[1]]
    except BadValue:
        return None


def _begins(src: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], end: npt.NDArray[np.int64], prefix: bytes) -> npt.NDArray[np.bool_]:
    """Which payloads begin with a prefix; all of them have more than ``PREFIX_BYTES`` bytes."""
    same = end - at >= len(prefix)
    last = len(src) - 1
    for i in range(1, len(prefix)):
        same &= src[np.minimum(at + i, last)] == prefix[i]
    return same


def _others(
    src: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> tuple[list[bytes], npt.NDArray[np.int64]]:
    """The different prefixes of any payloads, and each one's place among them, -1 for what is broken or longer than the window."""
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

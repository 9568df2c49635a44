"""Apicurio's envelopes: a number of 4 or 8 bytes behind magic byte 0, or in a header that says which number it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.arrow.fronts import front, without
from thalweg.arrow.rows import FRAMING
from thalweg.arrow.schema_header import header_rows
from thalweg.codecs.enveloped.decoder import Piece, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from thalweg.arrow.batch import BadRows

_NUMBERS: Final = {"contentid": "contentId", "globalid": "globalId"}
_MOST: Final = (1 << 32) - 1
_JSON: Final = b"JSON"


class ApicurioEnvelope:
    """Opens payloads of Apicurio's serialisers."""

    def __init__(self, number: str, width: int, *, is_key: bool, typed: bool = False) -> None:
        """``number`` is ``contentid`` or ``globalid``, ``width`` its bytes behind the magic byte; ``typed``: a header may name the message."""
        self._width = width
        self._number = _NUMBERS[number]
        self._other = next(n for n in _NUMBERS.values() if n != self._number)
        self._before = f"apicurio.{'key' if is_key else 'value'}."
        self._type = ("apicurio.protobuf.type.key" if is_key else "apicurio.protobuf.type") if typed else None

    def open(self, payloads: pa.BinaryArray, headers: pa.ListArray | None, bad: BadRows) -> Iterator[Piece]:
        """Payloads whose headers name a schema as they are, then those with a prefix."""
        seen = np.zeros(len(payloads), bool)
        for value, rows in header_rows(headers, self._before + "encoding"):
            if value.upper() == _JSON:
                seen[rows] = True
                self._refuse(rows, "Avro in its JSON encoding is not read, only the binary one", bad)
        keys = np.zeros((len(payloads), 5), np.uint8)
        headed = np.zeros(len(payloads), bool)
        for value, rows in header_rows(headers, self._before + self._number):
            left = rows[~seen[rows]]
            number = int.from_bytes(value, "big")
            if len(value) not in {4, 8} or number > _MOST:
                self._refuse(left, f"header '{self._before}{self._number}' is no number of 4 or 8 bytes below 2^32: 0x{value[:16].hex()}", bad)
            else:
                keys[left, 1:] = np.frombuffer(number.to_bytes(4, "big"), np.uint8)
                headed[left] = True
            seen[left] = True
        for _, rows in header_rows(headers, self._before + self._other):
            left = rows[~seen[rows]]
            seen[left] = True
            self._refuse(left, f"header '{self._before}{self._other}' names a {self._other}, but 'apicurio.id' is '{self._number}'", bad)
        own = np.flatnonzero(headed)
        if len(own):
            yield Piece(own, without(payloads, own, 0), self._with_types(keys_of(keys[own]), own, headers))
        yield from self._prefixed(payloads, np.flatnonzero(~seen), keys, bad)

    def _with_types(self, keys: pa.BinaryArray, rows: npt.NDArray[np.intp], headers: pa.ListArray | None) -> pa.BinaryArray:
        """Numbers and the types that headers name, in one value each."""
        found = header_rows(headers, self._type) if self._type is not None else []
        if not found or headers is None:
            return keys
        which = np.zeros(len(headers), np.int64)
        for place, (_, named) in enumerate(found, 1):
            which[named] = place
        types = pa.array([b"", *(value for value, _ in found)], pa.binary()).take(pa.array(which[rows]))
        return pc.binary_join_element_wise(keys, types, b"")

    def _prefixed(self, payloads: pa.BinaryArray, rows: npt.NDArray[np.intp], keys: npt.NDArray[np.uint8], bad: BadRows) -> Iterator[Piece]:
        """Payloads behind magic byte and number."""
        places, prefix = front(payloads), 1 + self._width
        long = rows[places.longer(prefix)[rows]]
        begin = places.bytes_at(long, 0, prefix)
        right = ~begin[:, : prefix - 4].any(axis=1)
        good = long[right]
        keys[good, 1:] = begin[right, prefix - 4 :]
        for row in np.setdiff1d(rows, good, assume_unique=True).tolist():
            bad.add(row, FRAMING, self._wrong(payloads[row].as_py()))
        if len(good):
            yield Piece(good, without(payloads, good, prefix), keys_of(keys[good]))

    def _wrong(self, payload: bytes) -> str:
        """What is wrong with a prefix."""
        headers = f"and there is no header '{self._before}{self._number}'"
        if not payload:
            return f"the payload is empty (0 bytes), {headers}"
        if payload[0] != 0:
            return f"expected magic byte 0 and a {self._number} of {self._width} bytes, found byte {payload[0]}, {headers}"
        if len(payload) <= self._width:
            return f"expected magic byte 0 and a {self._number} of {self._width} bytes, found {len(payload)} bytes, {headers}"
        return f"the {self._number} {int.from_bytes(payload[1 : 1 + self._width], 'big')} is not below 2^32: is 'apicurio.id-bytes' 4?"

    @staticmethod
    def _refuse(rows: npt.NDArray[np.intp], message: str, bad: BadRows) -> None:
        """The same fault in several rows."""
        for row in rows.tolist():
            bad.add(row, FRAMING, message)

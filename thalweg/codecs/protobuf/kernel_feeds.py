"""Arrow columns to what the encode kernel reads: values, offsets and valid bytes of every column in one block."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from google.protobuf import json_format, message_factory

from thalweg.kernels.protobuf_encode_ops import WRONG

if TYPE_CHECKING:
    import numpy.typing as npt

    from thalweg.codecs.protobuf.shapes import Shape

_LINE: Final = 64
_BEYOND: Final = 1 << 40
"""Stands for the number of a name that an enum does not have."""
VALID, DATA, OFFSETS = range(3)
"""Addresses of a feed: valid bytes, values in their own width, offsets."""
Array = Any


@dataclass(slots=True, eq=False)
class Feed:
    """One column as the kernel reads it."""

    number: int
    shape: Shape
    children: list[Feed] = field(default_factory=list)


class Block:
    """Collects the columns of one batch."""

    def __init__(self, feeds: int) -> None:
        """Room for the addresses of so many feeds."""
        self.addresses = np.zeros((feeds, 3), np.int64)
        self._pieces: list[tuple[int, npt.NDArray[np.uint8]]] = []
        self._size = 0
        self._ones: tuple[int, int] = (0, 0)

    def memory(self) -> npt.NDArray[np.uint8]:
        """All pieces in one array."""
        out = np.zeros(self._size + _LINE, np.uint8)
        for place, data in self._pieces:
            out[place : place + len(data)] = data
        return out

    def add(self, feed: Feed, array: Array) -> None:
        """Take the array of a feed, and those of its children."""
        shape, number = feed.shape, feed.number
        if shape.kind == "struct":
            self.addresses[number, VALID] = self._valid(array, None)
            for child in feed.children:
                self.add(child, array.field(array.type.get_field_index(child.shape.name)))
            return
        if shape.kind in {"list", "map"}:
            self.addresses[number, VALID] = self._valid(array, None)
            offsets = _offsets(array)
            self.addresses[number, OFFSETS] = self._put(offsets - offsets[0]) // 4
            inner = [array.values] if shape.kind == "list" else [array.keys, array.items]
            for child, values in zip(feed.children, inner, strict=True):
                self.add(child, values.slice(int(offsets[0]), int(offsets[-1]) - int(offsets[0])) if len(values) else values)
            return
        made, wrong = fitted(shape, array)
        self.addresses[number, VALID] = self._valid(made, wrong)
        self._values(number, made)

    def _values(self, number: int, array: Array) -> None:
        """The values of a column without parts."""
        if kinds.is_string(array.type) or kinds.is_binary(array.type):
            offsets = _offsets(array)
            data = np.frombuffer(array.buffers()[2], np.uint8) if len(array) and array.buffers()[2] is not None else np.zeros(0, np.uint8)
            self.addresses[number, OFFSETS] = self._put(offsets - offsets[0]) // 4
            self.addresses[number, DATA] = self._put(data[offsets[0] : offsets[-1]])
            return
        if kinds.is_boolean(array.type):
            self.addresses[number, DATA] = self._put(_bits(array, 1))
            return
        width = array.type.bit_width // 8
        data = np.frombuffer(array.buffers()[1], np.uint8) if len(array) else np.zeros(0, np.uint8)
        self.addresses[number, DATA] = self._put(data[array.offset * width :][: len(array) * width]) // width

    def _valid(self, array: Array, wrong: npt.NDArray[np.bool_] | None) -> int:
        """The valid bytes; columns without a NULL share theirs."""
        if array.null_count == 0 and wrong is None:
            place, size = self._ones
            if len(array) > size:
                place = self._put(np.ones(len(array), np.uint8))
                self._ones = (place, len(array))
            return place
        valid = _bits(array, 0) if array.null_count else np.ones(len(array), np.uint8)
        return self._put(valid if wrong is None else np.where(wrong, np.uint8(WRONG), valid))

    def _put(self, data: npt.NDArray[Any]) -> int:
        """A piece; its place in bytes."""
        place = self._size
        raw = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        self._pieces.append((place, raw))
        self._size = (place + len(raw) + 2 * _LINE - 1) // _LINE * _LINE
        return place


def fitted(shape: Shape, array: Array) -> tuple[Array, npt.NDArray[np.bool_] | None]:
    """The array as the kernel takes it, and which of its values have no place in their field (None: all have)."""
    if shape.kind in {"enum", "number"}:
        return _numbers(shape, array)
    if shape.kind == "json":
        return _messages(shape, array)
    if array.type == shape.type:
        return array, None
    try:
        return array.cast(shape.type), None
    except pa.ArrowInvalid:
        return _each(array.to_pylist(), shape.type)


def _each(values: list[Any], kind: pa.DataType) -> tuple[Array, npt.NDArray[np.bool_]]:
    """One value after another."""
    made, wrong = [], np.zeros(len(values), np.bool_)
    for i, value in enumerate(values):
        try:
            pa.scalar(value, kind)
            made.append(value)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
            made.append(None)
            wrong[i] = True
    return pa.array(made, kind), wrong


def _numbers(shape: Shape, array: Array) -> tuple[Array, None]:
    """Names to numbers, as int64; a name that the enum does not have is a number that no enum has."""
    if kinds.is_integer(array.type):
        return array.cast(pa.int64()), None
    enum = shape.part.enum
    assert enum is not None
    found = array if kinds.is_dictionary(array.type) else array.dictionary_encode()
    numbers = [None if n is None else enum.numbers.get(n, _number(n, closed=enum.closed)) for n in found.dictionary.to_pylist()]
    return pa.array(numbers, pa.int64()).take(found.indices.cast(pa.int64())), None


def _number(name: str, *, closed: bool) -> int:
    """The number that a name is, as the decoder writes one without a name."""
    digits = name.removeprefix("-")
    return int(name) if not closed and digits.isascii() and digits.isdigit() and len(digits) <= 10 else _BEYOND  # noqa: PLR2004 - of 32 bits


def _messages(shape: Shape, array: Array) -> tuple[Array, npt.NDArray[np.bool_] | None]:
    """JSON text to messages."""
    form = shape.part.form
    assert form is not None
    make = message_factory.GetMessageClass(form.message)
    made: list[bytes | None] = []
    wrong = np.zeros(len(array), np.bool_)
    for i, text in enumerate(array.to_pylist()):
        try:
            made.append(None if text is None else json_format.ParseDict(json.loads(text), make()).SerializeToString(deterministic=True))
        except (ValueError, RecursionError, json_format.ParseError):
            made.append(None)
            wrong[i] = True
    return pa.array(made, pa.binary()), wrong if wrong.any() else None


def _offsets(array: Array) -> npt.NDArray[np.int32]:
    """The offsets of the array's own slots."""
    if len(array) == 0:
        return np.zeros(1, np.int32)
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]


def _bits(array: Array, buffer: int) -> npt.NDArray[np.uint8]:
    """A bitmap as bytes of 0 and 1."""
    if len(array) == 0:
        return np.zeros(0, np.uint8)
    if array.buffers()[buffer] is None:
        return np.asarray(array.is_valid()).view(np.uint8)
    bits = np.unpackbits(np.frombuffer(array.buffers()[buffer], np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)]

"""What becomes of a kernel's columns when the batch is done: enum numbers to names, kept messages to JSON text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thalweg.codecs.protobuf.oracle import Parser
from thalweg.codecs.protobuf.text import one_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from thalweg.codecs.protobuf.forms import Enum, Part

_SPAN = 1 << 12
"""Numbers of an enum that a table is made for."""


def named(enum: Enum) -> Callable[[pa.Array], pa.Array]:
    """Numbers to a dictionary of names; a number that the enum does not have is its own name."""
    numbers = np.array(list(enum.names), np.int64)
    names = pa.array(list(enum.names.values()), pa.string())
    low, span = int(numbers.min()), int(numbers.max()) - int(numbers.min()) + 1
    is_plain = bool(np.array_equal(numbers, np.arange(len(numbers))))
    table = np.full(span, -1, np.int32) if span <= _SPAN else None
    if table is not None:
        table[numbers - low] = np.arange(len(numbers))
    order = np.argsort(numbers)

    def places(found: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The index of each number, -1 where the enum does not have it."""
        if table is not None:
            inside = (found >= low) & (found < low + span)
            out: npt.NDArray[np.int32] = np.where(inside, table[np.where(inside, found.astype(np.int64) - low, 0)], np.int32(-1))
            return out
        at = np.minimum(np.searchsorted(numbers[order], found), len(numbers) - 1)
        return np.where(numbers[order][at] == found, order[at], -1).astype(np.int32)

    def finish(array: pa.Array) -> pa.Array:
        validity, data = array.buffers()
        found = np.frombuffer(data, np.int32, len(array), 4 * array.offset) if len(array) else np.zeros(0, np.int32)
        if is_plain and (not len(found) or int(found.view(np.uint32).max()) < len(numbers)):
            return pa.DictionaryArray.from_arrays(array, names, safe=False)
        indices, words = places(found), names
        if (indices < 0).any():
            others, where = np.unique(found[indices < 0], return_inverse=True)
            indices[indices < 0] = len(numbers) + where
            words = pa.concat_arrays([names, pa.array([str(n) for n in others], pa.string())])
        at = pa.Array.from_buffers(pa.int32(), len(array), [_moved(validity, array), pa.py_buffer(indices)], array.null_count)
        return pa.DictionaryArray.from_arrays(at, words, safe=False)

    return finish


def as_text(part: Part, max_items: int, on_text: Callable[[str], None] | None) -> Callable[[pa.Array], pa.Array]:
    """Kept messages as JSON text."""
    form = part.form
    assert form is not None
    parser = Parser(form, max_items)

    def text(raw: bytes | None) -> str | None:
        if raw is None:
            return None
        if on_text is not None:
            on_text(form.name)
        return one_text(part, parser.parse(raw))

    return lambda array: pa.array([text(raw) for raw in array.to_pylist()], pa.string())


def _moved(validity: pa.Buffer | None, array: pa.Array) -> pa.Buffer | None:
    """The validity bits from the array's first value on."""
    if validity is None or not array.offset:
        return validity
    return array.is_valid().buffers()[1]

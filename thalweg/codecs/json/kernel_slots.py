"""Which buffers a kernel fills for a declared column, and what makes the column's own type of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.slots import Slots
from thalweg.codecs.json.values import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

_TEXTS: Final = (kinds.is_large_string, kinds.is_string_view)
_BINARIES: Final = (kinds.is_large_binary, kinds.is_binary_view)


def slots_of(data_type: pa.DataType) -> Slots:
    """The column of a type, each level with validity but a map's keys. Raises Unsupported."""
    if kinds.is_map(data_type):
        key = slots_of(data_type.key_type)
        key.valid = False
        return Slots(data_type, children=(key, slots_of(data_type.item_type)))
    if kinds.is_struct(data_type):
        return Slots(data_type, children=tuple(slots_of(data_type.field(i).type) for i in range(data_type.num_fields)))
    if kinds.is_list(data_type):
        return Slots(data_type, children=(slots_of(data_type.value_type),))
    if kinds.is_large_list(data_type):
        return Slots(pa.list_(data_type.value_field), children=(slots_of(data_type.value_type),), finish=_large(data_type))
    if kinds.is_fixed_size_list(data_type):
        raise Unsupported(f"{data_type} by a kernel, which counts items")
    return _leaf(data_type)


def _leaf(data_type: pa.DataType) -> Slots:
    """The column of a type without parts."""
    for short, others in ((pa.string(), _TEXTS), (pa.binary(), _BINARIES)):
        if any(matches(data_type) for matches in others):
            return Slots(short, finish=_cast(data_type))
    return Slots(data_type)


def _cast(data_type: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """The same values with other offsets."""
    return lambda array: array.cast(data_type)


def _large(data_type: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """The same lists with long offsets; a cast would go through all that lies in them."""

    def finish(array: pa.ListArray) -> pa.Array:
        valid, offsets = array.buffers()[:2]
        wide = np.frombuffer(offsets, np.int32, len(array) + 1).astype(np.int64)
        return pa.Array.from_buffers(data_type, len(array), [valid, pa.py_buffer(wide)], array.null_count, 0, [array.values])

    return finish

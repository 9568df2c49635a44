"""Which buffers a kernel fills for a declared column, and what makes the column's own type of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.builders import Slots

if TYPE_CHECKING:
    from collections.abc import Callable

_TEXTS: Final = (kinds.is_large_string, kinds.is_string_view)
_BINARIES: Final = (kinds.is_large_binary, kinds.is_binary_view)


def slots_of(data_type: pa.DataType) -> Slots:
    """The column of a type, each level with validity but a map's keys."""
    if kinds.is_map(data_type):
        key = slots_of(data_type.key_type)
        key.valid = False
        return Slots(data_type, children=(key, slots_of(data_type.item_type)))
    if kinds.is_struct(data_type):
        return Slots(data_type, children=tuple(slots_of(data_type.field(i).type) for i in range(data_type.num_fields)))
    if kinds.is_list(data_type) or kinds.is_large_list(data_type) or kinds.is_fixed_size_list(data_type):
        children = (slots_of(data_type.value_type),)
        if kinds.is_list(data_type):
            return Slots(data_type, children=children)
        finish = _fixed_size(data_type) if kinds.is_fixed_size_list(data_type) else _cast(data_type)
        return Slots(pa.list_(data_type.value_field), children=children, finish=finish)
    if any(matches(data_type) for matches in _TEXTS):
        return Slots(pa.string(), finish=_cast(data_type))
    if any(matches(data_type) for matches in _BINARIES):
        return Slots(pa.binary(), finish=_cast(data_type))
    return Slots(data_type)


def _cast(data_type: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """The same values with other offsets."""
    return lambda array: array.cast(data_type)


def _fixed_size(data_type: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Lists of one length; a NULL gets items that are NULL."""
    size = data_type.list_size

    def finish(array: pa.ListArray) -> pa.Array:
        starts = np.asarray(array.offsets)[:-1].astype(np.int64)
        missing = array.is_null()
        places = (starts[:, None] + np.arange(size)).ravel()
        items = array.values.take(pa.array(places, pa.int64(), mask=np.repeat(np.asarray(missing), size)))
        return pa.FixedSizeListArray.from_arrays(items, type=data_type, mask=missing)

    return finish

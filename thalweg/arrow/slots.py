"""Columns as a decode kernel fills them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.kernels import program as p

if TYPE_CHECKING:
    from collections.abc import Callable

_KINDS: Final = (
    (kinds.is_string, p.BYTES),
    (kinds.is_binary, p.BYTES),
    (kinds.is_list, p.LIST),
    (kinds.is_map, p.LIST),
    (kinds.is_struct, p.STRUCT),
    (kinds.is_union, p.UNION),
    (kinds.is_null, p.NOTHING),
)
"""Kinds without a width of their own; every other type is FIXED."""


@dataclass(slots=True, eq=False)
class Slots:
    """One column as a kernel fills it, and what becomes of it afterwards."""

    type: pa.DataType
    """What the buffers hold."""
    valid: bool = True
    """Whether it has validity bytes of its own; without them a slot is NULL where its parent is."""
    children: tuple[Slots, ...] = ()
    """Of a struct its fields, of a list its items, of a map keys and values, of a dense union its branches."""
    symbols: pa.Array | None = None
    """Values of a dictionary."""
    constant: pa.Array | None = None
    """One value, the same in every slot; the kernel knows nothing of it."""
    finish: Callable[[pa.Array], pa.Array] | None = None
    """Makes the final array of the one that the buffers hold."""
    pick: int = 0
    """The branch of a union that stands for NULL."""
    number: int = -1
    """Row in the table; -1 for a constant."""
    hidden: bool = False
    """Only the kernel needs it: no array is made of it."""
    which: tuple[Slots, int] | None = None
    """Instead of validity bytes: the column that says which of several columns holds the slot's value, and what it says for this one."""
    unset: pa.Scalar | None = None
    """What a NULL becomes where its parent is there, before ``finish``."""
    width: int = 0
    """Bytes a slot, of a column of one width; known with the number, as is its kind."""
    kind: int = -1
    """Kind in the table."""

    @property
    def is_final(self) -> bool:
        """Whether the array of its buffers is what is handed out."""
        return self.finish is None and self.unset is None and self.symbols is None


def slots_of(data_type: pa.DataType) -> Slots:
    """The column of a type, each level with validity; dictionaries need their symbols set."""
    if kinds.is_map(data_type):
        return Slots(data_type, children=(Slots(data_type.key_type, valid=False), slots_of(data_type.item_type)))
    if kinds.is_list(data_type):
        return Slots(data_type, children=(slots_of(data_type.value_type),))
    if kinds.is_struct(data_type) or kinds.is_union(data_type):
        children = tuple(slots_of(data_type.field(i).type) for i in range(data_type.num_fields))
        return Slots(data_type, valid=not kinds.is_union(data_type), children=children)
    return Slots(data_type)


def kind_of(data_type: pa.DataType) -> tuple[int, int]:
    """Kind and width in the table of columns."""
    for test, kind in _KINDS:
        if test(data_type):
            return kind, 0
    if kinds.is_dictionary(data_type):
        return p.FIXED, data_type.index_type.bit_width // 8
    if kinds.is_fixed_size_binary(data_type):
        return p.FIXED, data_type.byte_width
    return p.FIXED, max(data_type.bit_width // 8, 1)

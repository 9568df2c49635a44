"""What kernels and the compilers of their programs agree on: codes, the table of columns, the rows of a program.

Everything is int64 in flat arrays, so that a kernel takes arrays and nothing else. ``docs/decisions/kernels.md`` tells how
the parts work together.
"""

from __future__ import annotations

from typing import Final

# -- codes: one a row (int8)

OK: Final = 0
NULL_ROW: Final = 1
"""There is no payload."""
MALFORMED: Final = 2
"""The bytes end early, or a length, a count or a number cannot be."""
TRAILING: Final = 3
"""Bytes are left after the datum."""
LIMIT: Final = 4
"""More than a limit allows: items of no bytes, recursion."""
TYPE: Final = 5
"""The value has no place in the reader's type."""
BRANCH: Final = 6
"""A union branch that the schema does not have."""
SYMBOL: Final = 7
"""An enum number that the schema does not have."""
UTF8: Final = 8
"""Text that is not UTF-8."""
RANGE: Final = 9
"""A number outside the range of its type."""
TEXT: Final = 10
"""Text that does not read as what it should be (a UUID, a timestamp)."""
DEPTH: Final = 11
"""Nested deeper than is read."""
SLOW: Final = 12
"""Nothing is wrong: the kernel leaves this row to the reference decoder."""
FIRST_FREE_CODE: Final = 32
"""Codes from here on belong to one format."""

# -- the table of columns: FIELDS words a column, in pre-order; column 0 is the struct of the whole row

FIELDS: Final = 16
(C_KIND, C_WIDTH, C_PARENT, C_END, C_VALID, C_DATA, C_OFFS, C_CAP, C_BCAP, C_COUNT, C_PICK, C_TAG, C_SHARED) = range(13)
"""Kind; bytes a slot; parent column; first column after its subtree; byte index of the validity bytes, -1 for none; index of
the values in their unit; index of the offsets (int32); slots and bytes that there is room for; counter of its slots, -1
where they follow from the parent; a union's column that stands for NULL; a union child's type code; 1 where it has the
row's slots."""

NOTHING: Final = 0
"""No memory: a column of NULLs."""
FIXED: Final = 1
"""``C_WIDTH`` bytes a slot. Unit of ``C_DATA``: int32 for 4, int64 for multiples of 8, bytes for the rest."""
BYTES: Final = 2
"""Offsets and bytes (``C_DATA`` is a byte index)."""
LIST: Final = 3
"""Offsets; the children have one slot an item. A map is a list with two children."""
STRUCT: Final = 4
"""Validity at most; the children have the slots of the struct."""
UNION: Final = 5
"""Type codes (one byte, ``C_DATA``) and offsets into the children, which count their slots (``C_COUNT``)."""

# -- the rows of a program: WORDS words a row, one cache line

WORDS: Final = 8
(P_OP, P_MASK, P_VALID, P_DATA, P_OFFS, P_ARG, P_JUMP, P_COLUMN) = range(8)
"""Op code (each format its own); -1 to write, 0 to read and drop (every slot becomes 0, where scratch lies); the addresses
of its column, filled in when the arena is laid out; argument; where to go on; column, -1 for none."""

SCRATCH: Final = 128
"""The first bytes of an arena are scratch: dropped values go there."""
ROOM: Final = 64
"""Slots and bytes that a row may take beyond the length of its payload."""
MOST_SLOTS: Final = (1 << 31) - 1
"""Slots and bytes a column can have: Arrow's offsets are int32."""

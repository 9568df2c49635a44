"""Op codes of Protobuf programs, how fields mark presence, and the words of a row."""

from __future__ import annotations

from typing import Final

(R_OP, R_MODE, R_PRES, R_DATA, R_OFFS, R_ARG, R_NEXT, R_EXTRA) = range(8)
"""Op; how presence is marked; where: valid bytes, the byte that says which of a oneof, or the offsets of the list; values; offsets
of text; of an item the counter of its list's items, of a oneof the member; table of the message, counter of the text's bytes, ticks of a
second, side table of a closed enum or op of packed values; tag of the next item, number of the group, row of the map's key, or nanoseconds of a tick."""

# -- ops of one varint

SKIP: Final = 0
"""An unknown field, or one that nobody wants and that cannot be wrong: passed over by its wire type."""
I64: Final = 1
I32: Final = 2
BOOL: Final = 3
S32: Final = 4
S64: Final = 5
CLOSED: Final = 6
"""A closed enum; numbers that it does not have make the row SLOW."""
LAST_VARINT: Final = CLOSED

# -- common ops

X64: Final = 7
"""Eight bytes."""
X32: Final = 8
TEXT: Final = 9
BYTES: Final = 10
MESSAGE: Final = 11
MAP: Final = 12
GROUP: Final = 13
TIMESTAMP: Final = 14
DURATION: Final = 15

# -- rarer ones

PACKED: Final = 16
"""Varints; ``R_NEXT`` is the op of one, ``R_EXTRA`` its side table."""
PACKED64: Final = 17
PACKED32: Final = 18
LEAVE: Final = 19
"""The row is SLOW."""
RAW: Final = 20
"""A message that is checked with the table ``R_EXTRA``, and kept as bytes."""
CHECK: Final = 21
"""A message that is only checked. Of this op and those below, ``R_DATA`` is 1 for an item of a list."""
CHECK_GROUP: Final = 22
CHECK_TEXT: Final = 23
CHECK_TIME: Final = 24
CHECK_PACKED: Final = 25
CHECK_PACKED64: Final = 26
CHECK_PACKED32: Final = 27

# -- presence

PLAIN: Final = 0
"""Unset and default are the same, or somebody else knows."""
PRESENT: Final = 1
"""A valid byte."""
ONCE: Final = 2
"""A valid byte; what is set already is to be merged, which makes the row SLOW."""
ONEOF: Final = 3
"""A byte that says which; no member is a message."""
ONEOF_ONCE: Final = 4
"""A byte that says which; any change of it makes the row SLOW."""
ITEM: Final = 5
"""One more item of a list."""

# -- tables: one a message; the words before the first entry, counted backwards

T_SIZE: Final = 1
"""Entries: program rows by tag."""
T_MORE: Final = 2
"""How many tags lie beyond; they are pairs in the side table, sorted."""
T_FIRST: Final = 3
"""Where in the side table."""
T_REQUIRED: Final = 4
"""Where in the side table the number and the program rows of required fields are; 0 for none."""
T_HEAD: Final = 4
DENSE: Final = 2_048
"""Tags below this are looked up directly."""

FRAME: Final = 4
(F_END, F_TABLE, F_SLOT, F_ROW) = range(FRAME)
"""What a message keeps on the stack of the one around it: end, table, slot; and the program row of its field."""
MAX_LEVELS: Final = 100

(S_ROW, S_OUT, S_ROOM, S_ITEMS, S_ROOT, S_FINER, S_LEVELS) = range(7)
"""State between calls: next row, good rows so far, what a row may take beyond its length, messages in repeated fields a row may have,
the root's table, times whose digits were cut off, how many counters are items (the others are bytes of text)."""
STATE: Final = 7
(B_WHERE, B_ROW, B_DETAIL) = range(3)
"""Of a bad row: byte position in the payload, program row, and the tag."""
FAULT: Final = 3

NANOS: Final = 1_000_000_000
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
MOST_SECONDS: Final = 315_576_000_000
"""What a timestamp and a duration may be, by their specification."""

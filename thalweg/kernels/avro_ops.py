"""Op codes of Avro programs, and what the arguments of each mean."""

from __future__ import annotations

from typing import Final

# -- ops that begin with a zigzag varint

LONG: Final = 0
"""int64."""
INT: Final = 1
"""int32."""
ENUM: Final = 2
"""``P_ARG`` symbols; the number is the index."""
NULLABLE: Final = 3
"""``[null, T]`` to a nullable column: ``P_ARG`` is the branch of null, ``P_JUMP`` where to go on after a NULL."""
TEXT: Final = 4
"""Length and UTF-8."""
BYTES: Final = 5
"""Length and bytes."""
LIST: Final = 6
"""First block of an array or a map: ``P_ARG`` is the fewest bytes of an item, ``P_JUMP`` the op after the end."""
BRANCHES: Final = 7
"""Union: ``aux[P_ARG]`` branches, ``aux[P_ARG + 1 + branch]`` where each goes on."""
ENUM_MAP: Final = 8
"""Enum resolved: ``aux[P_ARG]`` symbols, ``aux[P_ARG + 1 + symbol]`` the reader's index, -1 where it has none."""
LAST_VARINT: Final = ENUM_MAP

# -- the rest of the common ones

DOUBLE: Final = 9
FLOAT: Final = 10
BOOLEAN: Final = 11
LIST_END: Final = 12
"""``P_ARG`` as LIST, ``P_JUMP`` the first op of an item."""
MAP_END: Final = 13
"""As LIST_END; keys that repeat make the row SLOW."""
JUMP: Final = 14
VALID: Final = 15
"""The slot is not NULL."""
NULLS: Final = 16
"""NULL in ``P_COLUMN`` and everything below."""
ENTER: Final = 17
"""Child of a dense union: ``P_ARG`` is its type code, ``P_JUMP`` its counter."""
LEAVE: Final = 18
CALL: Final = 19
"""``P_JUMP`` is a program that ends with RETURN; recursion is bounded."""
RETURN: Final = 20
MARK: Final = 21
KEEP: Final = 22
"""The bytes since MARK to a column of bytes."""
FAIL: Final = 23
"""The row gets code ``P_ARG``."""
END: Final = 24

# -- values that are rarer

FIXED: Final = 25
"""``P_ARG`` bytes."""
DECIMAL: Final = 26
"""``aux[P_ARG]``: bytes (-1: a length is written); then words of the column; then 10 ** precision in as many words."""
UUID_TEXT: Final = 27
DURATION: Final = 28
TICKS: Final = 29
"""``aux[P_ARG]``: 1 where an int is written; factor; bound (0: none); 1 for a column of int64."""
INT_LONG: Final = 30
NUMBER_DOUBLE: Final = 31
"""``P_ARG`` is 1 where an int is written, 0 for a long."""
NUMBER_FLOAT: Final = 32
FLOAT_DOUBLE: Final = 33

FRAME: Final = 3
"""Words that a list, a union's child, a call or a mark keeps on the stack."""
MAX_EMPTY_ITEMS: Final = 1_000
"""Items of no bytes that the arrays of one datum may claim; nothing else bounds them."""
MAX_RECURSION: Final = 100
"""Levels of one record inside itself that are read where no column holds them."""

(S_ROW, S_OUT, S_ROOM) = range(3)
"""State between calls: next row, good rows so far, what a row may take beyond its length."""
(F_WHERE, F_OP, F_DETAIL) = range(3)
"""Of a bad row: byte position in the payload, program row, branch or symbol."""
FAULT: Final = 3
"""Words that describe a bad row."""

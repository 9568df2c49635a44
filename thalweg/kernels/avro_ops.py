"""Op codes of Avro programs, and what the arguments of each mean; places in a program are words, ``WORDS`` of them a row."""

from __future__ import annotations

from typing import Final

OPS: Final = 63
"""Bits of the op itself."""
DROPPED: Final = 64
"""Added to an op whose value no column takes."""
CHECKED: Final = -1
"""Argument of TEXT whose bytes must be UTF-8; 0 takes them as they are."""

# -- ops that begin with a zigzag varint

LONG: Final = 0
"""int64."""
INT: Final = 1
"""int32."""
ENUM: Final = 2
"""``P_ARG`` symbols; the number is the index."""
NULLABLE: Final = 3
"""``[null, T]`` to a nullable column: ``P_ARG & 1`` is the branch of null, ``P_ARG >> 1`` one of ``NULL_*``, ``P_JUMP`` where to
go on after a NULL."""
TEXT: Final = 4
"""Length and bytes; ``P_ARG`` is ``CHECKED`` where they must be UTF-8."""
LIST: Final = 5
"""First block of an array or a map: ``P_ARG`` is the fewest bytes of an item, ``P_JUMP`` the op after the end."""
BRANCHES: Final = 6
"""Union: ``aux[P_ARG]`` branches, ``aux[P_ARG + 1 + branch]`` where each goes on."""
ENUM_MAP: Final = 7
"""Enum resolved: ``aux[P_ARG]`` symbols, ``aux[P_ARG + 1 + symbol]`` the reader's index, -1 where it has none."""
LAST_VARINT: Final = ENUM_MAP

# -- the rest of the common ones

DOUBLE: Final = 8
FLOAT: Final = 9
BOOLEAN: Final = 10
LIST_END: Final = 11
"""``P_ARG`` as LIST, ``P_JUMP`` the first op of an item."""
MAP_END: Final = 12
"""As LIST_END; keys that repeat make the row SLOW."""
JUMP: Final = 13
VALID: Final = 14
"""The slot is not NULL."""
NULLS: Final = 15
"""NULL in ``P_COLUMN`` and everything below."""
ENTER: Final = 16
"""Child of a dense union: ``P_ARG`` is its type code, ``P_JUMP`` its counter."""
LEAVE: Final = 17
CALL: Final = 18
"""``P_JUMP`` is a program that ends with RETURN; recursion is bounded."""
RETURN: Final = 19
MARK: Final = 20
KEEP: Final = 21
"""The bytes since MARK to a column of bytes."""
FAIL: Final = 22
"""The row gets code ``P_ARG``."""
END: Final = 23

COMMON: Final = (LONG, INT, ENUM, NULLABLE, TEXT, LIST, DOUBLE, FLOAT, BOOLEAN, LIST_END, MAP_END, END)
"""Ops of the fast lane, and of code that is written for one program."""

# -- values that are rarer

FIXED: Final = 24
"""``P_ARG`` bytes."""
DECIMAL: Final = 25
"""``aux[P_ARG]``: bytes (-1: a length is written); then words of the column; then 10 ** precision in as many words."""
UUID_TEXT: Final = 26
DURATION: Final = 27
TICKS: Final = 28
"""``aux[P_ARG]``: 1 where an int is written; factor; bound (0: none); 1 for a column of int64."""
INT_LONG: Final = 29
NUMBER_DOUBLE: Final = 30
"""``P_ARG`` is 1 where an int is written, 0 for a long."""
NUMBER_FLOAT: Final = 31
FLOAT_DOUBLE: Final = 32
SHORT_BYTES: Final = 33
"""Length and bytes, ``P_ARG`` of them at most, that are passed over."""

(NULL_ANY, NULL_NONE, NULL_BYTES, NULL_8, NULL_4, NULL_1) = range(6)
"""How a NULL is written: by the table of columns; not at all; the offset again; a zero of that many bytes."""

FRAME: Final = 3
"""Words that a list, a union's child, a call or a mark keeps on the stack."""
(R_TOP, R_EMPTIES, R_CALLS) = range(3)
"""The first words of the stack: where the next frame lies, items of no bytes so far, calls that are open."""
FIRST_FRAME: Final = 3
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

(A_CODE, A_SELF, A_ROW, A_SLOT, A_BUDGET, A_ROOM, A_OUTSIDE, A_PAUSE) = range(8)
"""Words for the code of one program: its address and theirs; next row, its slot and the room that is left, in and out; what a row may take beyond its length;
not 0 where an access was outside of its memory; for how many rows it is left alone where fewer than ``FEW`` rows in turn were common from end to end."""
(A_SRC, A_OFFS, A_SKIPS, A_PRESENT, A_PROG, A_ARENA, A_ROWS) = range(8, 22, 2)
"""Addresses of arrays, each with its length behind it, as :func:`avro.decode` takes them."""
A_WORDS: Final = 22
FEW, PAUSE = 4, 60

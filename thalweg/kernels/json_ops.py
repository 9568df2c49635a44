"""Op codes of JSON programs, the words of their nodes, and what the kernel keeps between calls.

A program has one row a node, in pre-order: an object's members follow it, a list's item, a map's key and then its value.
``P_JUMP`` is the first row after the subtree. Beside it lies ``nodes``, ``NODE`` words a row, which kernels write to. ``NODE`` equals
``WORDS``: both tables are indexed by the row's first word, which is what "node" means inside kernels.
"""

from __future__ import annotations

from typing import Final

# -- ops in the main loop

TEXT: Final = 0
INT64: Final = 1
"""``P_ARG`` is the largest value of an integer's type."""
INT32: Final = 2
INT16: Final = 3
INT8: Final = 4
UINT64: Final = 5
UINT32: Final = 6
UINT16: Final = 7
UINT8: Final = 8
LAST_INT: Final = UINT8
DOUBLE: Final = 9
BOOLEAN: Final = 10
STAMP: Final = 11
"""``P_ARG``: decimal places of a second, plus ``ZONED``."""
OBJECT: Final = 12
MAP: Final = 13
LIST: Final = 14
LAST_CONTAINER: Final = LIST

# -- rarer ones

FLOAT: Final = 16
DECIMAL: Final = 17
"""``P_ARG``: precision * 1,000 + scale + 500, and words or a part of one: width in bytes * 1,000,000."""
DATE: Final = 18
TIME: Final = 19
"""``P_ARG``: decimal places of a second."""
BINARY: Final = 20
"""Base64."""
FIXED: Final = 21
"""Base64 of ``P_ARG`` bytes."""
UUID: Final = 22
RAW: Final = 23
"""The text of any value but null, as it stands."""
NOTHING: Final = 24
"""Null only."""
OTHER_KEY: Final = 25
"""A map's key that is not text: the reference decoder reads the row."""

ZONED: Final = 16
"""Added to ``P_ARG`` of STAMP."""
DECIMAL_WIDTH: Final = 1_000_000
DECIMAL_PRECISION: Final = 1_000
DECIMAL_SCALE: Final = 500

# -- words of a node

NODE: Final = 8
(N_WORD, N_LENGTH, N_SEEN, N_MEMBERS, N_HASH, N_BITS, N_NEXT, N_FIRST) = range(8)
"""First of the key's words; its bytes with the quote after it; the object in which it was seen last; members; where the table of
their keys begins and the logarithm of its size; the node whose key followed this one's last time, -1 for none; the node whose
key came first."""

# -- state between calls, and what is said of a bad row

(S_ROW, S_OUT, S_EPOCH, S_MOST, S_DEPTH, S_CODE, S_WHERE, S_NODE) = range(8)
"""Next row; good rows so far; objects so far; bytes and levels a document may have; of the row that is read: its first value that does
not fit (code, position, node)."""
STATE: Final = 8
(F_WHERE, F_NODE) = range(2)
"""Byte position in the payload; program row."""
FAULT: Final = 2

FRAME: Final = 8
"""Words that an open object or list keeps on the stack."""
PAD: Final = 32
"""Zero bytes that follow the copy of a payload: more than is read past its end."""
SKIP_DEPTH: Final = 64
"""Levels inside a value that is passed over; the reference decoder reads what is deeper."""
RESERVED: Final = 32
"""A code of JSON's own: a member's name begins with the prefix of metadata."""

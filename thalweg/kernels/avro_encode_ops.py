"""Op codes of programs that write Avro; each reads slot ``k`` of its column."""

from __future__ import annotations

from typing import Final

LONG: Final = 0
"""From int64."""
INT: Final = 1
"""From int32."""
DOUBLE: Final = 2
FLOAT: Final = 3
BOOLEAN: Final = 4
TEXT: Final = 5
"""Length and bytes."""
NULLABLE: Final = 6
"""``P_ARG`` is the branch of null, ``P_JUMP`` where to go on after a NULL."""
NEEDED: Final = 7
"""A NULL here makes the row a TYPE fault."""
ENUM: Final = 8
"""``P_ARG`` symbols; a number outside makes the row a SYMBOL fault."""
LIST: Final = 9
"""An array or a map in one block; ``P_JUMP`` is the op after the end."""
LIST_END: Final = 10
"""``P_JUMP`` is the first op of an item."""
BRANCH: Final = 11
"""Writes the branch ``P_ARG``."""
JUMP: Final = 12
END: Final = 13

# -- rarer

NARROW: Final = 14
"""An int from int64: RANGE beyond 32 bits."""
UNSIGNED: Final = 15
"""A long from uint64: RANGE beyond 63 bits."""
SCALED: Final = 16
"""A long from int64 times ``P_ARG``: RANGE beyond 64 bits."""
FIXED: Final = 17
"""``P_ARG`` bytes."""
SIZED: Final = 18
"""A fixed of ``P_ARG`` bytes from a column of bytes: RANGE for another length."""
DECIMAL: Final = 19
"""``aux[P_ARG]``: bytes of a fixed, -1 for as few as are needed; words of the column; then 10 ** precision in as many words."""
UUID_TEXT: Final = 20
DURATION: Final = 21
CONSTANT: Final = 22
"""``constants[P_ARG : P_JUMP]``."""
UNION: Final = 23
"""A dense union: ``aux[P_ARG + type code]`` is where each child goes on, -1 for none."""
LEAVE: Final = 24
"""Back from the child of a union."""
CHOICE: Final = 25
"""A struct with one field a branch: ``aux[P_ARG]`` fields, then for each its column and where it goes on. Exactly one must be there."""
FAIL: Final = 26
"""The row gets code ``P_ARG``."""
ELSE_NULL: Final = 27
"""Where the slot is NULL, the branch ``P_ARG`` is written and the op at ``P_JUMP`` is next."""

FRAME: Final = 2
LONGEST: Final = 64
"""Bytes that an op writes at most, besides text, fixed and constants."""
(S_ROW, S_OUT) = range(2)
"""State between calls: next row, bytes so far."""

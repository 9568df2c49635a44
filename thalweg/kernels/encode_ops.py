"""Op codes and words of JSON encoder programs."""

from __future__ import annotations

from typing import Final

(E_OP, E_DATA, E_VALID, E_OFFS, E_ARG, E_JUMP, E_NAME, E_SIZE) = range(8)
"""Op; index of the values in their unit; byte index of validity, -1 where nothing is NULL; index of the offsets (int32); argument;
the next node at this level; where the member's name with its comma and colon begins among the names, and its bytes."""
NODE: Final = 8

TEXT: Final = 0
INT64: Final = 1
INT32: Final = 2
INT16: Final = 3
INT8: Final = 4
UINT64: Final = 5
UINT32: Final = 6
UINT16: Final = 7
UINT8: Final = 8
LAST_INT: Final = UINT8
DOUBLE: Final = 9
FLOAT: Final = 10
BOOLEAN: Final = 11
"""A byte a slot."""
OBJECT: Final = 12
LIST: Final = 13
MAP: Final = 14
RAW: Final = 15
BINARY: Final = 16
FIXED: Final = 17
"""``E_ARG`` bytes a slot."""
UUID: Final = 18
DATE: Final = 19
TIME: Final = 20
"""``E_ARG``: decimal places of a second."""
STAMP: Final = 21
"""``E_ARG``: decimal places of a second, plus ``ZONED``."""
DECIMAL: Final = 22
"""``E_ARG``: scale + 1,000 * bytes a slot, offset by ``DECIMAL_SCALE``."""
NOTHING: Final = 23

ZONED: Final = 16
DECIMAL_WIDTH: Final = 1_000
DECIMAL_SCALE: Final = 500

FRAME: Final = 4
"""Words that an open object or list keeps on the stack."""
(S_ROW, S_END) = range(2)
"""State: next row; bytes written."""
FULL: Final = 1
"""There may be no room for the row."""
NOT_FINITE: Final = 2
"""JSON has no NaN and no infinity."""
YEAR: Final = 3
"""RFC 3339 has the years 1 to 9999."""
SPARE: Final = 128
"""Room for any value without text, and for words that are written past the end."""

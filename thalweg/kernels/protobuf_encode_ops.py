"""Op codes of programs that write Protobuf; each reads slot ``k`` of its column. Messages are written from their end to their beginning."""

from __future__ import annotations

from typing import Final

(W_OP, W_MODE, W_VALID, W_DATA, W_OFFS, W_TAG, W_NEXT, W_EXTRA) = range(8)
"""Op; what a NULL means; addresses of the column; tag; where to go on (in words); extra."""

# -- values

END: Final = 0
"""The row is done."""
I64: Final = 1
I32: Final = 2
U32: Final = 3
S32: Final = 4
S64: Final = 5
BOOL: Final = 6
ENUM: Final = 7
"""From int64: SYMBOL beyond 32 bits."""
X64: Final = 8
X32: Final = 9
TEXT: Final = 10
"""Text or bytes."""
TIMESTAMP: Final = 11
"""``W_NEXT`` ticks are a second, ``W_EXTRA`` nanoseconds a tick."""
DURATION: Final = 12
LAST_VALUE: Final = DURATION

# -- structure

ENTER: Final = 13
"""The end of a message; without one, ``W_NEXT`` is next."""
LEAVE: Final = 14
"""The beginning of it: length and tag."""
ENTER_GROUP: Final = 15
LEAVE_GROUP: Final = 16
LIST: Final = 17
"""The last item; of an empty list, ``W_NEXT`` is next."""
LIST_NEXT: Final = 18
"""The item before, at ``W_NEXT``; none: the list is done."""
PACKED_NEXT: Final = 19
"""As LIST_NEXT, and length and tag at the end."""
ONEOF: Final = 20
"""``aux[W_EXTRA]`` members, then where the valid bytes of each are: more than one set is a BRANCH fault."""

# -- what a NULL means

IMPLICIT: Final = 0
"""Nothing is written, nor is a zero."""
EXPLICIT: Final = 1
"""Nothing is written."""
NEEDED: Final = 2
"""A TYPE fault."""
BARE: Final = 3
"""As NEEDED; and no tag is written."""

WRONG: Final = 2
"""A valid byte of a value that has no place in its field."""
FRAME: Final = 3
LONGEST: Final = 48
"""Bytes that an op writes at most, besides text."""
(S_ROW, S_OUT) = range(2)
"""State between calls: rows that are left, and where what is written begins."""

"""What the splitter of Avro blocks and its compiler agree on: instructions of three words."""

from __future__ import annotations

from typing import Final

SIZE: Final = 3
"""Words of an instruction: what to do, and two arguments."""
(STOP, LONG, INT, BOOLEAN, CHOICE, UNION, BYTES, FIXED, LIST, NEXT, JUMP, CALL, RETURN) = range(13)
"""The datum is over; a long; an int; a byte 0 or 1; a number below the first argument (a symbol); a number below the second one, then go where the
table says from the first one on (a branch); bytes after their length; so many bytes; a list begins; its next item (of so many bytes at least, else go
on there); go there; a record begins (its code is there); it is over."""
MAX_RECORDS: Final = 64
"""Records inside records that are passed over, as ``codecs.avro.wire.MAX_RECURSION``."""
EMPTIES: Final = 1
"""Word of the stack that counts items of no bytes, as in ``avro_ops.R_EMPTIES``."""
BOTTOM: Final = 3
"""Word of the stack where frames begin."""
LIST_FRAME: Final = 2
"""Words of a list: items of the block that are left, and where the block says that it ends."""

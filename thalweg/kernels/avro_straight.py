# mypy: disallow-untyped-calls=False
# llvmlite has hardly any types.
"""Machine code for one Avro program: its ops one behind the other, without a machine in between.

It decodes whole rows that are common from end to end, as ``avro_glide.py`` would, with the same bounds: an op begins at ``end`` at most, and at least
``AHEAD`` bytes before the end of the batch. A row that is not common is as if it had not been begun, and left to the machine.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

from thalweg.kernels import avro_ops as op_
from thalweg.kernels import llvm, straight
from thalweg.kernels.avro_glide import AHEAD
from thalweg.kernels.emit import BIT, BYTE, HALF, LINE, RARE, WORD, Emit, number
from thalweg.kernels.objects import MachineCode
from thalweg.kernels.program import P_ARG, P_COLUMN, P_DATA, P_JUMP, P_OFFS, P_OP, P_VALID, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llvmlite import ir

    from thalweg.kernels.memory import Longs

_NAME: Final = "straight"
_PLAIN: Final = {op_.DOUBLE: (WORD, 8), op_.FLOAT: (HALF, 4), op_.BOOLEAN: (BYTE, 1)}
_NULLS: Final = {op_.NULL_8: (WORD, 8), op_.NULL_4: (HALF, 4), op_.NULL_1: (BYTE, 1)}


def machine_code(program: Longs, *, checked: bool = False) -> MachineCode:
    """The code of a program, int64[m, WORDS], of common ops alone; ``checked``: every access is compared with the size of its memory."""
    return MachineCode(_NAME, llvm.object_code(str(Straight(program, checked=checked).emit.module)))


def main(arguments: Sequence[str]) -> None:
    """The command of a child process, see :func:`thalweg.kernels.straight.command`. Raises OSError where the cache takes nothing."""
    program = straight.program_of(arguments[0])
    if straight.kept(program) is not None:  # another process was first
        return
    straight.keep(program, machine_code(program, checked=os.environ.get("NUMBA_BOUNDSCHECK", "0") not in {"", "0"}))


class Straight:
    """Writes the function of one program: what each op does, op by op. The words it is given are those of ``straight.py``."""

    def __init__(self, program: Longs, *, checked: bool) -> None:
        """Write it."""
        self.emit = e = Emit(_NAME, checked=checked)
        self._program = program.tolist()
        self._copier, self._looker = e.words_function("copy", copies=True), e.words_function("look", copies=False)
        self._judge = e.utf8_function("judge")
        self._lists: dict[int, tuple[Any, Any]] = {}
        self._src, self._offs, self._skips, self._present = (e.array(*place) for place in ((op_.A_SRC, 1), (op_.A_OFFS, 4), (op_.A_SKIPS, 4), (op_.A_PRESENT, 1)))
        self._prog, self._arena, self._rows = (e.array(*place) for place in ((op_.A_PROG, 8), (op_.A_ARENA, 1), (op_.A_ROWS, 4)))
        self._i, self._row, self._budget = (e.local(e.word(place)) for place in (op_.A_ROW, op_.A_SLOT, op_.A_BUDGET))
        self._p, self._k, self._end, self._stop, self._left = (e.local() for _ in range(5))
        self._limit = e.b.sub(self._src.nbytes, number(AHEAD))
        self._head, self._done = e.block(), e.block()
        self._blocks = [e.block() for _ in self._program]
        e.b.branch(self._head)
        self._begin()
        self._leave()
        for i, row in enumerate(self._program):
            e.at(self._blocks[i])
            self._op(i, row)

    # -- rows

    def _begin(self) -> None:
        """The head of a row: where it lies, and whether there is room for it."""
        e, b = self.emit, self.emit.b
        e.at(self._head)
        i = b.load(self._i)
        self._need(b.icmp_signed("<", i, b.sub(b.sdiv(self._offs.nbytes, number(4)), number(1))))
        last = b.sub(b.sdiv(self._skips.nbytes, number(4)), number(1))
        skip = e.load(self._skips, self._scaled(b.select(b.icmp_signed("<", i, last), i, last), 4), HALF, signed=True)
        p = b.add(e.load(self._offs, self._scaled(i, 4), HALF, signed=True), skip)
        end = e.load(self._offs, self._scaled(b.add(i, number(1)), 4), HALF, signed=True)
        left = b.sub(b.load(self._budget), b.add(b.sub(end, p), e.word(op_.A_ROOM)))
        self._need(b.and_(b.icmp_signed(">=", left, number(0)), b.icmp_signed("<=", p, end)))
        with b.if_then(b.icmp_signed("!=", self._present.nbytes, number(0))):
            self._need(b.icmp_unsigned("!=", e.load(self._present, i, BYTE), number(0)))
        for cell, value in ((self._p, p), (self._end, end), (self._left, left), (self._k, b.load(self._row))):
            b.store(value, cell)
        b.store(b.select(b.icmp_signed("<", end, self._limit), end, self._limit), self._stop)
        b.branch(self._blocks[0])

    def _leave(self) -> None:
        """Say how far it came."""
        e, b = self.emit, self.emit.b
        e.at(self._done)
        for place, cell in ((op_.A_ROW, self._i), (op_.A_SLOT, self._row), (op_.A_BUDGET, self._budget)):
            b.store(b.load(cell), e.cell(place))
        b.ret(number(0, HALF))

    def _finish(self, p: Any) -> None:  # noqa: ANN401 - values of LLVM
        """The end of a row."""
        e, b = self.emit, self.emit.b
        self._need(b.icmp_signed("==", p, b.load(self._end)))
        i, k = b.load(self._i), b.load(self._row)
        e.store(self._rows, self._scaled(k, 4), i, HALF)
        b.store(b.add(k, number(1)), self._row)
        b.store(b.add(i, number(1)), self._i)
        b.store(b.load(self._left), self._budget)
        b.branch(self._head)

    # -- words of ops

    def _need(self, condition: Any) -> None:  # noqa: ANN401 - as above
        """Go on where it holds, else leave the row."""
        self.emit.need(condition, self._done)

    def _scaled(self, index: Any, width: int) -> Any:  # noqa: ANN401 - as above
        """The byte at which an item lies."""
        return index if width == 1 else self.emit.b.shl(index, number(width.bit_length() - 1))

    def _place(self, i: int, field: int, width: int) -> Any:  # noqa: ANN401 - as above
        """The byte of the current slot in one of the buffers of op ``i``'s column."""
        return self._slot(i, field, width, self.emit.b.load(self._k))

    def _slot(self, i: int, field: int, width: int, k: Any) -> Any:  # noqa: ANN401 - as above
        """The byte of slot ``k``."""
        return self._scaled(self.emit.b.add(self._linked(i, field), k), width)

    def _linked(self, i: int, field: int) -> Any:  # noqa: ANN401 - as above
        """What stands in the program when the arena is laid out."""
        return self.emit.load(self._prog, number((i * WORDS + field) * 8))

    def _move(self, p: Any, nbytes: int) -> None:  # noqa: ANN401 - as above
        """Go on behind so many bytes."""
        self.emit.b.store(self.emit.b.add(p, number(nbytes)), self._p)

    # -- ops

    def _op(self, i: int, row: list[int]) -> None:
        """What one row of the program does."""
        b = self.emit.b
        op, dropped, p = row[P_OP] & op_.OPS, row[P_OP] >= op_.DROPPED, b.load(self._p)
        if op == op_.END:
            self._finish(p)
            return
        self._need(b.icmp_signed("<=", p, b.load(self._stop)))
        ways: dict[int, Callable[[int, Any, bool], None]] = {
            op_.LONG: self._long, op_.INT: self._int, op_.ENUM: self._enum, op_.NULLABLE: self._nullable, op_.TEXT: self._text,
            op_.DOUBLE: self._plain, op_.FLOAT: self._plain, op_.BOOLEAN: self._plain, op_.LIST: self._list, op_.LIST_END: self._item, op_.MAP_END: self._item,
        }  # fmt: skip
        ways[op](i, p, dropped)
        b.branch(self._blocks[i + 1])

    def _long(self, i: int, p: Any, dropped: bool, kind: ir.IntType = WORD) -> None:  # noqa: ANN401, FBT001 - as above; all ops take the same
        """A zigzag number."""
        e, b = self.emit, self.emit.b
        e.inside(self._prog, number((i * WORDS + P_ARG) * 8), number(8))
        guess = b.gep(b.bitcast(self._prog.start, WORD.as_pointer()), [number(i * WORDS + P_ARG)])
        v, after = e.varint(self._src, p, self._done, guess)
        b.store(after, self._p)
        if kind is HALF:
            self._need(b.icmp_unsigned("<=", v, number(0xFFFFFFFF)))
        if not dropped:
            value = b.xor(b.lshr(v, number(1)), b.neg(b.and_(v, number(1))))
            e.store(self._arena, self._place(i, P_DATA, kind.width // 8), value, kind)

    def _int(self, i: int, p: Any, dropped: bool) -> None:  # noqa: ANN401, FBT001 - as above
        """The same, of 32 bits."""
        self._long(i, p, dropped, HALF)

    def _enum(self, i: int, p: Any, dropped: bool) -> None:  # noqa: ANN401, FBT001 - as above
        """The number of a symbol."""
        e, b = self.emit, self.emit.b
        v = e.load(self._src, p, BYTE)
        known = b.icmp_unsigned("<", b.lshr(v, number(1)), number(self._program[i][P_ARG]))
        self._need(b.and_(known, b.icmp_unsigned("==", b.and_(v, number(129)), number(0))))
        self._move(p, 1)
        if not dropped:
            e.store(self._arena, self._place(i, P_DATA, 4), b.lshr(v, number(1)), HALF)

    def _plain(self, i: int, p: Any, dropped: bool) -> None:  # noqa: ANN401, FBT001 - as above
        """Bytes as they are."""
        e, b = self.emit, self.emit.b
        op = self._program[i][P_OP] & op_.OPS
        kind, width = _PLAIN[op]
        v = e.load(self._src, p, kind)
        if op == op_.BOOLEAN:
            self._need(b.icmp_unsigned("<=", v, number(1)))
        self._move(p, width)
        if not dropped:
            e.store(self._arena, self._place(i, P_DATA, width), v, kind)

    def _nullable(self, i: int, p: Any, dropped: bool) -> None:  # noqa: ANN401, FBT001 - as above
        """NULL, or what follows."""
        e, b = self.emit, self.emit.b
        arg = self._program[i][P_ARG]
        null, kind = arg & 1, arg >> 1
        v = e.load(self._src, p, BYTE)
        self._move(p, 1)
        there, absent = e.block(), e.block()
        b.cbranch(b.icmp_unsigned("==", v, number(2 - 2 * null)), there, absent)
        e.at(absent)
        self._need(b.icmp_unsigned("==", v, number(2 * null)) if dropped or kind else number(0, BIT))
        if not dropped:
            self._null(i, kind)
        b.branch(self._blocks[self._program[i][P_JUMP] // WORDS])
        e.at(there)
        if not dropped:
            e.store(self._arena, self._place(i, P_VALID, 1), number(1), BYTE)

    def _null(self, i: int, kind: int) -> None:
        """NULL in a column without columns below."""
        e, b = self.emit, self.emit.b
        e.store(self._arena, self._place(i, P_VALID, 1), number(0), BYTE)
        if kind == op_.NULL_BYTES:
            o = self._place(i, P_OFFS, 4)
            e.store(self._arena, b.add(o, number(4)), e.load(self._arena, o, HALF), HALF)
        elif kind in _NULLS:
            bits, width = _NULLS[kind]
            e.store(self._arena, self._place(i, P_DATA, width), number(0), bits)

    def _text(self, i: int, p: Any, dropped: bool) -> None:  # noqa: ANN401, FBT001 - as above
        """Text, or bytes."""
        e, b = self.emit, self.emit.b
        v, q = e.varint(self._src, p, self._done)
        n, checked = e.turned(v), self._program[i][P_ARG] != 0
        after = b.add(q, n)
        self._need(b.icmp_unsigned("<=", after, b.load(self._stop)))  # an odd number, of a negative length, is a huge one
        if not dropped:
            o = self._place(i, P_OFFS, 4)
            at = e.load(self._arena, o, HALF)
            marks = self._bytes(q, n, b.add(self._linked(i, P_DATA), at))
            e.store(self._arena, b.add(o, number(4)), b.add(at, n), HALF)
        elif checked:
            marks = self._bytes(q, n, None)
        if checked:
            with b.if_then(b.icmp_unsigned("!=", marks, number(0)), likely=False):
                e.inside(self._src, q, b.add(n, number(7)))
                self._need(b.icmp_unsigned("!=", b.call(self._judge, [b.gep(self._src.start, [q]), n], cconv=RARE), number(0)))
        b.store(after, self._p)

    def _bytes(self, q: Any, n: Any, to: Any) -> Any:  # noqa: ANN401 - as above
        """``n`` bytes to byte ``to`` of the arena, nowhere for None; not 0 where one of them is beyond ASCII. Short ones are moved as a line."""
        e, b = self.emit, self.emit.b
        short, long, after, marks = e.block(), e.block(), e.block(), e.local()
        b.cbranch(b.icmp_unsigned("<=", n, number(16)), short, long)
        e.at(short)
        line = e.load(self._src, q, LINE)
        if to is not None:
            e.store(self._arena, to, line, LINE)
        b.store(e.marks(line, n), marks)
        b.branch(after)
        e.at(long)
        reach = b.add(n, number(7))
        e.inside(self._src, q, reach)
        source = b.gep(self._src.start, [q])
        if to is not None:
            e.inside(self._arena, to, reach)
        found = b.call(self._looker, [source, source, n], cconv=RARE) if to is None else b.call(self._copier, [source, b.gep(self._arena.start, [to]), n], cconv=RARE)
        b.store(found, marks)
        b.branch(after)
        e.at(after)
        return b.load(marks)

    def _list(self, i: int, p: Any, dropped: bool) -> None:  # noqa: ANN401, FBT001 - as above
        """The head of a list of less than 64 items."""
        e, b = self.emit, self.emit.b
        least, jump = self._program[i][P_ARG], self._program[i][P_JUMP]
        v, left = e.load(self._src, p, BYTE), b.sub(b.load(self._end), p)
        self._need(b.and_(b.icmp_unsigned("==", b.and_(v, number(129)), number(0)), b.icmp_signed(">", left, number(0))))
        count, k = b.lshr(v, number(1)), b.load(self._k)
        self._need(b.icmp_signed("<", b.mul(count, number(least)), left))
        self._move(p, 1)
        empty, some = e.block(), e.block()
        first = number(0) if dropped else e.load(self._arena, self._place(i, P_OFFS, 4), HALF)
        b.cbranch(b.icmp_signed("==", count, number(0)), empty, some)
        e.at(empty)
        if not dropped:
            e.store(self._arena, b.add(self._place(i, P_OFFS, 4), number(4)), first, HALF)
        b.branch(self._blocks[jump // WORDS])
        e.at(some)
        self._lists[i] = e.local(k), e.local(count)
        b.store(first, self._k)

    def _item(self, i: int, p: Any, _dropped: bool) -> None:  # noqa: ANN401, FBT001 - as above
        """Behind an item: the next one, or the end of a list of one block; keys of a map with several entries are not compared here."""
        e, b = self.emit, self.emit.b
        op, jump, column = (self._program[i][field] for field in (P_OP, P_JUMP, P_COLUMN))
        outer, items = self._lists[jump // WORDS - 1]
        k, left = b.load(self._k), b.sub(b.load(items), number(1))
        again, over = e.block(), e.block()
        b.cbranch(b.icmp_signed(">", left, number(0)), again, over)
        e.at(again)
        b.store(left, items)
        b.store(b.add(k, number(1)), self._k)
        b.branch(self._blocks[jump // WORDS])
        e.at(over)
        self._need(b.icmp_signed("<", p, b.load(self._end)))
        self._need(b.icmp_unsigned("==", e.load(self._src, p, BYTE), number(0)))
        self._move(p, 1)
        slot = b.load(outer)
        b.store(slot, self._k)
        if column >= 0:
            o = self._slot(i, P_OFFS, 4, slot)
            if op == op_.MAP_END:
                self._need(b.icmp_signed("<=", k, e.load(self._arena, o, HALF)))
            e.store(self._arena, b.add(o, number(4)), b.add(k, number(1)), HALF)


if __name__ == "__main__":
    main(sys.argv[1:])

# mypy: disallow-untyped-calls=False
# llvmlite has hardly any types.
"""Words that machine code of one's own is written in: LLVM's, with names. Integers are int64 unless they lie in memory.

What is written with ``checked`` compares each access with the size of its memory, and says so where one is outside; for tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from llvmlite import ir

from thalweg.kernels import llvm

BYTE, HALF, WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
BIT: Final = ir.IntType(1)
LINE: Final = ir.VectorType(BYTE, 16)
"""Sixteen bytes side by side."""
_HIGH: Final = 0x8080808080808080
RARE: Final = "preserve_mostcc"
"""How functions of their own are called: they keep the registers of the common way, which need not pass them by."""
_SEVENS: Final = 0x7F7F7F7F7F7F7F7F
_JOINS: Final = ((0x007F007F007F007F, 0), (0x00003FFF00003FFF, 1), (0x000000000FFFFFFF, 2))
"""What is left of each pair, four and eight, and the power of two of the bits between it and its neighbour."""
_WORD_BITS: Final = 64
_WORD_BYTES: Final = 8
_LINE_BYTES: Final = 16


def number(value: int, kind: ir.IntType = WORD) -> ir.Constant:
    """A constant."""
    return ir.Constant(kind, value)


def sevens(builder: ir.IRBuilder, word: Any, *, gathers: bool) -> Any:  # noqa: ANN401 - values of LLVM
    """The lower seven bits of each byte, end to end: one instruction where the processor ``gathers``, else pairs, fours and all eight are joined."""
    if gathers:
        gather = builder.module.declare_intrinsic("llvm.x86.bmi.pext.64", (), ir.FunctionType(WORD, [WORD, WORD]))
        return builder.call(gather, [word, number(_SEVENS)])
    word = builder.and_(word, number(_SEVENS))
    for low, shift in _JOINS:
        upper = builder.and_(word, number(low << (8 << shift)))
        word = builder.or_(builder.and_(word, number(low)), builder.lshr(upper, number(1 << shift)))
    return word


@dataclass(frozen=True, slots=True)
class Memory:
    """Where something lies, and how many bytes it has."""

    start: Any
    nbytes: Any


class Emit:
    """One function, ``int32 name(int64* words)``, as it is written; 0 is well, 1 an access outside of its memory."""

    def __init__(self, name: str, *, checked: bool) -> None:
        """Nothing is written yet, but the way out where an access is outside."""
        self.module = ir.Module(name)
        self._checked = checked
        self.function = ir.Function(self.module, ir.FunctionType(HALF, [WORD.as_pointer(), WORD.as_pointer()]), name)
        self.b = ir.IRBuilder(self.block())
        self._outside = self.block()
        with self.b.goto_block(self._outside):
            self.b.ret(number(1, HALF))

    def block(self) -> Any:  # noqa: ANN401 - as above
        """A place to go to."""
        return self.function.append_basic_block()

    def at(self, block: Any) -> None:  # noqa: ANN401 - as above
        """Go on writing there."""
        self.b.position_at_end(block)

    def local(self, value: Any = None) -> Any:  # noqa: ANN401 - as above
        """A variable."""
        with self.b.goto_entry_block():
            made = self.b.alloca(WORD)
        if value is not None:
            self.b.store(value, made)
        return made

    def need(self, condition: Any, otherwise: Any) -> None:  # noqa: ANN401 - as above
        """Go on where the condition holds, else at ``otherwise``."""
        after = self.block()
        self.b.cbranch(condition, after, otherwise)
        self.at(after)

    def word(self, n: int) -> Any:  # noqa: ANN401 - as above
        """The n-th of the words that the function is given."""
        return self.b.load(self.cell(n))

    def cell(self, n: int) -> Any:  # noqa: ANN401 - as above
        """Where it lies."""
        return self.b.gep(self.function.args[0], [number(n)])

    def array(self, n: int, width: int) -> Memory:
        """The array of items of ``width`` bytes whose address and length are the n-th word and the next."""
        return Memory(self.b.inttoptr(self.word(n), BYTE.as_pointer()), self.b.mul(self.word(n + 1), number(width)))

    def load(self, memory: Memory, offset: Any, kind: ir.IntType = WORD, *, signed: bool = False) -> Any:  # noqa: ANN401 - as above
        """The number at a byte of a memory."""
        found = self.b.load(self._place(memory, offset, kind), align=1)
        if kind in {WORD, LINE}:
            return found
        return self.b.sext(found, WORD) if signed else self.b.zext(found, WORD)

    def store(self, memory: Memory, offset: Any, value: Any, kind: ir.IntType = WORD) -> None:  # noqa: ANN401 - as above
        """A number to a byte of a memory."""
        self.b.store(value if kind in {WORD, LINE} else self.b.trunc(value, kind), self._place(memory, offset, kind), align=1)

    def _place(self, memory: Memory, offset: Any, kind: ir.IntType) -> Any:  # noqa: ANN401 - as above
        """A pointer into a memory."""
        self.inside(memory, offset, number(_LINE_BYTES if kind is LINE else kind.width // 8))
        return self.b.bitcast(self.b.gep(memory.start, [offset]), kind.as_pointer())

    def inside(self, memory: Memory, offset: Any, nbytes: Any) -> None:  # noqa: ANN401 - as above
        """Where accesses are checked: so many bytes from ``offset`` on are of that memory."""
        if self._checked:
            fits = self.b.icmp_signed("<=", nbytes, self.b.sub(memory.nbytes, offset))
            self.need(self.b.and_(fits, self.b.icmp_signed(">=", offset, number(0))), self._outside)

    def unseen(self, value: Any) -> Any:  # noqa: ANN401 - as above
        """The same number, of which the compiler cannot know that it equals another one."""
        return self.b.asm(ir.FunctionType(WORD, [WORD]), "", "=r,0", [value], False)  # noqa: FBT003 - llvmlite names it side_effect

    def varint(self, memory: Memory, p: Any, otherwise: Any, guess: Any = None) -> tuple[Any, Any]:  # noqa: ANN401 - as above
        """``(value, next position)`` of a varint at ``p``, where eight bytes can be read; goes to ``otherwise`` for one of more bytes.

        ``guess`` points to the size of the last one in this place: what follows need not wait for this one's bytes where the sizes are equal.
        """
        b = self.b
        value, after = self.local(self.load(memory, p, BYTE)), self.local(b.add(p, number(1)))
        with b.if_then(b.icmp_unsigned(">=", b.load(value), number(128))):
            w = self.load(memory, p)
            m = b.and_(b.not_(w), number(_HIGH))
            self.need(b.icmp_unsigned("!=", m, number(0)), otherwise)
            b.store(sevens(b, b.and_(w, b.xor(m, b.sub(m, number(1)))), gathers=llvm.gathers()), value)
            size = b.add(b.lshr(b.cttz(m, number(0, BIT)), number(3)), number(1))
            b.store(b.add(p, size if guess is None else self._guessed(size, guess)), after)
        return b.load(value), b.load(after)

    def _guessed(self, size: Any, guess: Any) -> Any:  # noqa: ANN401 - as above
        """The size, as a branch guesses it."""
        found = self.local(self.b.load(guess))
        with self.b.if_then(self.b.icmp_unsigned("!=", self.b.load(found), self.unseen(size)), likely=False):
            self.b.store(size, guess)
            self.b.store(size, found)
        return self.b.load(found)

    def marks(self, line: Any, n: Any) -> Any:  # noqa: ANN401 - as above
        """A bit for each of the first ``n`` bytes of a line that is beyond ASCII; ``n`` is 16 at most."""
        b = self.b
        bits = b.bitcast(b.icmp_signed("<", line, ir.Constant(LINE, None)), ir.IntType(_LINE_BYTES))
        return b.and_(b.zext(bits, WORD), b.sub(b.shl(number(1), n), number(1)))

    def turned(self, value: Any) -> Any:  # noqa: ANN401 - as above
        """The lowest bit goes to the top, all others one down."""
        turn = self.module.declare_intrinsic("llvm.fshr", (WORD,), ir.FunctionType(WORD, [WORD, WORD, WORD]))
        return self.b.call(turn, [value, value, number(1)])

    def _rare(self, name: str, *takes: ir.Type) -> ir.Function:
        """The head of a function of its own, which gives a word."""
        function = ir.Function(self.module, ir.FunctionType(WORD, takes), name)
        function.linkage, function.calling_convention = "internal", RARE
        function.attributes.add("noinline")
        return function

    def words_function(self, name: str, *, copies: bool) -> Any:  # noqa: ANN401 - as above
        """``name(from, to, n)``, a function of its own: goes over ``n`` bytes in words, of which the last may reach further; the marks of bytes beyond ASCII.

        ``copies``: to ``to``; else ``to`` does not matter. ``n`` is at least 9.
        """
        function = self._rare(name, BYTE.as_pointer(), BYTE.as_pointer(), WORD)
        source, to, n = function.args
        b = ir.IRBuilder(function.append_basic_block())
        before, loop, last = b.block, function.append_basic_block(), function.append_basic_block()

        def pass_on(at: Any) -> Any:  # noqa: ANN401 - as above
            x = b.load(b.bitcast(b.gep(source, [at]), WORD.as_pointer()), align=1)
            if copies:
                b.store(x, b.bitcast(b.gep(to, [at]), WORD.as_pointer()), align=1)
            return x

        b.branch(loop)
        b.position_at_end(loop)
        at, seen = b.phi(WORD), b.phi(WORD)
        more, following = b.or_(seen, pass_on(at)), b.add(at, number(_WORD_BYTES))
        for phi, value in ((at, following), (seen, more)):
            phi.add_incoming(number(0), before)
            phi.add_incoming(value, loop)
        left = b.sub(n, following)
        b.cbranch(b.icmp_signed(">", left, number(_WORD_BYTES)), loop, last)
        b.position_at_end(last)
        tail = b.shl(pass_on(following), b.and_(b.sub(number(_WORD_BITS), b.shl(left, number(3))), number(_WORD_BITS - 1)))
        b.ret(b.and_(b.or_(more, tail), number(_HIGH)))
        return function

    def utf8_function(self, name: str) -> Any:  # noqa: ANN401 - as above
        """``name(from, n)``, a function of its own: 1 where ``n`` bytes, at least one, are UTF-8, else 0. Reads up to seven bytes further."""
        function = self._rare(name, BYTE.as_pointer(), WORD)
        source, n = function.args
        b = ir.IRBuilder(function.append_basic_block())
        before, loop, over = b.block, function.append_basic_block(), function.append_basic_block()

        def has(bits: int, value: int) -> Any:  # noqa: ANN401 - as above
            return b.icmp_unsigned("==", b.and_(w, number(bits)), number(value))

        b.branch(loop)
        b.position_at_end(loop)
        at = b.phi(WORD)
        w = b.load(b.bitcast(b.gep(source, [at]), WORD.as_pointer()), align=1)
        last = b.or_(b.not_(has(0x04, 0x04)), has(0x3003, 0))  # nothing behind U+10FFFF
        four = b.and_(b.and_(has(0xC0C0C0F8, 0x808080F0), b.not_(has(0x3007, 0))), last)
        three = b.and_(has(0xC0C0F0, 0x8080E0), b.not_(b.or_(has(0x200F, 0), has(0x200F, 0x200D))))  # not too long, and no surrogate
        two = b.and_(has(0xC0E0, 0x80C0), b.not_(has(0x1E, 0)))
        eight = b.and_(has(_HIGH, 0), b.icmp_signed("<=", b.add(at, number(_WORD_BYTES)), n))
        size = number(0)
        for condition, found in ((four, 4), (three, 3), (two, 2), (has(0x80, 0), 1), (eight, _WORD_BYTES)):
            size = b.select(condition, number(found), size)
        following = b.add(at, size)
        at.add_incoming(number(0), before)
        at.add_incoming(following, loop)
        b.cbranch(b.and_(b.icmp_signed("<", following, n), b.icmp_unsigned("!=", size, number(0))), loop, over)
        b.position_at_end(over)
        b.ret(b.zext(b.and_(b.icmp_unsigned("==", following, n), b.icmp_unsigned("!=", size, number(0))), WORD))
        return function

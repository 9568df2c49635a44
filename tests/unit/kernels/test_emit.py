"""Words of machine code: each is written into a small function, which is run."""

from __future__ import annotations

import ctypes
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from thalweg.kernels import llvm
from thalweg.kernels.bits import sevens
from thalweg.kernels.calling import address, loaded
from thalweg.kernels.emit import BYTE, HALF, LINE, RARE, Emit, number

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(params=[True, False], ids=["bmi2", "plain"])
def _processor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that gathers bits where this one does, and one that does not."""
    if not request.param:
        monkeypatch.setattr(llvm, "gathers", lambda: False)


def compiled(write: Callable[[Emit], Any], *, checked: bool = False) -> bytes:
    """A function that puts what ``write`` gives into its first word."""
    emit = Emit("f", checked=checked)
    emit.b.store(write(emit), emit.cell(0))
    emit.b.ret(number(0, HALF))
    return llvm.object_code(str(emit.module))


def called(code: bytes, *words: int, arrays: tuple[np.ndarray[Any, Any], ...] = ()) -> tuple[int, list[int]]:
    """Call it, over words and arrays: its result, and all words."""
    engine = loaded(code)
    given = np.array([*words, *(part for a in arrays for part in (address(a), len(a)))], np.uint64).view(np.int64)
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("f"))
    return entry(given.ctypes.data, given.ctypes.data), given.view(np.uint64).tolist()


def run(write: Callable[[Emit], Any], *words: int, arrays: tuple[np.ndarray[Any, Any], ...] = (), checked: bool = False) -> tuple[int, list[int]]:
    """Both."""
    return called(compiled(write, checked=checked), *words, arrays=arrays)


@pytest.mark.parametrize("n", range(17))
def test_marks(n: int) -> None:
    """Of none to all bytes of a line."""
    code = compiled(lambda e: e.marks(e.load(e.array(1, 1), number(0), LINE), number(n)))
    for _ in range(20):
        line = np.array(random.choices(range(256), k=16), np.uint8)

        assert called(code, 0, arrays=(line,))[1][0] == sum(1 << i for i in range(n) if line[i] >= 0x80)


@pytest.mark.usefixtures("_processor")
@pytest.mark.parametrize("size", range(1, 9))
def test_varints(size: int) -> None:
    """Of one to eight bytes, where the last one was of another size, or of the same."""
    data = np.array([*[0x80 | 5] * (size - 1), 3, *[0xFF] * 16], np.uint8)

    def write(emit: Emit) -> Any:  # noqa: ANN401 - a value of LLVM
        wrong = emit.block()
        value, after = emit.varint(emit.array(2, 1), number(0), wrong, emit.cell(1))
        with emit.b.goto_block(wrong):
            emit.b.ret(number(7, HALF))
        return emit.b.add(value, emit.b.shl(after, number(60)))

    raw = int.from_bytes(data[:8].tobytes(), "little") & ((1 << (8 * size)) - 1)
    for guess in (size, 1, 8):
        code, words = run(write, 0, guess, arrays=(data,))
        assert code == 0
        assert words[0] == int(sevens(np.uint64(raw))) + (size << 60) & (1 << 64) - 1
        assert words[1] == (guess if size == 1 else size)


def test_a_varint_of_more_bytes_is_left() -> None:
    """Nine bytes are for somebody else."""

    def write(emit: Emit) -> Any:  # noqa: ANN401 - as above
        wrong = emit.block()
        value, _ = emit.varint(emit.array(1, 1), number(0), wrong)
        with emit.b.goto_block(wrong):
            emit.b.ret(number(7, HALF))
        return value

    assert run(write, 0, arrays=(np.full(16, 0x80, np.uint8),))[0] == 7


@pytest.mark.parametrize("n", [9, 15, 16, 17, 100])
@pytest.mark.parametrize("copies", [True, False])
def test_bytes_in_words(n: int, copies: bool) -> None:  # noqa: FBT001 - as the function has it
    """All bytes arrive, and the marks are those of these bytes alone."""
    source, to = np.arange(1, n + 17, dtype=np.uint8) & 0x7F, np.zeros(n + 16, np.uint8)
    source[n:] = 0xFF
    for odd in (None, 0, n - 1):
        marked = source.copy()
        if odd is not None:
            marked[odd] |= 0x80

        def write(emit: Emit) -> Any:  # noqa: ANN401 - as above
            function = emit.words_function("move", copies=copies)
            return emit.b.call(function, [emit.array(1, 1).start, emit.array(3, 1).start, number(n)], cconv=RARE)

        _, words = run(write, 0, arrays=(marked, to))

        assert bool(words[0]) == (odd is not None)
        assert not copies or to[:n].tolist() == marked[:n].tolist()


def test_utf8() -> None:
    """As Python judges it: every length and border of code points, bytes cut off, too many, too long, surrogates, with ASCII around them."""
    good = [chr(c).encode() for c in (0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0xFFFFF, 0x100000, 0x10FFFF)]
    bad = [b"\xc0\x80", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\x80"]
    cut = [g[:-1] for g in good if len(g) > 1]
    pick = random.Random(3)
    texts = [*good, *bad, *cut, *(b"a" * n + m + b"b" * k for m in (*good, *bad, *cut) for n in (0, 1, 7, 8, 9) for k in (0, 1, 8))]
    texts += [b"".join(pick.choices([*good, *bad[:1], *cut[:1]], [9] * len(good) + [1, 1], k=pick.randrange(1, 12))) for _ in range(100)]
    texts += [bytes(pick.choices(range(256), k=pick.randrange(1, 4))) for _ in range(200)]
    data = np.frombuffer(b"".join(t + b"\x80" * 8 for t in texts), np.uint8)

    def write(emit: Emit) -> Any:  # noqa: ANN401 - as above
        return emit.b.call(emit.utf8_function("judge"), [emit.b.gep(emit.array(2, 1).start, [emit.word(0)]), emit.word(1)], cconv=RARE)

    code = compiled(write)
    at = 0
    for text in texts:
        _, words = called(code, at, len(text), arrays=(data,))
        assert bool(words[0]) == (text.decode(errors="ignore").encode() == text), text
        at += len(text) + 8


@pytest.mark.parametrize(("offset", "outside"), [(0, 0), (4, 0), (5, 1), (-1, 1), (2**62, 1)])
def test_accesses_are_checked_where_that_is_wanted(offset: int, outside: int) -> None:
    """Reads and writes, at both ends."""
    data = np.zeros(8, np.uint8)

    def read(emit: Emit) -> Any:  # noqa: ANN401 - as above
        return emit.load(emit.array(1, 1), number(offset), HALF, signed=True)

    def write(emit: Emit) -> Any:  # noqa: ANN401 - as above
        emit.store(emit.array(1, 1), number(offset), number(9), HALF)
        return number(0)

    assert run(read, 0, arrays=(data,), checked=True)[0] == outside
    assert run(write, 0, arrays=(data,), checked=True)[0] == outside
    assert (9 in data.tolist()) == (not outside)


def test_small_words() -> None:
    """A turn, a byte, and a branch that is not taken."""

    def write(emit: Emit) -> Any:  # noqa: ANN401 - as above
        with emit.b.if_then(emit.b.icmp_unsigned("==", emit.word(0), number(0))):
            emit.b.ret(number(7, HALF))
        return emit.b.add(emit.turned(emit.word(0)), emit.load(emit.array(1, 1), number(1), BYTE))

    assert run(write, 5, arrays=(np.array([1, 2], np.uint8),))[1][0] == (1 << 63) + 2 + 2
    assert run(write, 0, arrays=(np.array([1, 2], np.uint8),))[0] == 7

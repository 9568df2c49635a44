"""The loops that copy client messages into column buffers, compiled; importing this module imports Numba.

Messages are addresses of ``rd_kafka_message_t``; the library's functions come as addresses too, in the order of ``rdkafka.CALLS``, so
that the machine code can be cached. Nothing here allocates, takes the GIL or raises.
"""

from __future__ import annotations

import ctypes
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import config as _numba_config
from numba.extending import intrinsic

from thalweg.kernels.jit import cache_folder, inline, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")
Int: TypeAlias = Any
"""A machine word: uint64 or int64 inside the loops, int where they are tried in Python."""
Addresses = npt.NDArray[np.uint64]
Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.int8]

_CONFIG: Any = _numba_config
_JIT: bool = not _CONFIG.DISABLE_JIT
_WORD, _HALF, _BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)
_STAMP, _EPOCH, _HEADERS, _COUNT, _HEADER, _POLL, _TYPE, _NEXT, _DESTROY = range(9)
_FETCH = 2
"""Kind of the event that brings a message."""
_ERR, _TOPIC, _PARTITION, _PAYLOAD, _SIZE, _KEY, _KEY_SIZE, _OFFSET = 0, 8, 16, 24, 32, 40, 48, 56
_U = np.uint64
_OWN_SOURCE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]


def _named(function: F) -> F:
    """A kernel whose cache is named by this file too: the cache knows the sources of its own folder only."""
    function.__qualname__ = f"{function.__name__}_{_OWN_SOURCE}"
    return kernel(function)


def _loader(bits: ir.IntType, result: Any, twin: Any) -> Any:  # noqa: ANN401 - Numba has no types
    """Reads a number at an address."""
    if not _JIT:
        return lambda address: result(twin.from_address(int(address)).value)

    def load(_context: Any, _address: Any) -> Any:  # noqa: ANN401 - Numba has no types
        def code(_c: Any, builder: Any, _s: Any, args: Any) -> Any:  # noqa: ANN401 - Numba has no types
            return builder.load(builder.inttoptr(args[0], bits.as_pointer()), align=1)

        return result(types.uint64), code

    return intrinsic(load)


def _caller(arity: int, bits: ir.IntType | None, result: Any, twin: Any) -> Any:  # noqa: ANN401 - Numba has no types
    """Calls a C function at an address, with words as arguments."""
    if not _JIT:
        prototype = ctypes.CFUNCTYPE(twin, *[ctypes.c_void_p] * arity)
        return lambda function, *arguments: prototype(int(function))(*[int(a) for a in arguments])
    kind = ir.FunctionType(bits or ir.VoidType(), [_WORD] * arity)

    def emit(context: Any, builder: Any, args: Any) -> Any:  # noqa: ANN401 - Numba has no types
        found = builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value() if bits is None else found

    def signature() -> Any:  # noqa: ANN401 - Numba has no types
        return result(*[types.uint64] * (arity + 1)), lambda c, b, _s, a: emit(c, b, a)

    if arity == 1:
        return intrinsic(lambda _context, _f, _a: signature())
    if arity == 2:  # noqa: PLR2004 - two arguments
        return intrinsic(lambda _context, _f, _a, _b: signature())
    return intrinsic(lambda _context, _f, _a, _b, _c, _d, _e: signature())


def _copier() -> Any:  # noqa: ANN401 - Numba has no types
    """Copies bytes from address to address."""
    if not _JIT:
        return lambda to, source, size: ctypes.memmove(int(to), int(source), int(size))

    def copy(_context: Any, _to: Any, _source: Any, _size: Any) -> Any:  # noqa: ANN401 - Numba has no types
        def code(context: Any, builder: Any, _s: Any, args: Any) -> Any:  # noqa: ANN401 - Numba has no types
            pointer = _BYTE.as_pointer()
            function = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, _WORD])
            to, source = builder.inttoptr(args[0], pointer), builder.inttoptr(args[1], pointer)
            builder.call(function, [to, source, args[2], ir.Constant(ir.IntType(1), 0)])
            return context.get_dummy_value()

        return types.void(types.uint64, types.uint64, types.uint64), code

    return intrinsic(copy)


_load64 = _loader(_WORD, types.uint64 if _JIT else np.uint64, ctypes.c_uint64)
_load32 = _loader(_HALF, types.int32 if _JIT else np.int32, ctypes.c_int32)
_load8 = _loader(_BYTE, types.uint8 if _JIT else np.uint8, ctypes.c_uint8)
_call_void = _caller(1, None, types.void, None)
_call_half = _caller(1, _HALF, types.int32, ctypes.c_int32)
_call_word = _caller(1, _WORD, types.int64, ctypes.c_int64)
_call_two_half = _caller(2, _HALF, types.int32, ctypes.c_int32)
_call_two_word = _caller(2, _WORD, types.int64, ctypes.c_int64)
_call_five = _caller(5, _HALF, types.int32, ctypes.c_int32)
_copy = _copier()


@_named
def pop(queue: Addresses, found: Int, count: Int, wait_ms: Int, calls: Addresses, events: Addresses, messages: Addresses) -> Int:
    """Take events of a queue until it is empty, behind the ``found`` that are there, up to ``count`` in all; how many there are then.

    A message that is 0 marks an event that is an error. Events, because no callback is ever served while one is taken.
    """
    while found < count:
        event = _U(_call_two_word(calls[_POLL], queue[0], _U(wait_ms)))
        if event == _U(0):
            break
        events[found] = event
        messages[found] = _U(_call_word(calls[_NEXT], event)) if _call_half(calls[_TYPE], event) == _FETCH else _U(0)
        found += 1
        wait_ms = 0
    return found


@inline
def measure_headers(found: Int, calls: Addresses, answer: Int, totals: Longs) -> None:
    """Add the headers of one message to ``totals``."""
    for k in range(_call_word(calls[_COUNT], found)):
        _call_five(calls[_HEADER], found, _U(k), answer, answer + _U(8), answer + _U(16))
        name = _load64(answer)
        size = 0
        while _load8(name + _U(size)) != 0:
            size += 1
        totals[1] += 1
        totals[2] += size
        totals[3] += np.int64(_load64(answer + _U(16))) if _load64(answer + _U(8)) != _U(0) else 0


@_named
def survey(
    messages: Addresses, count: Int, calls: Addresses, scratch: Addresses, good: Addresses, topics: Addresses, headers: Addresses,
    errors: Words, partitions: Words, epochs: Words, kinds: Bytes, offsets: Longs, stamps: Longs, sizes: Longs, key_sizes: Longs, totals: Longs,
) -> None:  # fmt: skip
    """Read what is of one size. Errors go to ``errors`` by message; all else is packed, by good message.

    A size of -1 is NULL. ``totals``: good messages, headers, bytes of names and of values, of payloads and of keys. ``scratch``: its own address, room for three
    answers, and whether ``bare`` may be believed.
    """
    answer, believed = scratch[0] + _U(8), scratch[4] != _U(0)
    kept = 0
    totals[1] = totals[2] = totals[3] = totals[4] = totals[5] = 0
    for i in range(count):
        m = messages[i]
        errors[i] = _load32(m) if m != _U(0) else 1
        if errors[i] != 0:
            continue
        good[kept] = m
        topics[kept] = _load64(m + _U(_TOPIC))
        partitions[kept] = _load32(m + _U(_PARTITION))
        offsets[kept] = np.int64(_load64(m + _U(_OFFSET)))
        sizes[kept] = np.int64(_load64(m + _U(_SIZE))) if _load64(m + _U(_PAYLOAD)) != _U(0) else -1
        key_sizes[kept] = np.int64(_load64(m + _U(_KEY_SIZE))) if _load64(m + _U(_KEY)) != _U(0) else -1
        totals[4] += max(sizes[kept], 0)
        totals[5] += max(key_sizes[kept], 0)
        stamps[kept] = _call_two_word(calls[_STAMP], m, answer)
        kinds[kept] = np.int8(_load32(answer))
        epochs[kept] = _call_half(calls[_EPOCH], m)
        headers[kept] = _U(0)
        # Behind the value of a record of format 2, the only one with a leader epoch, the wire has the number of its headers. Asking the
        # library makes it parse them, which takes as long as all else here.
        bare = believed and epochs[kept] >= 0 and sizes[kept] > 0 and _load8(_load64(m + _U(_PAYLOAD)) + _U(sizes[kept])) == 0
        if not bare and _call_two_half(calls[_HEADERS], m, answer) == 0:
            headers[kept] = _load64(answer)
            measure_headers(headers[kept], calls, answer, totals)
        kept += 1
    totals[0] = kept


@_named
def copy(
    good: Addresses, start: Int, stop: Int, sizes: Longs, key_sizes: Longs, to: Addresses, ends: Words, key_ends: Words, nulls: Longs
) -> None:
    """Copy payloads and keys of the good messages from ``start`` to ``stop``, each kind end to end, to the two addresses of ``to``.

    ``ends`` and ``key_ends`` become Arrow's offsets, ``nulls`` how many of each kind are NULL.
    """
    value, key = to[0], to[1]
    ends[0] = key_ends[0] = end = key_end = np.int32(0)
    nulls[0] = nulls[1] = 0
    for i in range(start, stop):
        m, size, key_size = good[i], sizes[i], key_sizes[i]
        if size > 0:
            _copy(value, _load64(m + _U(_PAYLOAD)), _U(size))
            value += _U(size)
            end += np.int32(size)
        elif size < 0:
            nulls[0] += 1
        if key_size > 0:
            _copy(key, _load64(m + _U(_KEY)), _U(key_size))
            key += _U(key_size)
            key_end += np.int32(key_size)
        elif key_size < 0:
            nulls[1] += 1
        ends[i - start + 1], key_ends[i - start + 1] = end, key_end


@_named
def copy_headers(
    headers: Addresses, start: Int, stop: Int, calls: Addresses, scratch: Addresses, counts: Longs, sizes: Longs, value_sizes: Longs,
    to: Addresses,
) -> None:  # fmt: skip
    """Copy the headers of the good messages from ``start`` to ``stop``: how many each has, sizes (-1 is NULL), names and values."""
    answer = scratch[0] + _U(8)
    to_name, to_value = to[0], to[1]
    at = 0
    for i in range(start, stop):
        counts[i - start] = 0
        if headers[i] == _U(0):
            continue
        counts[i - start] = _call_word(calls[_COUNT], headers[i])
        for k in range(counts[i - start]):
            _call_five(calls[_HEADER], headers[i], _U(k), answer, answer + _U(8), answer + _U(16))
            name, value = _load64(answer), _load64(answer + _U(8))
            size = 0
            while _load8(name + _U(size)) != 0:
                size += 1
            _copy(to_name, name, _U(size))
            to_name += _U(size)
            sizes[at] = size
            value_sizes[at] = np.int64(_load64(answer + _U(16))) if value != _U(0) else -1
            if value_sizes[at] > 0:
                _copy(to_value, value, _U(value_sizes[at]))
                to_value += _U(value_sizes[at])
            at += 1


@_named
def destroy(events: Addresses, count: Int, calls: Addresses) -> None:
    """Give events back to the library, with their messages."""
    for i in range(count):
        _call_void(calls[_DESTROY], events[i])


def compile_all() -> None:
    """Compile every loop, or load it from the cache, by a call that does nothing."""
    a, longs, words, octets = np.zeros(9, np.uint64), np.zeros(6, np.int64), np.zeros(6, np.int32), np.zeros(6, np.int8)
    pop(a, 0, 0, 0, a, a, a)
    survey(a, 0, a, a, a, a, a, words, words, words, octets, longs, longs, longs, longs, longs)
    copy(a, 0, 0, longs, longs, a, words, words, longs)
    copy_headers(a, 0, 0, a, a, longs, longs, longs, a)
    destroy(a, 0, a)


def cached() -> bool:
    """Whether every loop is in the cache already."""
    names = [path.name for path in cache_folder().glob(f"*_{_OWN_SOURCE}-*.nbi")]
    return not _JIT or all(any(f".{loop}_" in name for name in names) for loop in ("pop", "survey", "copy", "copy_headers", "destroy"))


if __name__ == "__main__":
    compile_all()

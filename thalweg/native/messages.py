"""The loops that copy client messages into column buffers, compiled.

Messages are addresses of ``rd_kafka_message_t``; the library's functions come as addresses too, in the order of ``rdkafka.CALLS``, so
that the machine code can be cached. Nothing here allocates, takes the GIL or raises.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from thalweg.kernels.jit import inline, kernel
from thalweg.kernels.machine import Addresses, Int, U, caller, copy_bytes, load8, load32, load64

Longs: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.int32]
Bytes: TypeAlias = npt.NDArray[np.int8]

_STAMP, _EPOCH, _HEADERS, _COUNT, _HEADER, _POLL, _TYPE, _NEXT, _DESTROY = range(9)
_FETCH = 2
"""Kind of the event that brings a message."""
_ERR, _TOPIC, _PARTITION, _PAYLOAD, _SIZE, _KEY, _KEY_SIZE, _OFFSET = 0, 8, 16, 24, 32, 40, 48, 56

_call_void = caller(1, "void")
_call_half = caller(1, "int32")
_call_word = caller(1, "int64")
_call_two_half = caller(2, "int32")
_call_two_word = caller(2, "int64")
_call_five = caller(5, "int32")


@kernel
def pop(queue: Addresses, found: Int, count: Int, wait_ms: Int, calls: Addresses, events: Addresses, messages: Addresses) -> Int:
    """Take events of a queue until it is empty, behind the ``found`` that are there, up to ``count`` in all; how many there are then.

    A message that is 0 marks an event that is an error. Events, because no callback is ever served while one is taken.
    """
    while found < count:
        event = U(_call_two_word(calls[_POLL], queue[0], U(wait_ms)))
        if event == U(0):
            break
        events[found] = event
        messages[found] = U(_call_word(calls[_NEXT], event)) if _call_half(calls[_TYPE], event) == _FETCH else U(0)
        found += 1
        wait_ms = 0
    return found


@inline
def measure_headers(found: Int, calls: Addresses, answer: Int, totals: Longs) -> None:
    """Add the headers of one message to ``totals``."""
    for k in range(_call_word(calls[_COUNT], found)):
        _call_five(calls[_HEADER], found, U(k), answer, answer + U(8), answer + U(16))
        name = load64(answer)
        size = 0
        while load8(name + U(size)) != 0:
            size += 1
        totals[1] += 1
        totals[2] += size
        totals[3] += np.int64(load64(answer + U(16))) if load64(answer + U(8)) != U(0) else 0


@kernel
def survey(
    messages: Addresses, count: Int, calls: Addresses, scratch: Addresses, good: Addresses, topics: Addresses, headers: Addresses,
    errors: Words, partitions: Words, epochs: Words, kinds: Bytes, offsets: Longs, stamps: Longs, sizes: Longs, key_sizes: Longs, totals: Longs,
) -> None:  # fmt: skip
    """Read what is of one size. Errors go to ``errors`` by message; all else is packed, by good message.

    A size of -1 is NULL. ``totals``: good messages, headers, bytes of names and of values, of payloads and of keys. ``scratch``: its own address, room for three
    answers, and whether ``bare`` may be believed.
    """
    answer, believed = scratch[0] + U(8), scratch[4] != U(0)
    kept = 0
    totals[1] = totals[2] = totals[3] = totals[4] = totals[5] = 0
    for i in range(count):
        m = messages[i]
        errors[i] = load32(m) if m != U(0) else 1
        if errors[i] != 0:
            continue
        good[kept] = m
        topics[kept] = load64(m + U(_TOPIC))
        partitions[kept] = load32(m + U(_PARTITION))
        offsets[kept] = np.int64(load64(m + U(_OFFSET)))
        sizes[kept] = np.int64(load64(m + U(_SIZE))) if load64(m + U(_PAYLOAD)) != U(0) else -1
        key_sizes[kept] = np.int64(load64(m + U(_KEY_SIZE))) if load64(m + U(_KEY)) != U(0) else -1
        totals[4] += max(sizes[kept], 0)
        totals[5] += max(key_sizes[kept], 0)
        stamps[kept] = _call_two_word(calls[_STAMP], m, answer)
        kinds[kept] = np.int8(load32(answer))
        epochs[kept] = _call_half(calls[_EPOCH], m)
        headers[kept] = U(0)
        # Behind the value of a record of format 2, the only one with a leader epoch, the wire has the number of its headers. Asking the
        # library makes it parse them, which takes as long as all else here.
        bare = believed and epochs[kept] >= 0 and sizes[kept] > 0 and load8(load64(m + U(_PAYLOAD)) + U(sizes[kept])) == 0
        if not bare and _call_two_half(calls[_HEADERS], m, answer) == 0:
            headers[kept] = load64(answer)
            measure_headers(headers[kept], calls, answer, totals)
        kept += 1
    totals[0] = kept


@kernel
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
            copy_bytes(value, load64(m + U(_PAYLOAD)), U(size))
            value += U(size)
            end += np.int32(size)
        elif size < 0:
            nulls[0] += 1
        if key_size > 0:
            copy_bytes(key, load64(m + U(_KEY)), U(key_size))
            key += U(key_size)
            key_end += np.int32(key_size)
        elif key_size < 0:
            nulls[1] += 1
        ends[i - start + 1], key_ends[i - start + 1] = end, key_end


@kernel
def copy_headers(
    headers: Addresses, start: Int, stop: Int, calls: Addresses, scratch: Addresses, counts: Longs, sizes: Longs, value_sizes: Longs,
    to: Addresses,
) -> None:  # fmt: skip
    """Copy the headers of the good messages from ``start`` to ``stop``: how many each has, sizes (-1 is NULL), names and values."""
    answer = scratch[0] + U(8)
    to_name, to_value = to[0], to[1]
    at = 0
    for i in range(start, stop):
        counts[i - start] = 0
        if headers[i] == U(0):
            continue
        counts[i - start] = _call_word(calls[_COUNT], headers[i])
        for k in range(counts[i - start]):
            _call_five(calls[_HEADER], headers[i], U(k), answer, answer + U(8), answer + U(16))
            name, value = load64(answer), load64(answer + U(8))
            size = 0
            while load8(name + U(size)) != 0:
                size += 1
            copy_bytes(to_name, name, U(size))
            to_name += U(size)
            sizes[at] = size
            value_sizes[at] = np.int64(load64(answer + U(16))) if value != U(0) else -1
            if value_sizes[at] > 0:
                copy_bytes(to_value, value, U(value_sizes[at]))
                to_value += U(value_sizes[at])
            at += 1


@kernel
def destroy(events: Addresses, count: Int, calls: Addresses) -> None:
    """Give events back to the library, with their messages."""
    for i in range(count):
        _call_void(calls[_DESTROY], events[i])

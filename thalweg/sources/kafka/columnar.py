"""Client messages to columns without a Python object for any of them: partition queues, drained by compiled loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from confluent_kafka import KafkaError

from thalweg.arrow.batch import BadRows
from thalweg.native.rdkafka import Client, Queues
from thalweg.sources.kafka.columns import binary, headers, sized
from thalweg.sources.kafka.messages import EOF
from thalweg.sources.kafka.reader import Fault, Fields, Taken, make_block
from thalweg.sources.kafka.rooms import Rooms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt
    from confluent_kafka import Consumer

    from thalweg.model.clock import Clock
    from thalweg.sources.kafka.reader import Key

_WAIT_MS: Final = 2
_QUEUES_PER_MS: Final = 50
"""A wait is for one partition only, so it is short, but longer where there are many partitions to look at in between."""
MOST: Final = 65_536
"""Messages of one drain."""
_PART_BYTES: Final = 1 << 30
"""Bytes of one column of one block: Arrow's offsets have 31 bits, and no message is larger than this."""


class Drain:
    """Takes messages from the partition queues of a consumer; used by the thread that owns it."""

    def __init__(self, consumer: Consumer, client_id: str, loops: Any, clock: Clock) -> None:  # noqa: ANN401 - the module of loops
        """Prove the client's handle; raises Unproved. ``loops`` is ``native/messages.py``, which is imported late."""
        self._client = Client(consumer, client_id)
        self._queues = Queues(self._client)
        self._copying = Copying(loops, self._client.calls(), self._client.topic, in_place=self._client.payloads_in_place)
        self._events = np.zeros(MOST, np.uint64)
        self._messages = np.zeros(MOST, np.uint64)
        self._clock = clock

    def hold(self, keys: Iterable[Key]) -> None:
        """Take partitions' messages from now on; called before they are assigned, or before a seek."""
        for key in keys:
            self._queues.join(*key)

    def release(self, keys: Iterable[Key]) -> None:
        """Let go of partitions."""
        for key in keys:
            self._queues.leave(*key)

    def begin(self) -> Rooms:
        """The next message is the first of an epoch; where payloads are copied to from now on."""
        self._copying.rooms.begin()
        return self._copying.rooms

    def take(self, count: int, seconds: float) -> Taken:
        """Up to ``count`` messages of all partitions in turn; where none has any, waits a moment for one of them."""
        found, most = 0, min(count, MOST)
        try:
            for _ in range(len(self._queues)):
                found = self._pop(found, most, 0)
                if found == most:
                    break
            if not found:
                longest_ms = max(_WAIT_MS, len(self._queues) // _QUEUES_PER_MS)
                found = self._pop(0, most, min(int(seconds * 1000), longest_ms))
            return self._sorted(found, self._clock.now_ns() // 1_000) if found else Taken()
        finally:
            self._copying.destroy(self._events, found)

    def close(self) -> None:
        """Let go of everything; before the consumer is closed."""
        self._queues.close()

    def _pop(self, found: int, most: int, wait_ms: int) -> int:
        """Take from the next partition, behind the ``found`` events that are there; how many there are then."""
        queue = self._queues.turn()
        return found if queue is None else self._copying.pop(queue, found, most, wait_ms, self._events, self._messages)

    def _sorted(self, count: int, stamp_us: int) -> Taken:
        """Messages as columns, ends and errors."""
        taken = Taken()
        survey = self._copying.survey(self._messages, count)
        for i in np.flatnonzero(survey.errors[:count]) if survey.good < count else ():
            error = self._client.error(int(self._events[i]))
            if error.code == EOF and error.partition is not None:
                taken.ends[error.partition] = error.offset
            elif error.code:
                taken.faults.append(Fault(KafkaError(error.code, error.reason), error.partition))
        taken.blocks = [make_block(self._copying.fields(survey, *part), stamp_us) for part in survey.parts(_PART_BYTES)]
        return taken


class Survey:
    """What the first pass over messages found: everything of one size, and how much there is to copy."""

    def __init__(self, count: int) -> None:
        """Room for ``count`` messages."""
        self.pointers, self.topics, self.headers = (np.empty(count, np.uint64) for _ in range(3))
        self.errors, self.partitions, self.epochs = (np.empty(count, np.int32) for _ in range(3))
        self.kinds = np.empty(count, np.int8)
        self.offsets, self.stamps, self.sizes, self.key_sizes = (np.empty(count, np.int64) for _ in range(4))
        self.totals = np.zeros(6, np.int64)

    @property
    def good(self) -> int:
        """Messages that are records."""
        return int(self.totals[0])

    def parts(self, nbytes: int) -> list[tuple[int, int]]:
        """Runs of records, in order, none of them larger than ``nbytes`` unless it is one record."""
        if self.totals[4] + self.totals[5] <= nbytes:
            return [(0, self.good)] if self.good else []
        ends = np.cumsum(np.maximum(self.sizes[: self.good], 0) + np.maximum(self.key_sizes[: self.good], 0))
        out, start, before = [], 0, 0
        while start < self.good:
            stop = max(start + 1, int(np.searchsorted(ends, before + nbytes, "right")))
            out.append((start, stop))
            start, before = stop, int(ends[stop - 1])
        return out

    def nbytes(self, start: int, stop: int) -> tuple[int, int]:
        """Bytes of payloads and of keys of the records from ``start`` to ``stop``."""
        if (start, stop) == (0, self.good):
            return int(self.totals[4]), int(self.totals[5])
        return int(np.maximum(self.sizes[start:stop], 0).sum()), int(np.maximum(self.key_sizes[start:stop], 0).sum())


class Copying:
    """The compiled loops with the buffers they work on."""

    def __init__(
        self, loops: Any, calls: npt.NDArray[np.uint64], name: Callable[[int], str], *, in_place: bool = False  # noqa: ANN401 - a module
    ) -> None:
        """``calls`` are the library's functions; ``name`` says what a topic's address is called; ``in_place``: see ``native/rdkafka.py``."""
        self.rooms = Rooms()
        self._loops = loops
        self._calls = calls
        self._name = name
        self._scratch = np.zeros(5, np.uint64)
        self._scratch[0], self._scratch[4] = self._scratch.ctypes.data, in_place

    def survey(self, messages: npt.NDArray[np.uint64], count: int) -> Survey:
        """The first pass."""
        s = Survey(count)
        self._loops.survey(
            messages, count, self._calls, self._scratch, s.pointers, s.topics, s.headers, s.errors, s.partitions, s.epochs, s.kinds,
            s.offsets, s.stamps, s.sizes, s.key_sizes, s.totals,
        )  # fmt: skip
        return s

    def pop(
        self, queue: int, found: int, most: int, wait_ms: int, events: npt.NDArray[np.uint64], messages: npt.NDArray[np.uint64]
    ) -> int:
        """Take events of a queue; how many there are then. Each must be destroyed once."""
        return int(self._loops.pop(np.array([queue], np.uint64), found, most, wait_ms, self._calls, events, messages))

    def destroy(self, events: npt.NDArray[np.uint64], count: int) -> None:
        """Give events back."""
        if count:
            self._loops.destroy(events, count, self._calls)

    def fields(self, survey: Survey, start: int, stop: int) -> Fields:
        """The second pass, over the records from ``start`` to ``stop``."""
        part, rows, bad = slice(start, stop), stop - start, BadRows()
        nbytes, key_bytes = survey.nbytes(start, stop)
        values, keys = self.rooms.cut(nbytes), pa.py_buffer(np.empty(key_bytes, np.uint8))
        ends, key_ends, nulls = np.empty(rows + 1, np.int32), np.empty(rows + 1, np.int32), np.zeros(2, np.int64)
        to = np.array([values.address, keys.address], np.uint64)
        self._loops.copy(survey.pointers, start, stop, survey.sizes, survey.key_sizes, to, ends, key_ends, nulls)
        places, at = self._places(survey.topics[part], survey.partitions[part])
        return Fields(
            places, at, survey.offsets[part], binary(ends, values, survey.sizes[part] if nulls[0] else None),
            binary(key_ends, keys, survey.key_sizes[part] if nulls[1] else None), survey.epochs[part], survey.kinds[part], survey.stamps[part],
            self._headers(survey, start, stop, bad) if survey.totals[1] else None, nbytes + key_bytes, bad,
        )  # fmt: skip

    def _places(self, topics: npt.NDArray[np.uint64], partitions: npt.NDArray[np.int32]) -> tuple[tuple[Key, ...], npt.NDArray[np.int32]]:
        """Partitions, and which of them each record is of; messages come in long runs of one partition."""
        changes = np.flatnonzero((topics[1:] != topics[:-1]) | (partitions[1:] != partitions[:-1])) + 1
        starts = np.concatenate([np.zeros(1, np.int64), changes])
        names = {int(topic): self._name(int(topic)) for topic in np.unique(topics[starts])}
        places: dict[Key, int] = {}
        runs = [places.setdefault((names[int(topics[i])], int(partitions[i])), len(places)) for i in starts]
        return tuple(places), np.repeat(np.array(runs, np.int32), np.diff(np.append(starts, len(topics))))

    def _headers(self, survey: Survey, start: int, stop: int, bad: BadRows) -> pa.Array:
        """The header column; a key that is not UTF-8 makes a bad row with NULL headers."""
        _, found, name_bytes, value_bytes = (int(n) for n in survey.totals[:4])
        counts, sizes, value_sizes = np.empty(stop - start, np.int64), np.empty(found, np.int64), np.empty(found, np.int64)
        name, value = np.empty(name_bytes, np.uint8), np.empty(value_bytes, np.uint8)
        to = np.array([name.ctypes.data, value.ctypes.data], np.uint64)
        self._loops.copy_headers(survey.headers, start, stop, self._calls, self._scratch, counts, sizes, value_sizes, to)
        total = int(counts.sum())
        return headers(counts, sized(sizes[:total], name), sized(value_sizes[:total], value), bad)

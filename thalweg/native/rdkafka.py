"""ctypes binding of the librdkafka inside the Kafka client: partition queues of a consumer that the client made.

Everything here belongs to the one thread that owns the consumer.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import confluent_kafka
import numpy as np

from thalweg.native.library import client_library

if TYPE_CHECKING:
    import numpy.typing as npt

    from thalweg.native.library import Signature

_POINTER: Final = ctypes.c_void_p
_TEXT: Final = ctypes.c_char_p
_INT: Final = ctypes.c_int
_SIGNATURES: Final[dict[str, Signature]] = {
    "rd_kafka_version": (_INT, ()),
    "rd_kafka_name": (_TEXT, (_POINTER,)),
    "rd_kafka_memberid": (_POINTER, (_POINTER,)),
    "rd_kafka_mem_free": (None, (_POINTER, _POINTER)),
    "rd_kafka_topic_name": (_TEXT, (_POINTER,)),
    "rd_kafka_queue_destroy": (None, (_POINTER,)),
    "rd_kafka_queue_forward": (None, (_POINTER, _POINTER)),
    "rd_kafka_queue_get_partition": (_POINTER, (_POINTER, _TEXT, ctypes.c_int32)),
    "rd_kafka_event_error": (_INT, (_POINTER,)),
    "rd_kafka_event_error_string": (_TEXT, (_POINTER,)),
    "rd_kafka_event_topic_partition": (_POINTER, (_POINTER,)),
    "rd_kafka_topic_partition_destroy": (None, (_POINTER,)),
}
CALLS: Final = (
    "rd_kafka_message_timestamp", "rd_kafka_message_leader_epoch", "rd_kafka_message_headers", "rd_kafka_header_cnt",
    "rd_kafka_header_get_all", "rd_kafka_queue_poll", "rd_kafka_event_type", "rd_kafka_event_message_next", "rd_kafka_event_destroy",
)
"""Functions that the copy loop calls by address, in this order."""
_PLAIN_PAYLOADS: Final = frozenset({0x021000FF})
"""Versions of the library whose payloads were seen to lie where they were received, whatever their compression."""
_LOOKED_AT: Final = 1024
"""Bytes of the handle that must be readable before it is believed; the library's own struct is larger."""


class Unproved(Exception):
    """The client's insides are not as this module knows them; says why."""


class _TopicPartition(ctypes.Structure):
    """The head of ``rd_kafka_topic_partition_t``, the same in every version of the library."""

    _fields_ = (("topic", _TEXT), ("partition", ctypes.c_int32), ("offset", ctypes.c_int64))


class ErrorEvent(NamedTuple):
    """What an error event says."""

    code: int
    reason: str
    partition: tuple[str, int] | None
    offset: int


class Client:
    """The library's side of a consumer that the Kafka client made; proved before anything is called."""

    def __init__(self, consumer: confluent_kafka.Consumer, client_id: str) -> None:
        """Find the handle and prove it; raises Unproved where that cannot be done."""
        self.lib = _library()
        self.handle = _handle(consumer)
        name = cast("bytes", self.lib.rd_kafka_name(self.handle)).decode(errors="replace")
        if not name.startswith(f"{client_id}#consumer-"):
            raise Unproved(f"the client's handle has the name {name[:80]!r}")
        member = self._member()
        if member != (consumer.memberid() or ""):
            raise Unproved("the client's handle belongs to another member of the group")

    def _member(self) -> str:
        """The member id that the handle knows."""
        found = self.lib.rd_kafka_memberid(self.handle)
        if not found:
            return ""
        try:
            return ctypes.string_at(found).decode()
        finally:
            self.lib.rd_kafka_mem_free(self.handle, found)

    def topic(self, address: int) -> str:
        """Name of the topic behind a message's topic handle."""
        return cast("bytes", self.lib.rd_kafka_topic_name(address)).decode()

    def error(self, event: int) -> ErrorEvent:
        """What an event says that brought no message; code 0 where it is none."""
        code = self.lib.rd_kafka_event_error(event)
        reason = cast("bytes", self.lib.rd_kafka_event_error_string(event) or b"").decode(errors="replace")
        place = self.lib.rd_kafka_event_topic_partition(event)
        if not place:
            return ErrorEvent(code, reason, None, -1)
        try:
            found = _TopicPartition.from_address(place)
            return ErrorEvent(code, reason, (found.topic.decode(), found.partition), found.offset)
        finally:
            self.lib.rd_kafka_topic_partition_destroy(place)

    @property
    def payloads_in_place(self) -> bool:
        """Whether the bytes behind a payload are those that were behind it on the wire; False where nobody has looked."""
        return self.lib.rd_kafka_version() in _PLAIN_PAYLOADS

    def calls(self) -> npt.NDArray[np.uint64]:
        """Addresses of :data:`CALLS`."""
        return np.array([address_of(getattr(self.lib, name)) for name in CALLS], np.uint64)


class Queues:
    """Queues of partitions, each cut off from the consumer's own: no callback of the client is ever served from them.

    They are forwarded nowhere: the library breaks forwarding whenever it stops a partition, and purges the queue behind it when it
    forgets one.
    """

    def __init__(self, client: Client) -> None:
        """None is taken yet."""
        self._lib = client.lib
        self._handle = client.handle
        self._joined: dict[tuple[str, int], int] = {}
        self._turn = 0

    def join(self, topic: str, partition: int) -> None:
        """Let a partition's messages wait here; before it is assigned, or with a seek behind it, so that none is on another way."""
        if (topic, partition) not in self._joined:
            found = self._lib.rd_kafka_queue_get_partition(self._handle, topic.encode(), partition)
            self._lib.rd_kafka_queue_forward(found, None)
            self._joined[topic, partition] = found

    def leave(self, topic: str, partition: int) -> None:
        """Let go of a partition's queue; what waits in it is dropped by the library, since its assignment is over."""
        found = self._joined.pop((topic, partition), None)
        if found is not None:
            self._lib.rd_kafka_queue_destroy(found)

    def turn(self) -> int | None:
        """Address of the next partition's queue, each in its turn; None where there is none."""
        if not self._joined:
            return None
        queues = list(self._joined.values())
        self._turn = (self._turn + 1) % len(queues)
        return queues[self._turn]

    def __len__(self) -> int:
        """How many partitions are taken."""
        return len(self._joined)

    def close(self) -> None:
        """Let go of everything, before the consumer is closed; does nothing the second time."""
        for key in list(self._joined):
            self.leave(*key)


def address_of(function: Any) -> int:  # noqa: ANN401 - any ctypes function
    """Where a ctypes function's machine code is."""
    found = ctypes.cast(function, _POINTER).value
    assert found is not None
    return found


def _library() -> ctypes.CDLL:
    """The client's library, proved to be the one that the client runs on."""
    try:
        lib = client_library(_SIGNATURES)
    except (OSError, AttributeError) as e:
        raise Unproved(f"librdkafka cannot be used: {e}") from None
    if lib is None:
        raise Unproved("librdkafka is not where confluent-kafka keeps it")
    if lib.rd_kafka_version() != confluent_kafka.libversion()[1]:
        raise Unproved("the librdkafka that was found is not the one that the client runs on")
    return lib


def _handle(consumer: confluent_kafka.Consumer) -> int:
    """The client's handle: the first field behind the object header. Only ever read through checks."""
    if type(consumer) is not confluent_kafka.Consumer or confluent_kafka.Consumer.__basicsize__ <= object.__basicsize__:
        raise Unproved("the client's consumer is of a kind that is not known")
    found = _POINTER.from_address(id(consumer) + object.__basicsize__).value
    if not found or found % 8 or not readable(found, _LOOKED_AT):
        raise Unproved("the client's consumer has no handle where one was expected")
    return found


def readable(address: int, size: int) -> bool:
    """Whether memory can be read; asked of the kernel, which answers with an error where we would crash."""
    reading, writing = os.pipe()
    try:
        os.write(writing, (ctypes.c_char * size).from_address(address))
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(reading)
        os.close(writing)

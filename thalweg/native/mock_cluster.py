"""ctypes binding of librdkafka's mock cluster: Kafka brokers inside this process, on loopback."""

from __future__ import annotations

import ctypes
from typing import Final

from thalweg.errors import SourceFailed
from thalweg.native.library import client_library

_POINTER: Final = ctypes.c_void_p
_TEXT: Final = ctypes.c_char_p
_INT: Final = ctypes.c_int
_I32: Final = ctypes.c_int32
_I64: Final = ctypes.c_int64
_SIGNATURES: Final[dict[str, tuple[type | None, tuple[type, ...]]]] = {
    "rd_kafka_conf_new": (_POINTER, ()),
    "rd_kafka_conf_set": (_INT, (_POINTER, _TEXT, _TEXT, _TEXT, ctypes.c_size_t)),
    "rd_kafka_new": (_POINTER, (_INT, _POINTER, _TEXT, ctypes.c_size_t)),
    "rd_kafka_destroy": (None, (_POINTER,)),
    "rd_kafka_mock_cluster_new": (_POINTER, (_POINTER, _INT)),
    "rd_kafka_mock_cluster_destroy": (None, (_POINTER,)),
    "rd_kafka_mock_cluster_bootstraps": (_TEXT, (_POINTER,)),
    "rd_kafka_mock_topic_create": (_INT, (_POINTER, _TEXT, _INT, _INT)),
    "rd_kafka_mock_topic_set_error": (None, (_POINTER, _TEXT, _INT)),
    "rd_kafka_mock_partition_set_leader": (_INT, (_POINTER, _TEXT, _I32, _I32)),
    "rd_kafka_mock_broker_set_down": (_INT, (_POINTER, _I32)),
    "rd_kafka_mock_broker_set_up": (_INT, (_POINTER, _I32)),
    "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, (_POINTER, _I32)),
    "rd_kafka_mock_push_request_errors_array": (None, (_POINTER, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(_INT))),
}


class MockCluster:
    """Brokers of this process; gone with it, or when closed."""

    def __init__(self, brokers: int = 1) -> None:
        """Start ``brokers`` brokers on free loopback ports."""
        self._lib = _library()
        conf = self._lib.rd_kafka_conf_new()
        self._lib.rd_kafka_conf_set(conf, b"log_level", b"0", None, 0)
        reason = ctypes.create_string_buffer(512)
        self._client = self._lib.rd_kafka_new(0, conf, reason, len(reason))
        if not self._client:
            raise SourceFailed(f"the embedded broker does not start: {reason.value.decode()}")
        self._cluster = self._lib.rd_kafka_mock_cluster_new(self._client, brokers)
        if not self._cluster:
            raise SourceFailed("the embedded broker does not start: no loopback port can be opened")
        self.bootstrap: str = self._lib.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self._lib.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)

    def create_topic(self, name: str, partitions: int, replicas: int = 1) -> bool:
        """Make a topic; False where it is there already."""
        return bool(self._lib.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, replicas) == 0)

    def topic_error(self, name: str, code: int) -> None:
        """Answer every question about a topic with this error code; 0 ends it."""
        self._lib.rd_kafka_mock_topic_set_error(self._cluster, name.encode(), code)

    def push_errors(self, api_key: int, *codes: int) -> None:
        """Answer the next requests of one kind (Fetch 1, OffsetCommit 8, ...) with these error codes; -195 drops the connection."""
        self._lib.rd_kafka_mock_push_request_errors_array(self._cluster, api_key, len(codes), (_INT * len(codes))(*codes))

    def set_leader(self, topic: str, partition: int, broker: int) -> None:
        """Move a partition to another broker; -1: to none."""
        self._lib.rd_kafka_mock_partition_set_leader(self._cluster, topic.encode(), partition, broker)

    def broker_down(self, broker: int = 1) -> None:
        """Close a broker's connections and refuse new ones."""
        self._lib.rd_kafka_mock_broker_set_down(self._cluster, broker)

    def broker_up(self, broker: int = 1) -> None:
        """Let a broker answer again."""
        self._lib.rd_kafka_mock_broker_set_up(self._cluster, broker)

    def close(self) -> None:
        """Stop the brokers; everything in them is gone. Does nothing the second time."""
        if self._cluster:
            self._lib.rd_kafka_mock_cluster_destroy(self._cluster)
            self._lib.rd_kafka_destroy(self._client)
            self._cluster = self._client = None


def _library() -> ctypes.CDLL:
    """The client's library; raises SourceFailed where it is not found."""
    lib = client_library(_SIGNATURES)
    if lib is None:
        raise SourceFailed("the embedded broker needs librdkafka, which is not where confluent-kafka keeps it", hint="use a real broker")
    return lib

"""From modes and timestamps to numbers: where partitions start, where a bounded run ends, what is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import KafkaException, TopicPartition

from thalweg.errors import SourceFailed
from thalweg.ports.source import Committed
from thalweg.sources.kafka.client import reset_policy

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from confluent_kafka import Consumer

    from thalweg.sources.kafka.faults import Patience
    from thalweg.sources.kafka.options import KafkaOptions
    from thalweg.sources.kafka.reader import Key


class Positions:
    """Asks the brokers where things are; every answer is a plain offset."""

    def __init__(self, consumer: Consumer, options: KafkaOptions, patience: Patience) -> None:
        """Calls are made from the reader thread, callbacks included."""
        self._consumer = consumer
        self._options = options
        self._patience = patience

    def committed(self, keys: Collection[Key]) -> dict[Key, Committed | None]:
        """The group's offsets, with the note stored beside each."""
        if not keys:
            return {}

        def call(seconds: float) -> list[TopicPartition]:
            found: list[TopicPartition] = self._consumer.committed([TopicPartition(*key) for key in keys], timeout=seconds)
            return _checked(found)

        found = self._patience.ask("the group's committed offsets cannot be read", call)
        return {(tp.topic, tp.partition): Committed(tp.offset, tp.metadata or "") if tp.offset >= 0 else None for tp in found}

    def watermarks(self, key: Key) -> tuple[int, int]:
        """First offset, and end: behind the last record, or the last stable offset under ``read_committed``."""

        def call(seconds: float) -> tuple[int, int]:
            found: tuple[int, int] = self._consumer.get_watermark_offsets(TopicPartition(*key), timeout=seconds)
            return found

        return self._patience.ask(f"the offsets of {key[0]}[{key[1]}] cannot be read", call)

    def at_time(self, keys: Collection[Key], timestamp_ms: int) -> dict[Key, int]:
        """First offset whose timestamp is not before ``timestamp_ms``; the end where there is none."""
        if not keys:
            return {}

        def call(seconds: float) -> list[TopicPartition]:
            wanted = [TopicPartition(topic, index, timestamp_ms) for topic, index in keys]
            return _checked(self._consumer.offsets_for_times(wanted, timeout=seconds))

        found = self._patience.ask("offsets for a timestamp cannot be read", call)
        offsets = {(tp.topic, tp.partition): tp.offset for tp in found}
        return {key: offset if offset >= 0 else self.watermarks(key)[1] for key, offset in offsets.items()}

    def starts(self, keys: Collection[Key]) -> dict[Key, int]:
        """Where partitions start that have no position anywhere."""
        mode, options = self._options.startup_mode, self._options
        if mode == "timestamp":
            return self.at_time(keys, options.startup_timestamp_ms or 0)
        if mode == "group-offsets":
            return self._group_starts(keys)
        given = (options.startup_offsets or {}) if mode == "specific-offsets" else {}
        end = 1 if mode == "latest-offset" else 0
        return {key: given[key[1]] if key[1] in given else self.watermarks(key)[end] for key in keys}

    def _group_starts(self, keys: Collection[Key]) -> dict[Key, int]:
        """The group's offsets; where it has none, what ``auto.offset.reset`` says."""
        policy, out = reset_policy(self._options), {}
        for key, committed in self.committed(keys).items():
            if committed is not None:
                out[key] = committed.offset
            elif policy == "error":
                message = "the group has no committed offset and 'scan.startup.mode' is 'group-offsets'"
                raise SourceFailed(message, where=f"{key[0]}[{key[1]}]", hint="choose another mode, or set 'properties.auto.offset.reset'")
            else:
                out[key] = self.watermarks(key)[policy == "latest"]
        return out

    def ends(self, keys: Collection[Key]) -> dict[Key, int]:
        """Where a bounded run ends, by partition."""
        mode, options = self._options.bounded_mode, self._options
        if mode == "timestamp":
            return self.at_time(keys, options.bounded_timestamp_ms or 0)
        given: Mapping[Key, int] = {}
        if mode == "specific-offsets":
            given = {key: (options.bounded_offsets or {})[key[1]] for key in keys if key[1] in (options.bounded_offsets or {})}
        elif mode == "group-offsets":
            given = {key: c.offset for key, c in self.committed(keys).items() if c is not None}
        if options.ends_by_now:
            return {key: min(given.get(key, now), now) for key in keys for now in (self.watermarks(key)[1],)}
        return {key: given[key] if key in given else self.watermarks(key)[1] for key in keys}


def _checked(found: list[TopicPartition]) -> list[TopicPartition]:
    """The answers; raises the first error that one of them carries."""
    for tp in found:
        if tp.error is not None:
            raise KafkaException(tp.error)
    return found

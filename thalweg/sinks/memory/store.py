"""What memory targets hold. The one process-wide object of the sinks: whoever runs a pipeline in this process reads its rows here."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thalweg.model.position import Partition, Span
from thalweg.model.spans import SpanSet

if TYPE_CHECKING:
    import pyarrow as pa

    from thalweg.model.position import TopicIdentity


@dataclass(slots=True)
class MemoryTable:
    """Rows and spans of one relation in one target."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    spans: SpanSet = field(default_factory=SpanSet)
    """Keyed by partitions whose topic is ``cluster id/topic id``."""
    deliveries: int = 0


Key = tuple[str, str, str]
"""Location, relation, pipeline."""


class MemoryStore:
    """Tables by target, relation and pipeline; thread-safe."""

    def __init__(self) -> None:
        """Empty."""
        self._lock = threading.Lock()
        self._tables: dict[Key, MemoryTable] = {}

    def add(self, key: Key, batches: list[pa.RecordBatch], spans: list[Span]) -> bool:
        """Add rows with their spans; False, and nothing happens, where any of the spans is there already."""
        with self._lock:
            table = self._tables.setdefault(key, MemoryTable())
            if any(table.spans.overlaps(span) for span in spans):
                return False
            table.spans.update(spans)
            table.batches += batches
            table.deliveries += 1
            return True

    def ranges(self, key: Key, partition: Partition) -> list[tuple[int, int]]:
        """Ranges of a keyed partition."""
        with self._lock:
            table = self._tables.get(key)
            return table.spans.ranges(partition) if table else []

    def batches(self, target: str, relation: str | None = None) -> list[pa.RecordBatch]:
        """Batches in the order in which they became durable; of every relation where none is named."""
        with self._lock:
            return [b for (t, r, _), table in self._tables.items() if t == target and relation in {None, r} for b in table.batches]

    def rows(self, target: str, relation: str | None = None) -> list[dict[str, Any]]:
        """The same as Python rows."""
        return [row for batch in self.batches(target, relation) for row in batch.to_pylist()]

    def has(self, key: Key) -> bool:
        """Whether there is such a table."""
        with self._lock:
            return key in self._tables

    def drop(self, key: Key) -> bool:
        """Forget a table; whether there was one."""
        with self._lock:
            return self._tables.pop(key, None) is not None


def keyed(partition: Partition, identity: TopicIdentity) -> Partition:
    """The partition under which spans are kept: a topic made again is another topic."""
    return Partition(partition.source, f"{identity.cluster_id}/{identity.topic_id}", partition.index)


STORE = MemoryStore()

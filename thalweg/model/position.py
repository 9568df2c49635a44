"""One place in one partition, and a half-open run of places."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """One partition of one topic, as read by one source table."""

    source: str
    """Name of the source table: two tables over one topic have positions of their own."""
    topic: str
    index: int

    def __str__(self) -> str:
        """``topic[index]``, the way brokers write it."""
        return f"{self.topic}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets ``start`` (in) to ``end`` (out) of one partition; ``end`` is the next fetch position."""

    partition: Partition
    start: int
    end: int

    def __post_init__(self) -> None:
        """Refuse a span that runs backwards."""
        if self.start < 0 or self.end < self.start:
            message = f"span {self.start}..{self.end} of {self.partition} runs backwards"
            raise ValueError(message)

    def __len__(self) -> int:
        """Offsets covered, holes included."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class TopicIdentity:
    """What a topic is called by its cluster, so that a topic deleted and created again is a new topic."""

    cluster_id: str
    topic_id: str

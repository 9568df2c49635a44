"""What is under way with one broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.sources.kafka.fetch.answer import Batches
    from thalweg.sources.kafka.fetch.link import Link
    from thalweg.sources.kafka.reader import Key


class Peer:
    """One broker: what was asked of it, and what is left of its last answer."""

    def __init__(self, link: Link) -> None:
        """Nothing is asked yet."""
        self.link = link
        self.keys: dict[Key, None] = {}
        """Partitions that it leads, those first whose turn it is."""
        self.asked: dict[Key, int] = {}
        """Positions in the request that is under way; empty where none is."""
        self.heard_ns = 0
        """When it was asked, or when more of its answer came last."""
        self.ready_ns = 0
        """The broker does not want to be asked before."""
        self.batches: Batches | None = None
        self.ends: dict[Key, int] = {}
        """Ends of partitions that lie behind the batches."""
        self.failed: str | None = None
        """What happened to the connection; what has come is read before it is made anew."""

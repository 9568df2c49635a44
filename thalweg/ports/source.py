"""What a source must be: assign, poll, seek, pause, commit, close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from thalweg.arrow.batch import RawBatch
    from thalweg.model.clock import Clock
    from thalweg.model.events import Observer
    from thalweg.model.position import Partition, TopicIdentity
    from thalweg.ports.codec import BlockSplitter


@dataclass(frozen=True, slots=True)
class Budget:
    """What cuts an epoch, whichever comes first."""

    rows: int = 65_536
    nbytes: int = 32 << 20
    age_ns: int = 250_000_000


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed position and the note that was stored with it."""

    offset: int
    metadata: str


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What the runtime gives to every source that it makes."""

    pipeline: str
    relation: str
    """Name of the source table."""
    clock: Clock
    observer: Observer
    group: bool = True
    """False: never join a group and never commit (REPL, bounded reads by hand)."""
    folder: str = "."
    """Folder of the pipeline's file: relative paths in options start here."""
    blocks: BlockSplitter | None = None
    """The decoder's way to find records in a block of them; for sources with a format of their own, whose containers do not say it."""
    stopping: Callable[[], bool] = lambda: False
    """Whether the run is to end: an ``open`` that waits for an answer gives up then, and raises SourceFailed."""


class Listener(Protocol):
    """Who decides where partitions start and what happens before they go; implemented by the runtime.

    All calls come from inside :meth:`Source.poll` or :meth:`Source.open`, on the reader thread.
    """

    def assigned(self, committed: Mapping[Partition, Committed | None]) -> Mapping[Partition, int | None]:
        """Partitions come; called before any of their records is polled.

        Returns the offset where each resumes; None means that nothing is recorded anywhere and the source's own
        start mode decides. May raise PositionRefused: the source closes and lets it through.
        """

    def started(self, positions: Mapping[Partition, int]) -> None:
        """The offsets at which the partitions of the last ``assigned`` really start, after start modes were resolved."""

    def revoked(self, partitions: Collection[Partition]) -> None:
        """Partitions go; when this returns their finished work is durable and committed, or given up."""

    def lost(self, partitions: Collection[Partition]) -> None:
        """Partitions are gone already; when this returns their unfinished work is given up and nothing of it was committed."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a source can do; conformance suites and the planner read this, nobody asks by name."""

    seekable: bool
    """``seek`` works: a position can be gone back to."""
    groups: bool
    """Several processes can share the partitions."""
    bounded: bool
    """``scan.bounded.mode`` works."""
    delivers: str
    """One line for the documentation: unit of parallelism and delivery guarantee."""


class Source(ABC):
    """A transport, read by exactly one thread (the reader thread), which makes every call below but ``identity``."""

    @abstractmethod
    def open(self, listener: Listener) -> None:
        """Connect and ask for partitions; called once, first.

        A source that assigns its own partitions calls ``listener.assigned`` before it returns; one that joins a group calls it
        from a later ``poll``. Raises SourceFailed when the transport cannot be reached within its own time-out.
        """

    @abstractmethod
    def identity(self, partition: Partition) -> TopicIdentity:
        """Cluster id and topic id of an assigned partition; thread-safe, answers from memory."""

    @abstractmethod
    def poll(self, budget: Budget) -> RawBatch | None:
        """The next records, at most ``budget`` of them, waiting at most ``budget.age_ns``; None when there is nothing.

        Callbacks of the listener run inside. Never returns a record twice unless ``seek`` went back; never returns records
        of a partition that is paused or was revoked. Raises SourceFailed (permanent) only; hiccups are the source's own affair.
        """

    @abstractmethod
    def idle(self) -> None:
        """Keep the connection and the group membership alive without taking records; called while queues are full.

        Called at least every 100 ms for as long as the runtime cannot take a batch; callbacks of the listener may run inside.
        """

    @abstractmethod
    def seek(self, positions: Mapping[Partition, int]) -> None:
        """Go to these offsets; everything polled but not yet returned of these partitions is thrown away."""

    @abstractmethod
    def commit(self, positions: Mapping[Partition, int], metadata: str) -> Mapping[Partition, int]:
        """Commit next-fetch positions, synchronously; called by runtime/commit.py only.

        Returns the positions that went through. A rebalance that overtook the commit is a normal event: the positions are
        left out and no error is raised. Raises SourceFailed for anything that retrying does not mend.
        """

    @abstractmethod
    def lag(self) -> int | None:
        """Offsets between position and end over the assigned partitions; None where unknown. Answers from memory."""

    @abstractmethod
    def finished(self) -> bool:
        """Whether a bounded read has returned everything up to the ends that were fixed at open; always False if unbounded."""

    @abstractmethod
    def close(self) -> None:
        """Leave the group and disconnect; called once, last, but never for sure (the process may be killed)."""


@dataclass(frozen=True, slots=True)
class SourcePlugin:
    """The one name that a module in ``thalweg/sources/`` exports."""

    options: type
    """Options dataclass made with ``model.options``."""
    capabilities: Capabilities
    make: Callable[[str, Any, SourceContext], Source]
    """``make(location, options, context)``; connects to nothing yet. Raises UserError for a location it cannot read."""
    check: Callable[[str, Any], list[str]] = lambda _location, _options: []
    """``check(location, options)``: what is wrong with them together, one message each; asks nobody."""
    describe_start: Callable[[str, Any], str] = lambda _location, _options: ""
    """One line for ``twg check``: where the source would start or resume; asks nobody."""
    topics: Callable[[str, Any], tuple[str, ...]] = lambda _location, _options: ()
    """``topics(location, options)``: names of the topics that are read, for schema subjects; empty for a pattern."""
    files: Callable[[str, Any], Mapping[str, str]] = lambda _location, _options: {}
    """``files(location, options)``: the files that fill the topic, by the option that names each; ``twg check`` looks for them."""
    query_file: Callable[[str, Any], str | None] = lambda _location, _options: None
    """``query_file(location, options)``: the ``.sql`` file (relative to ``SourceContext.folder``) whose one SELECT fills the topic; its rows,
    encoded in the table's format, are given to ``fill`` before ``open``. None: there is nothing to run."""
    warm_up: str | None = None
    """``module:function`` that compiles the source's own loops into the cache, or loads them; None: it has none."""
    fill: Callable[[Source, Iterable[bytes]], int] | None = None
    """``fill(source, records)``: put records into the topic of a source that was made and not yet opened; returns how many. Raises
    SourceFailed where they do not fit. None: the source cannot be filled."""
    up_to_now: Callable[[Any], Any] | None = None
    """``up_to_now(options)``: options that read the same records, as far as they are there now, and then end; the table's own start and
    end count. None: from the earliest offset to the latest, by the keys ``scan.startup.mode`` and ``scan.bounded.mode``."""
    format: str | None = None
    """The one format of its payloads, where the transport knows it; None: the table's ``'format'`` says it."""

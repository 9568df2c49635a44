"""How records leave Kafka: fetched by ourselves, as columns of the client, or through ``consume``; all give the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import TopicPartition

from thalweg.native.rdkafka import Unproved
from thalweg.sources.kafka import messages
from thalweg.sources.kafka.client import scrub
from thalweg.sources.kafka.columnar import Drain
from thalweg.sources.kafka.fetch.access import access
from thalweg.sources.kafka.fetch.fetcher import Fetcher
from thalweg.sources.kafka.loading import DRAINING, FETCHING, loading
from thalweg.sources.kafka.reader import Taken

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from confluent_kafka import Consumer

    from thalweg.model.clock import Clock
    from thalweg.sources.kafka.loading import Loading
    from thalweg.sources.kafka.reader import Key
    from thalweg.sources.kafka.rooms import Rooms

_WORTH: Final = 10_000
"""Records after which the compiled loops are made ready: a short run never pays for them."""
_EVENTS: Final = 1_024
"""Messages that may come beside callbacks: errors that belong to no partition."""
_LONGEST_S: Final = 0.02
"""Longest wait for records at a stretch; callbacks wait as long."""
_FIRST_PAUSE_NS: Final = 2_000_000_000
_LONGEST_PAUSE_NS: Final = 300_000_000_000
"""How long the client goes on where fetching met trouble: twice as long each time, up to the second. After as long a time of fetching, the first again."""
FETCH, COLUMNAR, CONSUME = "fetch", "columnar", "consume"


class Tap:
    """One consumer's way out; used by the thread that owns the consumer."""

    def __init__(
        self, consumer: Consumer, conf: Mapping[str, str], wanted: str, clock: Clock, say: Callable[[str, str], None],
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """``wanted`` is the option ``reader``; ``say`` hears a level and why it is another; ``stopping``: whether the run ends before its time."""
        self._consumer = consumer
        self._conf = conf
        self._clock = clock
        self._say = say
        self._stopping = stopping
        self._rows = 0
        self._open = wanted != CONSUME
        """Whether compiled loops may still be used."""
        self._wanted = self._possible(wanted)
        self._drain: Drain | None = None
        self._fetcher: Fetcher | None = None
        self._epochs: dict[Key, int] = {}
        self.doubtful = False
        """Whether there was trouble: a topic may be another one since."""
        self._pause_ns = _FIRST_PAUSE_NS
        self._again_ns = clock.monotonic_ns()
        """Not to be tried before."""
        self._since_ns = self._again_ns
        """When fetching began."""
        if wanted in {FETCH, COLUMNAR}:
            self._loading().wait(stopping)
            self.change()

    @property
    def way(self) -> str:
        """How records come now."""
        return FETCH if self._fetcher is not None else COLUMNAR if self._drain is not None else CONSUME

    @property
    def stuck(self) -> bool:
        """Whether nothing more comes before :meth:`change` is asked."""
        return self._fetcher is not None and self._fetcher.trouble is not None

    def begin(self) -> Rooms | None:
        """A new epoch begins; where its payloads are going to lie, None where that is anywhere."""
        way = self._fetcher or self._drain
        return None if way is None else way.begin()

    def take(self, count: int, seconds: float) -> Taken:
        """Up to ``count`` messages, callbacks included; 0 lets the client run its callbacks and takes as little as can be."""
        way = self._fetcher or self._drain
        if way is None:
            if self._open and self._loading().pauses(seconds):
                count, seconds = 1, 0.0
            taken = messages.sort(self._consumer.consume(max(count, 1), seconds), self._now_us())
            self._rows += sum(block.rows for block in taken.blocks)
            return taken
        taken = messages.sort(self._consumer.consume(_EVENTS, 0.0), self._now_us())
        if self._fetcher is not None:
            # What the client has fetched before it was told to pause comes to us as well.
            taken = Taken(faults=taken.faults)
        if count == 0 or taken.faults or taken.blocks:
            return taken
        return way.take(count, min(seconds, _LONGEST_S))

    def change(self) -> bool:
        """Go over to another way if that is due; True: it was, and every held partition is to be held and placed anew."""
        if self._fetcher is not None:
            return self.stuck and self._back(self._fetcher)
        if not self._open or self._drain is not None or (self._rows < _WORTH and not self._loading().begun):
            return False
        if self._clock.monotonic_ns() < self._again_ns or not self._loading().start(self._stopping):
            return False
        try:
            if self._wanted == FETCH:
                self._fetcher = Fetcher(self._consumer, self._conf, self._loading().loops(), self._clock)
                self._since_ns = self._clock.monotonic_ns()
            else:
                self._drain = Drain(self._consumer, self._conf["client.id"], self._loading().loops(), self._clock)
        except Unproved as e:
            self._refused(str(e))
        return self.way != CONSUME

    def hold(self, keys: Iterable[Key]) -> None:
        """Partitions come; before they are assigned."""
        if self._drain is not None:
            self._drain.hold(keys)

    def held(self, starts: Mapping[Key, int]) -> None:
        """Partitions have been assigned."""
        if self._fetcher is not None and starts:
            self._consumer.pause([TopicPartition(*key) for key in starts])
            for key, offset in starts.items():
                self._fetcher.place(key, offset)

    def place(self, key: Key, offset: int) -> bool:
        """Take a partition's records from ``offset`` on; False where the client has to be told."""
        if self._fetcher is None:
            return False
        self._fetcher.place(key, offset)
        return True

    def epoch(self, key: Key) -> int | None:
        """Leader epoch of what was taken of a partition before the client took over; told once. With it the client sees whether a log was truncated."""
        return self._epochs.pop(key, None)

    def pause(self, keys: Iterable[Key]) -> None:
        """Fetch nothing more of partitions."""
        if self._fetcher is not None:
            self._fetcher.pause(keys)
        else:
            self._consumer.pause([TopicPartition(*key) for key in keys])

    def resume(self, keys: Iterable[Key]) -> None:
        """Fetch partitions again."""
        if self._fetcher is not None:
            self._fetcher.resume(keys)
        else:
            self._consumer.resume([TopicPartition(*key) for key in keys])

    def release(self, keys: Collection[Key]) -> None:
        """Partitions go."""
        if self._fetcher is not None:
            self._fetcher.release(keys)
        if self._drain is not None:
            self._drain.release(keys)

    def end(self, key: Key) -> int | None:
        """Where a partition ends, as the last answer told it; None where nobody knows."""
        if self._fetcher is not None:
            return self._fetcher.high(key)
        _, high = self._consumer.get_watermark_offsets(TopicPartition(*key), cached=True)
        return None if high < 0 else int(high)

    def close(self) -> None:
        """Let go of the client's queues, and of connections; before the consumer is closed."""
        self._open = False
        if self._drain is not None:
            self._drain.close()
        if self._fetcher is not None:
            self._fetcher.close()

    def _possible(self, wanted: str) -> str:
        """What can be had of what is wanted."""
        if wanted in {COLUMNAR, CONSUME}:
            return wanted
        try:
            access(self._conf)
        except Unproved as e:
            if wanted == FETCH:
                self._say("warning", f"records are taken from the client's queues, which is slower: {e}")
            return COLUMNAR
        return FETCH

    def _loading(self) -> Loading:
        """The loops of the way that is wanted."""
        return loading(FETCHING if self._wanted == FETCH else DRAINING)

    def _back(self, fetcher: Fetcher) -> bool:
        """The client takes over, for a while, or for good."""
        trouble = scrub(fetcher.trouble or "", self._conf)
        fetcher.close()
        self._fetcher, self._epochs, self.doubtful = None, dict(fetcher.epochs), True
        if fetcher.held:
            self._consumer.resume([TopicPartition(*key) for key in fetcher.held])
        if fetcher.unproved is not None:
            self._refused(trouble)
        else:
            now_ns = self._clock.monotonic_ns()
            if now_ns - self._since_ns > _LONGEST_PAUSE_NS:
                self._pause_ns = _FIRST_PAUSE_NS
            self._again_ns = now_ns + self._pause_ns
            self._say("info", f"records are read one by one for {self._pause_ns // 1_000_000_000} s: {trouble}")
            self._pause_ns = min(2 * self._pause_ns, _LONGEST_PAUSE_NS)
        return True

    def _refused(self, reason: str) -> None:
        """The next best way from now on."""
        if self._wanted == FETCH:
            self._wanted = COLUMNAR
            self._say("info", f"records are taken from the client's queues: {reason}")
        else:
            self._open = False
            self._say("warning", f"records are read one by one, which is slower: {reason}")

    def _now_us(self) -> int:
        """Time of a poll."""
        return self._clock.now_ns() // 1_000

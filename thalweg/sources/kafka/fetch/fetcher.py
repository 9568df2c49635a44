"""Fetches from the leaders of the partitions that are held, one request a broker under way while the answer before it is read."""

from __future__ import annotations

import selectors
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException

from thalweg.native.rdkafka import Unproved
from thalweg.sources.kafka.fetch.access import OVERHEAD, access
from thalweg.sources.kafka.fetch.answer import Batches
from thalweg.sources.kafka.fetch.link import Link, LinkFailed
from thalweg.sources.kafka.fetch.messages import FETCH, VERSION, Garbled, Limits, answer, request
from thalweg.sources.kafka.fetch.peer import Peer
from thalweg.sources.kafka.reader import Taken, make_block
from thalweg.sources.kafka.rooms import Rooms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import numpy as np
    import numpy.typing as npt
    from confluent_kafka import Consumer

    from thalweg.model.clock import Clock
    from thalweg.sources.kafka.fetch.messages import Part
    from thalweg.sources.kafka.reader import Key

_CONNECT_S: Final = 3.0
_ANSWER_NS: Final = 60_000_000_000
"""How long a broker may be silent beyond the wait that was asked for."""
_OF_ANSWER: Final = 8 << 20
_LEAST: Final = 1 << 20
"""Bytes of an answer: the first divided by the brokers, but not less than the second. Each broker has one in memory."""
_BESIDE: Final = 8
"""The part of the largest answer that is kept for what comes beside records: heads of partitions, aborted transactions."""
_NOWHERE: Final = -1
"""A position that no partition has: what comes of it is not wanted any more."""
_PATIENCE_NS: Final = 10_000_000_000
"""Connections that are lost faster than this, one after the other, are trouble."""
MOST: Final = 65_536
"""Records of one block."""


class Interrupted(Exception):
    """Fetching cannot go on this way for now; says why. The client's own way knows what to do about it."""


class Fetcher:
    """Takes records of partitions that were held; used by the thread that owns the consumer. Whatever goes wrong is kept in ``trouble``."""

    def __init__(self, consumer: Consumer, conf: Mapping[str, str], loops: Any, clock: Clock) -> None:  # noqa: ANN401 - a module
        """Raises Unproved for settings that only the client understands. ``loops`` is ``native/batches.py``, which is imported late."""
        self._consumer = consumer
        self._access = access(conf)
        self._conf = conf
        self._limits = limits(conf, 1)
        """How much an answer may hold, with as many brokers as there are."""
        self._loops = loops
        self._clock = clock
        self._rooms = Rooms()
        self._selector = selectors.DefaultSelector()
        self._peers: dict[tuple[str, int], Peer] = {}
        self._next: dict[Key, int] = {}
        """Offset behind the last answer, by held partition."""
        self._paused: set[Key] = set()
        self._homeless: set[Key] = set()
        """Partitions whose leader is to be asked for."""
        self._ends: dict[Key, int] = {}
        self._said: dict[Key, int] = {}
        """Ends that were handed on."""
        self._leaders: dict[Key, tuple[str, int]] = {}
        """Where partitions were fetched from last."""
        self.epochs: dict[Key, int] = {}
        """Leader epoch of what was fetched last, by partition: with it the client finds out whether a log was truncated."""
        self._turn = 0
        self._lost_ns = -_PATIENCE_NS
        self.trouble: str | None = None
        """Why fetching cannot go on; the client has to take over."""
        self.unproved: str | None = None
        """Why it never can."""

    @property
    def held(self) -> Collection[Key]:
        """Partitions that are fetched, or paused."""
        return self._next.keys()

    def begin(self) -> Rooms:
        """The next record is the first of an epoch; where payloads are copied to from now on."""
        self._rooms.begin()
        return self._rooms

    def place(self, key: Key, offset: int) -> None:
        """Fetch a partition from ``offset`` on; nothing that was fetched before comes any more."""
        self._drop({key})
        self._next[key] = offset
        if not any(key in peer.keys for peer in self._peers.values()):
            self._homeless.add(key)

    def release(self, keys: Iterable[Key]) -> None:
        """Let go of partitions."""
        gone = set(keys)
        self._drop(gone)
        for peer in self._peers.values():
            for key in gone & peer.keys.keys():
                del peer.keys[key]
        for key in gone:
            self._next.pop(key, None)
            self._leaders.pop(key, None)
        self._paused -= gone
        self._homeless -= gone

    def _drop(self, gone: set[Key]) -> None:
        """Forget what was fetched of these partitions, and what is under way."""
        for peer in self._peers.values():
            peer.asked.update((key, _NOWHERE) for key in gone & peer.asked.keys())
            peer.ends = {key: end for key, end in peer.ends.items() if key not in gone}
            if peer.batches is not None:
                peer.batches.drop(gone)
        for key in gone:
            self._said.pop(key, None)
            self.epochs.pop(key, None)

    def pause(self, keys: Iterable[Key]) -> None:
        """Ask for nothing more of these."""
        self._paused.update(keys)

    def resume(self, keys: Iterable[Key]) -> None:
        """Ask for these again."""
        self._paused.difference_update(keys)

    def high(self, key: Key) -> int | None:
        """Where a partition ends, as the last answer told it; None before there was one."""
        return self._ends.get(key)

    def take(self, count: int, seconds: float) -> Taken:
        """Up to ``count`` records of the brokers that have answered; where none has, waits a moment for one of them."""
        taken = Taken()
        if self.trouble is None:
            try:
                self._settle()
                self._round(taken, min(count, MOST))
                if not taken.blocks and not taken.ends:
                    self._wait(seconds)
                    self._round(taken, min(count, MOST))
            except (Interrupted, Garbled, LinkFailed, KafkaException) as e:
                self.trouble = str(e)
            except Unproved as e:
                self.trouble = self.unproved = str(e)
        return taken

    def close(self) -> None:
        """Close every connection."""
        for peer in self._peers.values():
            peer.link.close()
        self._peers.clear()
        self._selector.close()

    def _round(self, taken: Taken, count: int) -> None:
        """Look at each broker once: take what it has sent, and ask it for more."""
        now_ns = self._clock.monotonic_ns()
        self._turn += 1
        addresses = deque(self._peers)
        addresses.rotate(-self._turn)  # each is the first in its turn: one that is quick must not leave nothing for the others
        for address in addresses:
            peer = self._peers[address]
            if not peer.batches and not self._exchanged(peer, now_ns):
                if peer.batches is not None:  # an answer without records came before the connection went
                    taken.ends.update(peer.ends)
                self._lose(address, now_ns)
                continue
            if peer.batches and count > 0:
                count -= self._read(peer, taken, count)
            if not peer.batches:
                taken.ends.update(peer.ends)
                peer.ends, peer.batches = {}, None
            if not peer.asked and not peer.keys and peer.batches is None:
                self._forget(address)

    def _exchanged(self, peer: Peer, now_ns: int) -> bool:
        """Ask, and hear what has come; False where the connection is lost."""
        try:
            self._ask(peer, now_ns)
            self._hear(peer, now_ns)
        except LinkFailed as e:
            peer.failed = str(e)
        return peer.failed is None or bool(peer.batches)

    def _lose(self, address: tuple[str, int], now_ns: int) -> None:
        """A connection is gone: its partitions look for their leaders again; raises Interrupted where that happens again and again."""
        peer = self._peers[address]
        self._homeless.update(peer.keys)
        self._forget(address)
        if now_ns - self._lost_ns < _PATIENCE_NS:
            raise Interrupted(peer.failed or "")
        self._lost_ns = now_ns

    def _ask(self, peer: Peer, now_ns: int) -> None:
        """Send a request where none is under way."""
        if peer.asked or peer.failed is not None or now_ns < peer.ready_ns:
            return
        wanted = {key: self._next[key] for key in peer.keys if key not in self._paused}
        if wanted:
            peer.link.send(FETCH, VERSION, request(self._limits, wanted))
            peer.asked, peer.heard_ns = wanted, now_ns

    def _hear(self, peer: Peer, now_ns: int) -> None:
        """Take an answer where one has come, and ask for the next before it is read."""
        if not peer.asked:
            return
        before = peer.link.received
        data = peer.link.receive()
        if data is None:
            # Nobody has looked for a while where sinks stalled: what counts is whether something has come meanwhile.
            if peer.link.received != before:
                peer.heard_ns = now_ns
            elif now_ns - peer.heard_ns > _ANSWER_NS + self._limits.wait_ms * 1_000_000:
                raise Interrupted("a broker does not answer")
            return
        throttle_ms, error, parts = answer(data)
        if error:
            raise Interrupted(f"a broker answers with error {error}")
        peer.ready_ns = now_ns + throttle_ms * 1_000_000
        self._accept(peer, data, [part for part in parts if self._wanted(peer, part)])
        peer.asked = {}
        self._ask(peer, now_ns)

    def _wanted(self, peer: Peer, part: Part) -> bool:
        """Whether this is what was asked for and still is; raises Interrupted for an error."""
        asked = peer.asked.get(part.key)
        if asked is None or asked != self._next.get(part.key) or part.key in self._paused:
            return False
        if part.error:
            raise Interrupted(f"{part.key[0]}[{part.key[1]}]: a broker answers with error {part.error}")
        return True

    def _accept(self, peer: Peer, data: npt.NDArray[np.uint8], parts: list[Part]) -> None:
        """Move positions behind an answer; its batches wait to be read."""
        peer.batches = Batches(self._loops, data, [(part, peer.asked[part.key]) for part in parts])
        self.epochs.update(peer.batches.epochs)
        for part in parts:
            key = part.key
            self._next[key] = max(self._next[key], peer.batches.next.get(key, 0))
            self._ends[key] = end = part.stable if self._limits.committed and part.stable >= 0 else part.high
            if self._next[key] >= end and self._said.get(key) != self._next[key]:
                peer.ends[key] = self._said[key] = self._next[key]
            if key in peer.batches.next:  # it was served, so the others come first
                peer.keys.pop(key, None)
                peer.keys[key] = None

    def _read(self, peer: Peer, taken: Taken, count: int) -> int:
        """Records of an answer; how many."""
        assert peer.batches is not None
        fields = peer.batches.take(count, self._rooms)
        if fields is None:
            return 0
        taken.blocks.append(make_block(fields, self._clock.now_ns() // 1_000))
        return len(fields.at)

    def _wait(self, seconds: float) -> None:
        """Until a broker sends something. One that was not asked and does has closed the connection."""
        if any(peer.link.decrypted() for peer in self._peers.values()):
            return
        for ready, _ in self._selector.select(seconds):
            peer = self._peers[ready.data]
            if not peer.asked:
                peer.failed = "a broker has closed the connection"

    def _settle(self) -> None:
        """Find the leaders of partitions that have none, and connect to them."""
        if not self._homeless:
            return
        for topic in sorted({topic for topic, _ in self._homeless}):
            metadata = self._consumer.list_topics(topic, timeout=_CONNECT_S)
            partitions = metadata.topics[topic].partitions
            for key in [key for key in self._homeless if key[0] == topic]:
                leader = metadata.brokers.get(partitions[key[1]].leader) if key[1] in partitions else None
                if leader is None:
                    raise Interrupted(f"{topic}[{key[1]}] has no leader")
                address = (leader.host, leader.port)
                if self._leaders.setdefault(key, address) != address:
                    # Whether the new leader has all that the old one had, is a question that the client knows how to ask.
                    raise Interrupted(f"{topic}[{key[1]}] has another leader")
                self._peer(address).keys[key] = None
                self._homeless.discard(key)

    def _peer(self, address: tuple[str, int]) -> Peer:
        """The connection to a broker, made if need be."""
        if address not in self._peers:
            link = Link.open(*address, self._access, _CONNECT_S)
            self._peers[address] = Peer(link)
            self._limits = limits(self._conf, len(self._peers))
            self._selector.register(link.fileno(), selectors.EVENT_READ, address)
        return self._peers[address]

    def _forget(self, address: tuple[str, int]) -> None:
        """Close the connection to a broker that leads nothing of ours any more."""
        peer = self._peers.pop(address)
        self._limits = limits(self._conf, len(self._peers))
        self._selector.unregister(peer.link.fileno())
        peer.link.close()


def limits(conf: Mapping[str, str], brokers: int) -> Limits:
    """What a user's properties say about answers; the client's defaults where they say nothing, but less memory."""

    def number(name: str, default: int) -> int:
        try:
            return int(conf.get(name, default))
        except ValueError:
            raise Unproved(f"'properties.{name}' is not a number") from None

    share = max(_LEAST, _OF_ANSWER // max(brokers, 1))
    if "receive.message.max.bytes" in conf:
        whole = number("receive.message.max.bytes", 0)
        share = min(share, max(whole - whole // _BESIDE - OVERHEAD, 1))
    part = number("fetch.message.max.bytes", number("max.partition.fetch.bytes", 1 << 20))
    return Limits(
        number("fetch.wait.max.ms", 500), number("fetch.min.bytes", 1), min(number("fetch.max.bytes", 50 << 20), share), part,
        conf.get("isolation.level", "read_committed") == "read_committed",
    )

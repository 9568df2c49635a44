"""What ends a run, what passes, what moves a position."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError

from thalweg.errors import SourceFailed
from thalweg.model.clock import SystemClock
from thalweg.model.events import Notice, OffsetReset
from thalweg.model.position import Partition
from thalweg.ports.source import SourceContext
from thalweg.sources.kafka.options import Place
from thalweg.sources.kafka.reader import Fault
from thalweg.sources.kafka.trouble import Rebuild, Trouble
from thalweg.testing.fakes import RecordingObserver

PART = Partition("orders", "t", 0)


class Topics:
    """A cluster that has some topics."""

    def __init__(self, *names: str) -> None:
        """These are there."""
        self.names = names

    def exists(self, topic: str) -> bool:
        """Whether it is there."""
        return topic in self.names

    def verify(self, topics: set[str]) -> None:
        """They are what they were."""
        assert topics <= set(self.names)


class Bench:
    """Trouble with an observer."""

    def __init__(self, pattern: str | None = None) -> None:
        """A source of one topic, or of a pattern."""
        self.observer = RecordingObserver()
        context = SourceContext("p", "orders", SystemClock(), self.observer)
        self.trouble = Trouble(context, Place("h:1", () if pattern else ("t",), pattern), {"sasl.password": "hunter2"})

    def handle(self, error: KafkaError, topics: Topics | None = None, *, key: tuple[str, int] | None = ("t", 0)) -> None:
        """An error in place of a message."""
        known: Any = topics or Topics("t")
        self.trouble.handle(Fault(error, key), known)

    def notices(self) -> list[tuple[str, str]]:
        """Level and code of what was said."""
        return [(n.level, n.code) for n in self.observer.of(Notice)]


def error(name: str, text: str | None = None, *, fatal: bool = False) -> KafkaError:
    """An error by its name."""
    return KafkaError(getattr(KafkaError, name), text, fatal)


@pytest.mark.parametrize("name", ["_TRANSPORT", "_MAX_POLL_EXCEEDED", "NOT_COORDINATOR"])
def test_what_passes_is_said(name: str) -> None:
    """Hiccups are one line each."""
    bench = Bench()
    bench.handle(error(name))

    assert bench.notices() == [("warning", "kafka.broker")]


def test_what_does_not_pass_names_the_partition() -> None:
    """Anything unknown ends the run, with the place and without secrets."""
    with pytest.raises(SourceFailed, match=r"^t\[0\]: reading failed: bad \*{8} \(INVALID_MSG\)"):
        Bench().handle(KafkaError(KafkaError.INVALID_MSG, "bad hunter2"))
    with pytest.raises(SourceFailed, match=r"^kafka://h:1/t: reading failed"):
        Bench().handle(error("INVALID_MSG"), key=None)


def test_a_named_topic_that_is_gone() -> None:
    """A named topic that the cluster no longer has ends the run; one that it still has passes."""
    bench = Bench()
    bench.handle(error("UNKNOWN_TOPIC_OR_PART"))
    with pytest.raises(SourceFailed, match="topic 't' was deleted"):
        bench.handle(error("UNKNOWN_TOPIC_OR_PART"), Topics())

    assert bench.notices() == [("warning", "kafka.broker")]


def test_a_topic_of_a_pattern_that_is_gone() -> None:
    """Topics of a pattern may come and go."""
    bench = Bench("t.*")
    bench.handle(error("_UNKNOWN_PARTITION"), Topics())

    assert bench.notices() == [("warning", "kafka.topic_gone")]


def test_a_dead_client_ends_the_run() -> None:
    """A fatal error is an error of the source, from the callback or in place of a message."""
    bench = Bench()
    bench.trouble.noticed(error("FENCED_INSTANCE_ID", fatal=True))
    with pytest.raises(SourceFailed, match=r"given up.*properties\.group\.instance\.id"):
        bench.trouble.check()
    bench.trouble.check()
    with pytest.raises(SourceFailed, match="given up"):
        bench.handle(error("_FATAL", "Fatal error: else"))


def test_a_static_member_that_is_held_needs_a_new_client() -> None:
    """The source is not dead when its client is (KSR-11)."""
    bench = Bench()
    with pytest.raises(Rebuild):
        bench.handle(error("_FATAL", f"Fatal error: {error('UNRELEASED_INSTANCE_ID').str()}"))

    assert bench.notices() == [("warning", "kafka.instance_held")]


def test_a_refusal_ends_the_run() -> None:
    """What the broker refuses is told from the error callback."""
    bench = Bench()
    bench.trouble.noticed(error("_AUTHENTICATION", "hunter2 is wrong"))
    with pytest.raises(SourceFailed, match=r"refuses the connection: \*{8} is wrong.*sasl"):
        bench.trouble.check()


def test_what_was_heard_explains_a_silence() -> None:
    """An error of the start also says what the client has heard, once."""
    bench = Bench()
    bench.trouble.noticed(error("_TRANSPORT", "closed by peer: is TLS needed?"))
    bench.trouble.noticed(error("_ALL_BROKERS_DOWN", "1/1 brokers are down"))

    def silent() -> list[tuple[str, int]]:
        raise SourceFailed("no answer", where="here", hint="do this")

    with pytest.raises(SourceFailed, match=r"^here: no answer; the client says: closed by peer: is TLS needed\? \(do this\)$"):
        bench.trouble.explained(silent)
    assert bench.trouble.explained(lambda: [("t", 0)]) == [("t", 0)]
    with pytest.raises(SourceFailed, match=r"^no answer$"):
        Bench().trouble.explained(lambda: (_ for _ in ()).throw(SourceFailed("no answer")))


@pytest.mark.parametrize(("policy", "old", "new"), [("earliest", 2, 5), ("latest", 2, 10), ("earliest", 400, 5)])
def test_resets(policy: str, old: int, new: int) -> None:
    """The rule gives the new position, and the event has both and the count (KF-07)."""
    bench = Bench()

    assert bench.trouble.reset(PART, old, (5, 10), policy) == new

    (event,) = bench.observer.of(OffsetReset)
    assert (event.partition, event.old, event.new) == (PART, old, new)
    assert f"leaves out {max(new - old, 0)} offsets" in event.reason


def test_no_reset_without_a_rule() -> None:
    """Without a rule the run ends, with the numbers and the ways out (KF-07)."""
    with pytest.raises(SourceFailed, match=r"^t\[0\]: offset 2 is not there: the broker has 5 to 10 .*auto\.offset\.reset"):
        Bench().trouble.reset(PART, 2, (5, 10), "error")

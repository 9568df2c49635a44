"""What the client's error codes mean: pass by themselves, end the run, or belong to a rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from confluent_kafka import KafkaException

from thalweg.errors import SourceFailed
from thalweg.sources.kafka.client import scrub

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from confluent_kafka import KafkaError

    from thalweg.model.clock import Clock

T = TypeVar("T")
REBALANCED: Final = frozenset({
    "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH", "_ASSIGNMENT_LOST",
})
"""A commit that fails so was overtaken by a rebalance: a normal event."""
PASSING: Final = frozenset({
    "_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_WAIT_COORD", "_TIMED_OUT_QUEUE", "_IN_PROGRESS", "_STATE", "_WAIT_CACHE",
    "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION",
    "REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", "UNSTABLE_OFFSET_COMMIT", "BROKER_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE",
    "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "REPLICA_NOT_AVAILABLE", "KAFKA_STORAGE_ERROR",
})
"""The same call may work a moment later."""
REFUSED: Final = frozenset({
    "_AUTHENTICATION", "_SSL", "SASL_AUTHENTICATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "ILLEGAL_SASL_STATE",
    "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED",
})
"""The broker does not let us in."""
_PAUSE_NS: Final = 100_000_000
_HINTS: Final[Mapping[str, str]] = {
    "_AUTHENTICATION": "check 'properties.sasl.*'",
    "SASL_AUTHENTICATION_FAILED": "check 'properties.sasl.*'",
    "UNSUPPORTED_SASL_MECHANISM": "check 'properties.sasl.mechanism'",
    "_SSL": "check 'properties.security.protocol' and 'properties.ssl.*'",
    "TOPIC_AUTHORIZATION_FAILED": "the user needs READ and DESCRIBE on the topic",
    "GROUP_AUTHORIZATION_FAILED": "the user needs READ on the group; another is chosen with 'properties.group.id'",
    "FENCED_INSTANCE_ID": "another process runs with the same 'properties.group.instance.id'",
    "_TRANSPORT": "is the broker running, and is the address right?",
    "_TIMED_OUT": "is the broker running, and is the address right?",
    "_ALL_BROKERS_DOWN": "is the broker running, and is the address right?",
    "_RESOLVE": "the host name is not known here",
}


def failed(what: str, error: KafkaError, where: str, conf: Mapping[str, str]) -> SourceFailed:
    """The error for the user: what could not be done, why, and what to do."""
    return SourceFailed(f"{what}: {scrub(error.str(), conf)} ({error.name()})", where=where, hint=_HINTS.get(error.name()))


def passes(error: KafkaError) -> bool:
    """Whether trying again may help."""
    return not error.fatal() and (error.retriable() or error.name() in PASSING)


class Patience:
    """Makes calls that may have to wait for a broker, each within one bound of time."""

    def __init__(self, clock: Clock, timeout_ns: int, where: str, conf: Mapping[str, str]) -> None:
        """Every call is given up after ``timeout_ns``."""
        self._clock = clock
        self._timeout_ns = timeout_ns
        self._where = where
        self._conf = conf

    def ask(self, what: str, call: Callable[[float], T], check: Callable[[], None] = lambda: None) -> T:
        """``call(seconds)`` until it answers; ``check`` runs between tries and may raise. Raises SourceFailed, saying ``what``."""
        deadline = self._clock.monotonic_ns() + self._timeout_ns
        while True:
            left = deadline - self._clock.monotonic_ns()
            try:
                return call(max(min(left / 1e9, 2.0), 0.05))
            except KafkaException as e:
                error: KafkaError = e.args[0]
                check()
                if not passes(error) or self._clock.monotonic_ns() + _PAUSE_NS >= deadline:
                    raise failed(what, error, self._where, self._conf) from None
            self._clock.sleep_ns(_PAUSE_NS)

"""Which errors pass, which are explained, and how long is waited."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from thalweg.errors import SourceFailed
from thalweg.sources.kafka import faults
from thalweg.testing.fakes import FakeClock


def error(name: str, text: str | None = None, *, fatal: bool = False, retriable: bool = False) -> KafkaError:
    """An error by its name."""
    return KafkaError(getattr(KafkaError, name), text, fatal, retriable)


def patience(timeout_ns: int = 1_000_000_000) -> faults.Patience:
    """Waits on a clock that stands still."""
    return faults.Patience(FakeClock(), timeout_ns, "kafka://h/t", {"sasl.password": "hunter2"})


@pytest.mark.parametrize("name", sorted(faults.PASSING | faults.REBALANCED | faults.REFUSED))
def test_names_exist(name: str) -> None:
    """Every name in the tables is one of the client's."""
    assert KafkaError(getattr(KafkaError, name)).name() == name


def test_what_passes() -> None:
    """Network and leadership errors pass, a fatal or refused one never."""
    assert faults.passes(error("_TRANSPORT"))
    assert faults.passes(error("INVALID_MSG", retriable=True))
    assert not faults.passes(error("_TRANSPORT", fatal=True))
    assert not faults.passes(error("TOPIC_AUTHORIZATION_FAILED"))


def test_a_call_is_tried_again() -> None:
    """Errors that pass are waited out."""
    answers = iter([KafkaException(error("_TRANSPORT")), KafkaException(error("NOT_COORDINATOR")), 7])

    def call(_seconds: float) -> int:
        answer = next(answers)
        if isinstance(answer, KafkaException):
            raise answer
        return answer

    assert patience().ask("it cannot be read", call) == 7


def test_a_call_is_given_up() -> None:
    """After the time-out the reason is told, with what could not be done, where, and a hint; no secret shows."""
    asked = []

    def call(seconds: float) -> int:
        asked.append(seconds)
        raise KafkaException(error("_TRANSPORT", "hunter2 lost"))

    with pytest.raises(SourceFailed, match=r"^kafka://h/t: it cannot be read: \*{8} lost \(_TRANSPORT\) \(is the broker running") as caught:
        patience().ask("it cannot be read", call)

    assert 5 < len(asked) < 20
    assert "hunter2" not in str(caught.value)


def test_what_does_not_pass_ends_at_once() -> None:
    """A refusal is not tried again."""
    calls = []

    def call(_seconds: float) -> int:
        calls.append(1)
        raise KafkaException(error("GROUP_AUTHORIZATION_FAILED"))

    with pytest.raises(SourceFailed, match=r"READ on the group.*properties\.group\.id"):
        patience().ask("x", call)

    assert len(calls) == 1


def test_a_check_ends_the_wait() -> None:
    """What is heard from elsewhere between two tries comes through."""

    def call(_seconds: float) -> int:
        raise KafkaException(error("_TRANSPORT"))

    def check() -> None:
        raise SourceFailed("refused")

    with pytest.raises(SourceFailed, match=r"^refused$"):
        patience().ask("x", call, check)


def test_the_cause_of_a_dead_client() -> None:
    """In place of a message comes only that the client has given up; the cause is in the words."""
    held = error("UNRELEASED_INSTANCE_ID").str()

    assert faults.cause(error("_FATAL", f"Fatal error: {held}: heartbeat")) == "UNRELEASED_INSTANCE_ID"
    assert faults.cause(error("_FATAL", "Fatal error: else")) == "_FATAL"
    assert faults.cause(error("_STATE")) == "_STATE"

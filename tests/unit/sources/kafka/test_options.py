"""Options of a Kafka table: locations, topics, offsets by partition."""

from __future__ import annotations

import pytest

from thalweg.errors import UserError
from thalweg.model.options import read
from thalweg.sources.kafka.options import KafkaOptions, Place, place, specific_offsets


def options(**given: str) -> KafkaOptions:
    """Options from texts; ``_`` stands for ``.`` and ``__`` for ``-``."""
    found, errors = read(KafkaOptions, {k.replace("__", "-").replace("_", "."): v for k, v in given.items()})

    assert errors == []
    assert found is not None

    return found


PLACES = [
    ("kafka://h:9092/orders", {}, Place("h:9092", ("orders",), None)),
    ("kafka://h:9092,i:9093/a;b;a", {}, Place("h:9092,i:9093", ("a", "b"), None)),
    ("kafka://h/a.b_c-D", {}, Place("h", ("a.b_c-D",), None)),
    ("kafka://h:9092", {"topic": "a; b"}, Place("h:9092", ("a", "b"), None)),
    ("kafka://h:9092/", {"topic__pattern": "a.*"}, Place("h:9092", (), "a.*")),
    ("kafka:///a", {"properties_bootstrap_servers": "h:1"}, Place("h:1", ("a",), None)),
    ("kafka://embedded/a", {}, Place("embedded", ("a",), None)),
]


@pytest.mark.parametrize(("location", "given", "expected"), PLACES)
def test_places(location: str, given: dict[str, str], expected: Place) -> None:
    """Brokers and topics are read from the location, ``topic``, ``topic-pattern`` and ``bootstrap.servers``."""
    assert place(location, options(**given)) == expected
    assert expected.embedded == ("embedded" in location)


WRONG = [
    ("http://h/a", {}, "looks like 'kafka://host:9092/topic'"),
    ("kafka:///a", {}, "names no broker"),
    ("kafka://u:secret@h/a", {}, r"holds a user name.*sasl\.username"),
    ("kafka://h:x/a", {}, "is not host:port"),
    ("kafka://h:1,/a", {}, "is not host:port"),
    ("kafka://h:1/a?x=1", {}, "query"),
    ("kafka://h:1", {}, "exactly one of.*found nothing"),
    ("kafka://h:1/a", {"topic": "b"}, "found LOCATION and 'topic'"),
    ("kafka://h:1", {"topic": "b", "topic__pattern": "c"}, "found 'topic' and 'topic-pattern'"),
    ("kafka://h:1/a b", {}, "cannot be a topic"),
    ("kafka://h:1/..", {}, "cannot be a topic"),
    ("kafka://h:1/" + "x" * 250, {}, "cannot be a topic"),
    ("kafka://h:1", {"topic": ";"}, "no topic is named"),
    ("kafka://h:1", {"topic__pattern": "a("}, "'topic-pattern'.*in 'a\\('"),
    ("kafka://h:1/a", {"properties_bootstrap_servers": "i:1"}, "use one"),
]


@pytest.mark.parametrize(("location", "given", "said"), WRONG)
def test_wrong_places(location: str, given: dict[str, str], said: str) -> None:
    """What cannot be read is refused with the reason, and without secrets (TST-08, CFG)."""
    with pytest.raises(UserError, match=said) as caught:
        place(location, options(**given))

    assert "secret" not in str(caught.value)


def test_a_pattern_matches_whole_names() -> None:
    """A pattern is not a prefix."""
    found = place("kafka://h:1", options(topic__pattern="a|ab"))

    assert [found.matches(t) for t in ("a", "ab", "abc", "b")] == [True, True, False, False]
    assert str(found) == "kafka://h:1/a|ab"


def test_named_topics_match_by_name() -> None:
    """Without a pattern only the named topics are read."""
    assert [place("kafka://h:1/a;b", options()).matches(t) for t in ("a", "b", "c")] == [True, True, False]


def test_specific_offsets() -> None:
    """Flink's spelling, with spaces or without."""
    assert specific_offsets("partition:0,offset:42;partition:1,offset:300") == {0: 42, 1: 300}
    assert specific_offsets(" partition : 0 , offset : 42 ;") == {0: 42}


@pytest.mark.parametrize("value", ["", "0:42", "partition:0", "partition:0,offset:-1", "partition:0,offset:1;partition:0,offset:2"])
def test_wrong_specific_offsets(value: str) -> None:
    """Anything else is refused with an example or the reason."""
    with pytest.raises(ValueError, match="partition"):
        specific_offsets(value)


def test_secrets_do_not_show() -> None:
    """Properties never appear in ``repr`` (CFG, secrets)."""
    assert "hunter2" not in repr(options(properties_sasl_password="hunter2"))

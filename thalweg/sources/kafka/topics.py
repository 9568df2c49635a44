"""Which topics and partitions there are, and what the cluster calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from thalweg.errors import SourceFailed
from thalweg.model.events import Notice
from thalweg.model.position import TopicIdentity
from thalweg.sources.kafka import embedded
from thalweg.sources.kafka.client import ClientLog, admin_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from confluent_kafka import Consumer

    from thalweg.ports.source import SourceContext
    from thalweg.sources.kafka.faults import Patience
    from thalweg.sources.kafka.options import Place
    from thalweg.sources.kafka.reader import Key

_FRESH_NS: Final = 2_000_000_000
"""How long a topic may be unknown: the brokers hear of a new one by and by."""
_VERIFY_S: Final = 2.0
_NAMED: Final = "name:"
"""In front of a name that stands for an id."""
_MOCK: Final = "mockCluster"
"""How the client library's mock cluster names itself."""


class Topics:
    """The cluster's view of the topics of one source."""

    def __init__(
        self, consumer: Consumer, place: Place, conf: Mapping[str, str], patience: Patience, context: SourceContext,
        identities: dict[str, TopicIdentity],
    ) -> None:
        """Nothing is asked yet; what is learned goes to ``identities``, which outlives a client and is read by other threads."""
        self._consumer = consumer
        self._place = place
        self._conf = conf
        self._patience = patience
        self._pipeline = context.pipeline
        self._observer = context.observer
        self._clock = context.clock
        self._identities = identities
        self._cluster = ""

    def find(self, check: Callable[[], None]) -> list[Key]:
        """Every partition that is to be read; raises SourceFailed when a broker or a topic is not there."""
        what = "the brokers do not answer"
        metadata = self._patience.ask(what, lambda seconds: self._consumer.list_topics(timeout=seconds), check)
        self._cluster = metadata.cluster_id or self._place.servers
        if self._place.embedded:
            self._cluster += f"-{embedded.clusters().token(self._pipeline)}"
        if self._place.pattern is not None:
            found = [topic for name, topic in sorted(metadata.topics.items()) if self._place.matches(name) and not name.startswith("__")]
        else:
            found = [self._known(topic, check) for topic in self._place.topics]
        return [(topic.topic, index) for topic in found for index in sorted(topic.partitions)]

    def _known(self, topic: str, check: Callable[[], None]) -> Any:  # noqa: ANN401 - the client's own description of a topic
        """What the cluster says about a topic; one that was made a moment ago is waited for."""
        deadline = self._clock.monotonic_ns() + _FRESH_NS
        while True:
            found = self._patience.ask(f"topic {topic!r} cannot be looked up", self._lister(topic), check).topics[topic]
            if found.error is None:
                return found
            if self._clock.monotonic_ns() >= deadline:
                hint = "create it, or correct its name" if found.error.name() == "UNKNOWN_TOPIC_OR_PART" else None
                raise SourceFailed(f"topic {topic!r}: {found.error.str()} ({found.error.name()})", where=str(self._place), hint=hint)
            self._clock.sleep_ns(_FRESH_NS // 20)

    def _lister(self, topic: str) -> Callable[[float], Any]:
        """Asks for the metadata of one topic."""
        return lambda seconds: self._consumer.list_topics(topic, timeout=seconds)

    def exists(self, topic: str) -> bool:
        """Whether the cluster still has the topic."""
        metadata = self._patience.ask(f"topic {topic!r} cannot be looked up", self._lister(topic))
        found = metadata.topics.get(topic)
        return found is not None and (found.error is None or found.error.name() != "UNKNOWN_TOPIC_OR_PART")

    def identify(self, topics: Collection[str]) -> None:
        """Ask for the ids of these topics; a cluster that gives no topic ids gets the name in their place, said once."""
        ids = self._topic_ids(sorted(set(topics)))
        if not ids and topics and not self._identities:
            message = f"{self._place.servers} gives no topic ids: a topic that is deleted and created again looks like the same topic"
            self._observer.on(Notice("info", "kafka.no_topic_id", message))
        for topic in topics:
            self._identities[topic] = TopicIdentity(self._cluster, ids.get(topic, f"{_NAMED}{topic}"))

    def verify(self, topics: Collection[str]) -> None:
        """See whether these are still the topics that were read so far, since offsets of another topic mean nothing here.

        One that is gone, or whose id cannot be learned now, is left to those who read it. Raises SourceFailed for one that was made anew.
        """
        known = sorted(topic for topic in topics if topic in self._identities and not self._identities[topic].topic_id.startswith(_NAMED))
        for topic, found in self._described(known, _VERIFY_S).items() if known else ():
            if isinstance(found, str) and found != self._identities[topic].topic_id:
                message = f"topic {topic!r} was deleted and created again while it was read"
                raise SourceFailed(message, where=str(self._place), hint="start again: the new topic is read from where the table says")

    def _topic_ids(self, topics: list[str]) -> dict[str, str]:
        """Topic ids as the cluster gives them; empty where it has none to give."""
        if self._cluster.startswith(_MOCK):
            return {}  # it never answers this question

        def call(seconds: float) -> dict[str, str]:
            found = self._described(topics, seconds)
            for fault in (answer for answer in found.values() if isinstance(answer, KafkaException)):
                if fault.args[0].name() in {"UNSUPPORTED_VERSION", "_UNSUPPORTED_FEATURE"}:
                    return {}
                raise fault
            return {name: answer for name, answer in found.items() if isinstance(answer, str)}

        found = self._patience.ask("the topics' ids cannot be read", call)
        return {name: topic_id for name, topic_id in found.items() if topic_id.strip("A")}

    def _described(self, topics: list[str], seconds: float) -> dict[str, str | KafkaException]:
        """The id of each topic, or why there is none."""
        conf: dict[str, Any] = {**admin_settings(self._conf), "logger": ClientLog(self._observer, self._conf)}
        admin = AdminClient(conf)
        found: dict[str, str | KafkaException] = {}
        for name, answer in admin.describe_topics(TopicCollection(topics), request_timeout=seconds).items():
            try:
                found[name] = str(answer.result(seconds + 1).topic_id)
            except KafkaException as e:
                found[name] = e
        return found

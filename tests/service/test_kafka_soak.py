"""A large group under constant change: hours in small; run with --soak."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.service.kafka_topics import Readers, new_topic
from tests.service.test_kafka_groups import DEAD, STRATEGIES, Feed, Team
from thalweg.model.events import CommitFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.service, pytest.mark.soak, pytest.mark.timeout(600)]
MEMBERS, CHANGES, PARTITIONS, MORE = 20, 30, 24, 30


@pytest.mark.parametrize("given", STRATEGIES.values(), ids=STRATEGIES.keys())
def test_twenty_members(kafka: str, given: Mapping[str, str]) -> None:
    """Rolling restarts, killed members and new partitions: every record comes, the group never gets stuck (KSR-14, KSR-15)."""
    topic, dice = new_topic(kafka, PARTITIONS), random.Random(1)
    discovery = {"scan.topic-partition-discovery.interval": "1 s"}
    team, feed = Team(Readers(kafka, "fetch")), Feed(kafka, topic, PARTITIONS)
    settings = [f"{k.removeprefix('properties.')}={v}" for k, v in given.items()]
    killed = []
    alive = [team.join(topic, {**given, **discovery}) for _ in range(MEMBERS)]
    for change in range(CHANGES):
        time.sleep(dice.random())
        alive.pop(dice.randrange(len(alive))).leave()
        alive.append(team.join(topic, {**given, **discovery}))
        if change % 10 == 5:
            command = [sys.executable, "-c", DEAD, kafka, topic, f"twg-{topic}", f"dead-{change}", "enable.auto.commit=false", *settings]
            killed.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        if change % 10 == 9:
            killed[-1].kill()
    admin = AdminClient({"bootstrap.servers": kafka, "log_level": 0})
    for done in admin.create_partitions([NewPartitions(topic, MORE)]).values():
        done.result(20)
    feed.stop()
    for process in killed:
        process.kill()
        process.communicate()

    team.wait_until(lambda: sum(len(m.reading.listener.held) for m in alive) == MORE, timeout_s=120)
    team.wait_until(lambda: len({v for m in team.members for v in m.reading.values()}) == feed.sent, timeout_s=120)
    for member in alive:
        member.leave()

    found = [int(v or b"") for m in team.members for v in m.reading.values()]
    assert set(found) == set(range(feed.sent))
    if not team.readers.observer.of(CommitFailed):
        assert len(found) == feed.sent

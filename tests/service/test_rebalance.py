"""Members that join and leave while records flow, under every assignment strategy, and a broker that restarts."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.service.killing import CLASSIC, Field

if TYPE_CHECKING:
    from pathlib import Path

    from tests.services.kafka import KafkaServer

pytestmark = [pytest.mark.service, pytest.mark.timeout(300)]

STRATEGIES = {
    "range": f"{CLASSIC}, 'properties.partition.assignment.strategy' 'range'",
    "cooperative-sticky": f"{CLASSIC}, 'properties.partition.assignment.strategy' 'cooperative-sticky'",
    "consumer protocol": "'properties.group.protocol' 'consumer'",
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_three_members_come_and_go(kafka: str, tmp_path: Path, strategy: str) -> None:
    """Revoked partitions are drained and committed before they go: nothing missing, nothing twice, no offset ahead (KSR)."""
    ground = Field(kafka, tmp_path, seed=11, protocol=STRATEGIES[strategy])
    try:
        producing = ground.produce(seconds=600, rate=1_500)
        ground.start()
        time.sleep(3)
        ground.watch()
        second, third = ground.start(), ground.start()
        time.sleep(5)
        for leaving in (second, third):
            leaving.send_signal(signal.SIGTERM)
            assert leaving.wait(60) == 0, ground.logs()
            ground.procs.remove(leaving)
            time.sleep(2)
        ground.start()
        time.sleep(3)
        ground.enough.set()
        producing.join()
        time.sleep(2)
        ground.finish()

        assert ground.check() > 1_000
    finally:
        ground.close()


def test_a_broker_that_restarts_is_waited_for(own_kafka: KafkaServer, tmp_path: Path) -> None:
    """The pipeline goes on when the broker is back, without being started again."""
    ground = Field(own_kafka.address, tmp_path, seed=13)
    try:
        ground.produce(seconds=2, rate=2_000).join()
        proc = ground.start()
        time.sleep(4)
        own_kafka.restart()
        ground.produce(seconds=2, rate=2_000).join()
        deadline = time.monotonic() + 60
        while len(ground.places("all")) < 7_000 and time.monotonic() < deadline:
            time.sleep(0.5)
        assert proc.poll() is None, ground.logs()
        ground.finish()

        assert ground.check() > 6_000
    finally:
        ground.close()

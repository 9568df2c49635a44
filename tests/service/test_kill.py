"""kill -9 at random moments, with a real broker: nothing missing, nothing twice, offsets never ahead of the files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.service.killing import Field

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.service, pytest.mark.timeout(900)]


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    """Five in a normal run, fifty with --soak."""
    return 50 if request.config.getoption("--soak") else 5


@pytest.fixture
def ground(kafka: str, tmp_path: Path) -> Iterator[Field]:
    """A topic with eight partitions and nothing running."""
    made = Field(kafka, tmp_path, seed=7)
    yield made
    made.close()


def test_random_kills_lose_and_repeat_nothing(ground: Field, kills: int) -> None:
    """Two processes in the group, PARTITIONED BY, a table that filters, files that span epochs, another budget after each restart (ACK-16, CNX)."""
    producing = ground.produce(seconds=kills * 2.5 + 4, rate=2_000)
    ground.start()
    ground.start()
    ground.watch()
    for _ in range(kills):
        time.sleep(ground.rng.uniform(0.7, 3.5))
        ground.kill_one()
    producing.join()
    time.sleep(3)
    ground.finish()

    assert ground.check() > 1_000
    assert ground.kills == kills


def test_kills_with_the_groups_offsets_deleted(ground: Field, kills: int) -> None:
    """The sinks' record alone says where to resume."""
    rounds = max(2, kills // 5)
    producing = ground.produce(seconds=rounds * 8, rate=1_500)
    for _ in range(rounds):
        ground.start()
        ground.start()
        time.sleep(ground.rng.uniform(3, 6))
        ground.kill_all()
        ground.forget_offsets()
    producing.join()
    ground.finish()

    assert ground.check() > 1_000


def test_kill_between_entry_and_rename(ground: Field, kills: int) -> None:
    """An entry without its renames is finished by whoever comes next."""
    producing = ground.produce(seconds=600, rate=500)
    died = 0
    for _ in range(max(2, kills // 2)):
        proc = ground.start(crash_at=ground.rng.randint(5, 12))
        died += proc.wait(60) == -9
        ground.procs.remove(proc)
    ground.enough.set()
    producing.join()
    ground.finish()

    assert died >= 2, ground.logs()
    assert ground.check() > 1_000

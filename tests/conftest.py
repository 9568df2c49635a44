"""Flags, profiles and servers for the whole suite."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.services.apicurio import start_apicurio
from tests.services.brokers import start_noida, start_tansu
from tests.services.kafka import KafkaServer, make_kafka, start_kafka
from tests.services.process import missing_tools, need_tools, required, shared
from thalweg.native.mock_cluster import MockCluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fast", parent=settings.get_profile("default"), max_examples=20)
settings.register_profile("ci", parent=settings.get_profile("default"), max_examples=200, derandomize=True)
settings.load_profile("fast" if os.environ.get("FAST") else "ci" if os.environ.get("CI") else "default")

os.environ.setdefault("TWG_DECODE_KERNELS", "off")  # no test but those of the kernels wants a compiler beside it


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--soak`` and ``--bench`` run what is left out of a normal run."""
    parser.addoption("--soak", action="store_true", help="run the long tests marked soak")
    parser.addoption("--bench", action="store_true", help="run the measurements marked bench")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out soaks and benches that nobody asked for, and service tests where servers cannot be started."""
    reason = missing_tools()
    for item in items:
        for name in ("soak", "bench"):
            if item.get_closest_marker(name) and not config.getoption(f"--{name}"):
                item.add_marker(pytest.mark.skip(reason=f"run with --{name}"))
        if reason is not None and not required() and item.get_closest_marker("service"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all test workers of this run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


@pytest.fixture(scope="session")
def kafka_server(run_folder: Path) -> Iterator[dict[str, Any]]:
    """A real Kafka broker that all tests of the run share.

    Beside ``address``: ``sasl`` and ``sasl_ssl``, where alice needs the password wonderland, and ``ssl``, where she needs a certificate;
    ``certificates`` is the folder of ``ca``, ``server`` and ``client``.
    """
    need_tools()
    with shared(run_folder, "kafka", start_kafka) as known:
        yield known


@pytest.fixture(scope="session")
def kafka(kafka_server: dict[str, Any]) -> str:
    """Address of the shared broker: name your topics and groups uniquely, never stop it."""
    return str(kafka_server["address"])


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[KafkaServer]:
    """A real Kafka broker of one test's own: stop, kill and restart it at will."""
    need_tools()
    server = make_kafka(tmp_path / "kafka")
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def apicurio(run_folder: Path) -> Iterator[str]:
    """URL of a real Apicurio Registry's Confluent API, shared by all tests of the run."""
    need_tools()
    with shared(run_folder, "apicurio", start_apicurio) as known:
        yield f"http://{known['address']}/apis/ccompat/v7"


@pytest.fixture(scope="session")
def tansu(run_folder: Path) -> Iterator[str]:
    """Address of a Tansu broker, shared: for groups. Its watermarks and timestamps are wrong."""
    with shared(run_folder, "tansu", start_tansu) as known:
        yield known["address"]


@pytest.fixture(scope="session")
def noida(run_folder: Path) -> Iterator[str]:
    """Address of a noida-db broker, shared: for offsets, with assigned partitions. Its groups get stuck."""
    with shared(run_folder, "noida", start_noida) as known:
        yield known["address"]


@pytest.fixture
def mock_kafka() -> Iterator[MockCluster]:
    """The client library's mock cluster: for faults and protocol tests. It isolates no transactions and forgets old records."""
    cluster = MockCluster()
    yield cluster
    cluster.close()

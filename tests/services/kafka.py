"""Apache Kafka 4.4.0: one KRaft node on loopback, from Maven artifacts, on Java 17."""

from __future__ import annotations

import base64
import subprocess
import time
import uuid
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.services.certificates import made_certificates
from tests.services.process import CACHE, Server, free_ports, maven

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "4.4.0"
_ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.kafka", "kafka-tools", VERSION),
    ("org.apache.logging.log4j", "log4j-api", "2.25.3"),
    ("org.apache.logging.log4j", "log4j-core", "2.25.3"),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.3"),
)
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
listeners={open},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={open}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_plaintext.plain.sasl.jaas.config={plain}
listener.name.sasl_ssl.plain.sasl.jaas.config={plain}
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config={scram}
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={scram}
listener.name.ssl.ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={folder}/certificates/keystore.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/certificates/ca.pem
controller.quorum.voters=1@127.0.0.1:{controller}
log.dirs={folder}/data
num.partitions=4
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.session.timeout.ms=1000
group.consumer.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=500
group.consumer.heartbeat.interval.ms=1000
log.cleaner.backoff.ms=200
log.retention.check.interval.ms=1000
"""

_PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="wonderland";'
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def jars() -> str:
    """Class path of the broker; fetched once for this user."""
    folder = CACHE / f"kafka-{VERSION}"
    dependencies = "".join(
        f"<dependency><groupId>{g}</groupId><artifactId>{a}</artifactId><version>{v}</version></dependency>" for g, a, v in _ARTIFACTS
    )
    pom = (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>thalweg.tests</groupId><artifactId>kafka</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
    maven(folder, pom, "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'lib'}", "-DincludeScope=runtime")
    return f"{folder / 'lib'}/*"


class KafkaServer(Server):
    """One broker; ``stop``, ``kill`` and ``start`` keep its data, so that a restart can be tested."""

    def start(self, timeout_s: float = 60) -> None:
        """Start, and wait until the broker answers."""
        super().start(timeout_s)
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                admin.list_topics(timeout=2)
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
            else:
                return

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()


def make_kafka(folder: Path, *extra: str) -> KafkaServer:
    """A formatted broker that is not started; ``extra`` lines go to its properties."""
    folder.mkdir(parents=True, exist_ok=True)
    classpath = jars()
    port, sasl, tls, sasl_tls, controller = free_ports(5)
    listeners = {"PLAINTEXT": port, "SASL_PLAINTEXT": sasl, "SSL": tls, "SASL_SSL": sasl_tls}
    shown = ",".join(f"{name}://127.0.0.1:{number}" for name, number in listeners.items())
    text = _PROPERTIES.format(open=shown, controller=controller, folder=folder, plain=_PLAIN, scram=_SCRAM)
    properties = folder / "server.properties"
    properties.write_text(text + "".join(f"{line}\n" for line in extra), encoding="utf-8")
    certificates = _certificates(folder / "certificates")
    tool = ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath, "kafka.tools.StorageTool"]
    cluster_id = "c" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
    users = [f"--add-scram=SCRAM-SHA-{size}=[name=alice,password=wonderland]" for size in (256, 512)]
    subprocess.run([*tool, "format", "-t", cluster_id, "-c", str(properties), *users], capture_output=True, check=True, timeout=60)
    java = ["java", "-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-cp", classpath, "kafka.Kafka", str(properties)]
    addresses = {name.lower(): f"127.0.0.1:{number}" for name, number in listeners.items()}
    facts = {"sasl": addresses["sasl_plaintext"], "ssl": addresses["ssl"], "sasl_ssl": addresses["sasl_ssl"], "certificates": str(certificates)}
    return KafkaServer(java, folder, port, facts=facts)


def _certificates(folder: Path) -> Path:
    """Certificates in the folder, and the server's with its key in one file, as the broker wants them."""
    folder.mkdir(exist_ok=True)
    made_certificates(folder)
    both = "".join((folder / name).read_text(encoding="ascii") for name in ("server.key", "server.pem"))
    (folder / "keystore.pem").write_text(both, encoding="ascii")
    return folder


def start_kafka(folder: Path) -> KafkaServer:
    """A running broker."""
    server = make_kafka(folder)
    server.start()
    return server

"""Apicurio Registry 3.0.9 in memory, from its Maven artifact, on Java 17."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.services.process import CACHE, Server, free_ports, maven

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "3.0.9"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>thalweg.tests</groupId><artifactId>apicurio</artifactId><version>1</version><packaging>pom</packaging>
<build><plugins><plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>
<executions><execution><id>get</id><goals><goal>unpack</goal></goals><configuration><artifactItems><artifactItem>
<groupId>io.apicurio</groupId><artifactId>apicurio-registry-app</artifactId><version>{version}</version>
<type>tar.gz</type><classifier>all</classifier><outputDirectory>{folder}</outputDirectory>
</artifactItem></artifactItems></configuration></execution></executions></plugin></plugins></build></project>
"""


def start_apicurio(folder: Path) -> Server:
    """A running registry; the Confluent API is at ``http://<address>/apis/ccompat/v7``."""
    home = CACHE / f"apicurio-{VERSION}"
    maven(home, _POM.format(version=VERSION, folder=home / "app"), "dependency:unpack@get")
    jar = next(p for p in ((home / "app" / f"apicurio-registry-app-{VERSION}-runner.jar"), home / "app" / "quarkus-run.jar") if p.exists())
    port, management = free_ports(2)
    command = [
        "java", "-Xmx128m", "-XX:+UseSerialGC", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}",
        "-Dquarkus.management.host=127.0.0.1", f"-Dquarkus.management.port={management}", "-jar", str(jar),
    ]
    server = Server(command, folder, port)
    server.start()
    url = f"http://{server.address}/apis/registry/v2/system/info"
    for _ in range(200):
        with contextlib.suppress(httpx.HTTPError):  # nobody listens yet
            if httpx.get(url, timeout=2, trust_env=False).status_code == httpx.codes.OK:
                return server
        time.sleep(0.1)
    server.kill()
    return pytest.fail(f"the registry does not answer: {server.log.read_text()[-2000:]}")

"""A JobManager and a TaskManager of Flink 2.3 on loopback, from a folder of jars; nothing is fetched here."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from figures import peak_mib

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.services.process import Server, free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

_FROM_PYPI: Final = (
    "flink-dist", "flink-cep", "flink-json", "flink-python", "flink-connector-files", "flink-sql-client", "flink-table-api-java-uber",
    "flink-table-planner-loader", "flink-table-runtime", "log4j-api", "log4j-core", "log4j-slf4j-impl",
)  # fmt: skip
_FROM_MAVEN: Final = (
    "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2", "org.apache.flink:flink-sql-parquet:2.3.0",
    "org.apache.flink:flink-sql-gateway:2.3.0", "org.apache.flink:flink-sql-gateway-api:2.3.0",
    "org.apache.hadoop:hadoop-client-api:3.4.2", "org.apache.hadoop:hadoop-client-runtime:3.4.2", "commons-logging:commons-logging:1.3.5",
)  # fmt: skip
_FETCH: Final = """Flink's jars are not all in {folder}; missing: {missing}. To get them (400 MB):
  pip install --no-deps --target {folder} apache-flink-libraries==2.3.0
  for a in {artifacts}; do
    mvn -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=$a:jar -DoutputDirectory={folder}
  done"""
_OPENED: Final = (
    "lang", "lang.reflect", "net", "io", "nio", "text", "time",
    "util", "util.concurrent", "util.concurrent.atomic", "util.concurrent.locks",
)  # fmt: skip
"""Packages below ``java`` that Flink looks into."""
_SLOTS: Final = 2
_CONFIG: Final = {
    "jobmanager.bind-host": "127.0.0.1", "jobmanager.rpc.address": "127.0.0.1", "rest.address": "127.0.0.1",
    "rest.bind-address": "127.0.0.1", "taskmanager.bind-host": "127.0.0.1", "taskmanager.host": "127.0.0.1",
    "taskmanager.numberOfTaskSlots": _SLOTS, "parallelism.default": _SLOTS, "taskmanager.cpu.cores": _SLOTS,
    "taskmanager.memory.task.heap.size": "2700m", "taskmanager.memory.task.off-heap.size": "0m",
    "taskmanager.memory.framework.heap.size": "128m", "taskmanager.memory.framework.off-heap.size": "128m",
    "taskmanager.memory.managed.size": "128m", "taskmanager.memory.network.min": "340m", "taskmanager.memory.network.max": "340m",
    "taskmanager.memory.jvm-metaspace.size": "256m",
    "taskmanager.memory.jvm-overhead.min": "410m", "taskmanager.memory.jvm-overhead.max": "410m",
    "execution.checkpointing.interval": "10 s", "execution.checkpointing.mode": "EXACTLY_ONCE", "pipeline.object-reuse": True,
    "execution.runtime-mode": "STREAMING", "table.dml-sync": False,
}  # fmt: skip
_JOB_MANAGER: Final = ("-Xmx1024m", "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint")
_TASK_MANAGER: Final = (
    "-Xms2828m", "-Xmx2828m", "-XX:MaxDirectMemorySize=468m", "-XX:MaxMetaspaceSize=256m", "-XX:+UseG1GC",
    "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
)  # fmt: skip
"""Memory as Flink's own scripts divide a TaskManager process of 4 GiB, 128 MiB of it managed."""
_LOG: Final = """
appender.c.type = Console
appender.c.name = c
appender.c.layout.type = PatternLayout
appender.c.layout.pattern = %d{UNIX_MILLIS} %p %m%n
rootLogger.level = ERROR
rootLogger.appenderRef.c.ref = c
logger.splits.name = org.apache.flink.connector.base.source.reader.SourceReaderBase
logger.splits.level = INFO
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """How long a job took."""

    reading_s: float
    """From the first split given to a reader to the last record processed, as the TaskManager logs it."""
    waiting_s: float
    """From there to the end of the job: the last checkpoint, and files get their names."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Two processes that run jobs."""

    folder: Path
    java: tuple[str, ...]
    job_manager: Server
    task_manager: Server

    def run(self, sql: str) -> Ran:
        """Run a script's job to its end."""
        before = len(self._log())
        script = self.folder / "job.sql"
        script.write_text(sql, encoding="utf-8")
        client = [*self.java, "-Xmx512m", "org.apache.flink.table.client.SqlClient", "embedded", "-f", str(script)]
        env = {**os.environ, "FLINK_CONF_DIR": str(self.folder)}
        said = subprocess.run(client, env=env, cwd=self.folder, capture_output=True, text=True, check=False, timeout=120)
        started = re.search(r"Job ID: (\w{32})", said.stdout)
        if started is None:
            raise SystemExit(f"Flink's client did not start the job: {said.stdout[-4000:]}{said.stderr[-2000:]}")
        while (job := self._ask(f"/jobs/{started[1]}"))["state"] not in {"FINISHED", "FAILED", "CANCELED"}:
            time.sleep(0.2)
        if job["state"] != "FINISHED":
            raise SystemExit(f"Flink's job ended as {job['state']}: {json.dumps(self._ask(f'/jobs/{started[1]}/exceptions'))[:4000]}")
        splits = re.findall(r"^(\d+) INFO (Adding|Finished reading) split", self._log()[before:], re.MULTILINE)
        first = min(int(stamp) for stamp, what in splits if what == "Adding")
        last = max(int(stamp) for stamp, what in splits if what != "Adding")
        return Ran((last - first) / 1e3, (job["end-time"] - last) / 1e3)

    def wait(self) -> None:
        """Until the TaskManager has offered its slots."""
        deadline = time.monotonic() + 60
        while self._ask("/overview")["slots-total"] < _SLOTS:
            if time.monotonic() > deadline:
                raise SystemExit(f"Flink's TaskManager did not join: {self._log()[-4000:]}")
            time.sleep(0.2)

    def peak_mib(self) -> float:
        """Peaks of both processes, added."""
        return sum(peak_mib(server.pid) for server in (self.job_manager, self.task_manager) if server.pid is not None)

    def _log(self) -> str:
        """What the TaskManager has logged."""
        return self.task_manager.log.read_text(errors="replace")

    def _ask(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """What the JobManager answers."""
        with urllib.request.urlopen(f"http://{self.job_manager.address}{path}", timeout=20) as answer:
            return json.load(answer)


@contextlib.contextmanager
def cluster(jars: list[Path], folder: Path) -> Iterator[Cluster]:
    """Processes that end with the block."""
    rpc, rest, tasks = free_ports(3)
    places = {"jobmanager.rpc.port": rpc, "rest.port": rest, "taskmanager.rpc.port": tasks, "io.tmp.dirs": folder}
    config = _CONFIG | places | {"execution.checkpointing.dir": f"file://{folder}/checkpoints"}
    (folder / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in config.items()), encoding="utf-8")
    (folder / "log4j2.properties").write_text(_LOG, encoding="utf-8")
    opened = (f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED)
    settings = (f"-Djava.io.tmpdir={folder}", f"-Dlog4j.configurationFile={folder}/log4j2.properties")
    java = ("java", *opened, *settings, "-cp", ":".join(map(str, jars)))
    started = Cluster(
        folder, java,
        Server([*java, *_JOB_MANAGER, "--configDir", str(folder)], folder / "job-manager", rest),
        Server([*java, *_TASK_MANAGER, "--configDir", str(folder)], folder / "task-manager", tasks),
    )  # fmt: skip
    try:
        started.job_manager.start()
        started.task_manager.start()
        started.wait()
        yield started
    finally:
        started.task_manager.stop()
        started.job_manager.stop()


def found_jars(folder: Path) -> list[Path]:
    """The class path; ends the run, saying how to get the jars, where some are missing."""
    wanted = [*_FROM_PYPI, *(artifact.split(":")[1] for artifact in _FROM_MAVEN)]
    jars = {name: sorted(folder.rglob(f"{name}-[0-9]*.jar")) for name in wanted}
    missing = ", ".join(name for name, files in jars.items() if not files)
    if missing:
        raise SystemExit(_FETCH.format(folder=folder, missing=missing, artifacts=" ".join(_FROM_MAVEN)))
    return [files[-1] for files in jars.values()]

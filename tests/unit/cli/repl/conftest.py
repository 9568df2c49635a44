"""A REPL over a memory topic, without a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

from thalweg.cli.repl.shell import Shell
from thalweg.cli.repl.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ORDERS = (
    b'{"id": 1, "country": "DE", "amount": 5.0, "tags": ["a", "b"]}',
    b'{"id": 2, "country": "FR", "amount": 7.5, "tags": []}',
    b'{"id": 3, "country": "DE", "amount": 1.0, "tags": ["c"]}',
    b"broken",
)


class Desk:
    """A shell, what it printed, and the topic that it reads."""

    def __init__(self, topic: Any, folder: Path, kind: str = "table", **settings: str) -> None:  # noqa: ANN401 - a MemoryTopic
        """Nothing is loaded yet."""
        self.topic, self.folder = topic, folder
        self.out, self.notes = io.StringIO(), io.StringIO()
        self.shell = Shell(Workspace(settings, {}), kind=kind, out=self.out, notes=self.notes)

    @property
    def table(self) -> str:
        """The statement that makes ``orders``."""
        return (
            "CREATE EXTERNAL TABLE orders (id BIGINT NOT NULL, country STRING, amount DOUBLE, tags ARRAY<STRING>)\n"
            f"STORED AS MEMORY LOCATION 'memory://{self.topic.name}' OPTIONS ('format' 'json', 'bad_data' 'dlq');\n"
        )

    @property
    def pipeline(self) -> str:
        """A pipeline over the topic."""
        return (
            self.table
            + "CREATE VIEW clean AS SELECT id, country, amount FROM orders WHERE amount > 2;\n"
            + "CREATE VIEW doubled AS SELECT id, amount * 2 AS twice FROM clean;\n"
            + "COPY doubled TO './out/doubled/' STORED AS PARQUET;\n"
            + "COPY dlq.orders TO './out/dlq/' STORED AS PARQUET;\n"
        )

    def file(self, text: str | None = None, name: str = "pipeline.sql") -> str:
        """A file, by default the pipeline; gives its path."""
        path = self.folder / name
        path.write_text(text or self.pipeline, encoding="utf-8")
        return str(path)

    def load(self) -> Desk:
        """Load the pipeline."""
        self.shell.workspace.load(self.file())
        return self

    def type(self, text: str) -> list[str]:
        """Do what is typed; gives the lines that came out."""
        begin = self.out.tell()
        self.shell.run_text(text, "input")
        self.out.seek(begin)
        return self.out.read().splitlines()

    def said(self) -> str:
        """Everything that is no row."""
        return self.notes.getvalue()


@pytest.fixture
def desk(topic: Callable[..., Any], tmp_path: Path) -> Desk:
    """A REPL with a topic of four records, nothing loaded."""
    return Desk(topic(*ORDERS), tmp_path)

"""One entry of the publish log as JSON: what was published, and the files that hold it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from thalweg.model.position import Partition, Span
from thalweg.model.spans import SpanSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thalweg.model.position import TopicIdentity

FORMAT = 1


@dataclass(frozen=True, slots=True, order=True)
class PartitionKey:
    """A partition as the log knows it: a topic deleted and created again is another one."""

    source: str
    cluster: str
    topic_id: str
    topic: str
    index: int

    @classmethod
    def of(cls, partition: Partition, identity: TopicIdentity) -> PartitionKey:
        """The key of an assigned partition."""
        return cls(partition.source, identity.cluster_id, identity.topic_id, partition.topic, partition.index)

    @property
    def partition(self) -> Partition:
        """A partition that stands for this key in a SpanSet of the log's own."""
        return Partition(self.source, f"{self.cluster}/{self.topic_id}", self.index)


@dataclass(frozen=True, slots=True)
class KeyedSpans:
    """Merged offset ranges of one partition."""

    key: PartitionKey
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One data file: its name until the entry exists, and the name that it has from then on."""

    temp: str
    """Name in the log's folder of temporary files."""
    final: str
    """Path below the target, with slashes."""
    rows: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What one exclusive create publishes; a checkpoint is an entry without files that stands for all before it."""

    pipeline: str
    relation: str
    prefix: str
    schema: str
    """Fingerprint of the files' schema."""
    version: str
    writer: str
    """Token of the process that created the entry."""
    number: int
    """Counts the creates of that process, so that it knows its own entry again."""
    created_ns: int
    spans: tuple[KeyedSpans, ...]
    files: tuple[FileEntry, ...] = ()

    def to_json(self) -> bytes:
        """The entry as a file's content."""
        body = {
            "format": FORMAT, "pipeline": self.pipeline, "relation": self.relation, "metadata_prefix": self.prefix,
            "schema": self.schema, "twg": self.version, "writer": self.writer, "number": self.number, "created_ns": self.created_ns,
            "spans": spans_json(self.spans),
            "files": [{"temp": f.temp, "final": f.final, "rows": f.rows, "bytes": f.nbytes} for f in self.files],
        }
        return json.dumps(body, ensure_ascii=False).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Entry:
        """Read an entry. Raises ValueError where it is damaged or of a later format."""
        body = json.loads(content)
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            message = f"not an entry of format {FORMAT}"
            raise ValueError(message)
        try:
            return cls(
                pipeline=str(body["pipeline"]), relation=str(body["relation"]), prefix=str(body["metadata_prefix"]),
                schema=str(body["schema"]), version=str(body["twg"]), writer=str(body["writer"]), number=int(body["number"]),
                created_ns=int(body["created_ns"]), spans=tuple(_read_spans(s) for s in body["spans"]),
                files=tuple(_read_file(f) for f in body["files"]),
            )
        except (KeyError, TypeError) as e:
            message = f"{type(e).__name__}: {e}"
            raise ValueError(message) from e


def keyed(spans: Iterable[tuple[PartitionKey, Span]]) -> tuple[KeyedSpans, ...]:
    """Merge spans by partition, in the order of the keys."""
    union: dict[PartitionKey, SpanSet] = {}
    for key, span in spans:
        union.setdefault(key, SpanSet()).add(Span(key.partition, span.start, span.end))
    return tuple(KeyedSpans(key, tuple(union[key].ranges(key.partition))) for key in sorted(union) if len(union[key]))


def spans_json(spans: Iterable[KeyedSpans]) -> list[dict[str, Any]]:
    """Spans as they stand in entries and in footers."""
    return [
        {"source": s.key.source, "cluster": s.key.cluster, "topic": s.key.topic, "topic_id": s.key.topic_id,
         "partition": s.key.index, "ranges": [list(r) for r in s.ranges]}
        for s in spans
    ]


def _read_spans(body: dict[str, Any]) -> KeyedSpans:
    """One partition's ranges."""
    key = PartitionKey(str(body["source"]), str(body["cluster"]), str(body["topic_id"]), str(body["topic"]), int(body["partition"]))
    return KeyedSpans(key, tuple((int(lo), int(hi)) for lo, hi in body["ranges"]))


def _read_file(body: dict[str, Any]) -> FileEntry:
    """One file; names that lead out of the target are refused."""
    temp, final = str(body["temp"]), PurePosixPath(str(body["final"]))
    if "/" in temp or temp in {"", ".", ".."} or final.is_absolute() or ".." in final.parts:
        message = f"a file name leads out of the target: {body['temp']!r}, {body['final']!r}"
        raise ValueError(message)
    return FileEntry(temp, str(final), int(body["rows"]), int(body["bytes"]))

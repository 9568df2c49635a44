"""The ``files`` sink: gathers deliveries into Parquet files and publishes them together with their spans.

Parallel by process: each writes files of its own. Delivers exactly once on a local file system, at least once elsewhere.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg.errors import SinkFailed
from thalweg.model.events import Notice
from thalweg.ports.sink import Sink
from thalweg.sinks.files import disk, encodings
from thalweg.sinks.files.check import check, fingerprint
from thalweg.sinks.files.entries import PartitionKey, spans_json
from thalweg.sinks.files.rolls import Roll

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from thalweg.model.position import Partition
    from thalweg.model.spans import SpanSet
    from thalweg.ports.sink import Delivery, SinkContext, Target
    from thalweg.sinks.files.entries import KeyedSpans
    from thalweg.sinks.files.local import LocalPublisher
    from thalweg.sinks.files.options import FileOptions
    from thalweg.sinks.files.remote import RemotePublisher


class FilesSink(Sink):
    """One relation's files in one target."""

    def __init__(self, target: Target, context: SinkContext, publisher: LocalPublisher | RemotePublisher) -> None:
        """Nothing is touched yet."""
        self._target = target
        self._options: FileOptions = target.options
        self._context = context
        self._publisher = publisher
        self._roll: Roll | None = None
        self._ratio = 1.0
        self._confirmed: list[int] = []
        self._choice: encodings.Choice | None = None

    def open(self) -> None:
        """Make the folder, take the process's lock, finish what dead processes left."""
        known = replace(self._target, schema=self._context.schema, partition_by=self._context.partition_by)
        if problems := check(known):
            raise SinkFailed("; ".join(problems), where=self._publisher.where)
        with self._explained("open the target"):
            before = self._publisher.open()
            others = self._publisher.neighbours()
        if before is not None and before != fingerprint(self._context.schema):
            self._notice("warning", "files.schema_changed", "new files have other columns than the ones before")
        if others:
            self._notice("warning", "files.shared_target", f"{self._publisher.where} also has files of {', '.join(others)}: a reader of the folder sees the rows of all")

    def covered(self, partitions: Collection[Partition]) -> SpanSet | None:
        """What the publish log has; None for an object store."""
        with self._explained("read the publish log"):
            return self._publisher.covered(partitions, self._context.identity)

    def write(self, delivery: Delivery) -> None:
        """Gather the rows; a roll that is due is published first."""
        self._publish_if_due()
        if self._roll is None:
            self._roll = Roll(
                self._context.schema, self._context.partition_by, self._options, self._publisher.temp_path, self._settings, self._footer,
                self._context.clock.monotonic_ns(), self._ratio,
            )
        keys = [PartitionKey.of(s.partition, self._context.identity(s.partition)) for s in delivery.spans]
        with self._given_up("write a file"):
            self._roll.add(delivery, keys)

    def confirm(self) -> Collection[int]:
        """Publish when the roll is due by age, size or rows, and report what is visible."""
        self._publish_if_due()
        confirmed, self._confirmed = self._confirmed, []
        return confirmed

    def flush(self) -> None:
        """Publish what there is."""
        if self._roll is not None:
            self._publish(self._roll)

    def settle(self) -> None:
        """Roll other processes' entries forward."""
        with self._explained("read the publish log"):
            self._publisher.settle()

    def abandon(self) -> None:
        """Delete the temporary files of everything unpublished."""
        roll, self._roll = self._roll, None
        if roll is None:
            return
        with self._explained("delete temporary files"):
            self._publisher.forget(roll.discard())

    def close(self) -> None:
        """Give up what is unpublished and let the target go."""
        try:
            self.abandon()
        finally:
            with self._explained("close the target"):
                self._publisher.close()

    def _publish_if_due(self) -> None:
        """Age, size and rows are looked at here."""
        if self._roll is not None and self._roll.due(self._context.clock.monotonic_ns()):
            self._publish(self._roll)

    def _publish(self, roll: Roll) -> None:
        """Close the files, commit them with their spans, and note the deliveries as durable."""
        spans = roll.spans()
        with self._given_up("publish files"):
            self._publisher.publish(roll.close(), spans)
        self._roll = None
        self._ratio = roll.ratio
        self._confirmed += roll.seqs

    def _footer(self, spans: tuple[KeyedSpans, ...]) -> dict[str, str]:
        """Key-value metadata of every file."""
        c = self._context
        return {"twg.version": c.version, "twg.pipeline": c.pipeline, "twg.relation": c.relation, "twg.spans": json.dumps(spans_json(spans))}

    def _settings(self, first: pa.Table) -> Mapping[str, Any]:
        """Keyword arguments of the writer; the encodings are chosen from the first file that has enough rows."""
        o, choice = self._options, self._choice
        if choice is None:
            choice = encodings.choose(first, o.dictionary, o.encoding)
            if first.num_rows >= encodings.ENOUGH_ROWS:
                self._choice = choice
                self._notice("info", "files.encodings", f"Parquet encodings from the first {first.num_rows} rows: {choice}")
        return {
            "compression": o.compression, "compression_level": o.compression_level, "use_dictionary": list(choice.dictionary),
            "column_encoding": dict(choice.encoding) or None,
        }

    def _notice(self, level: str, code: str, message: str) -> None:
        """Tell the observer, with the relation's name."""
        self._context.observer.on(Notice(level, code, f"{self._context.relation}: {message}"))

    @contextlib.contextmanager
    def _given_up(self, what: str) -> Iterator[None]:
        """After an error that retrying does not mend nothing of the roll stays behind."""
        try:
            with self._explained(what):
                yield
        except SinkFailed:
            with contextlib.suppress(SinkFailed):  # the first error is the one to tell; a dead process's files are deleted later
                self.abandon()
            raise

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Turn the system's errors into the user's."""
        try:
            yield
        except OSError as e:
            raise disk.failed(what, self._publisher.where, e) from e
        except (pa.ArrowException, ValueError) as e:
            raise SinkFailed(f"cannot {what}: {e}", where=self._publisher.where) from e

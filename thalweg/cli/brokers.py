"""``twg check --connect``: whether the brokers answer, and where each partition would start. Nothing is committed, no group is joined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from thalweg import compose
from thalweg.errors import PipelineError
from thalweg.model.events import Fanout

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from thalweg.model.position import Partition
    from thalweg.plan.graph import Plan, SourceTable
    from thalweg.ports.source import Committed


@dataclass(frozen=True, slots=True)
class Answer:
    """What the brokers of one table said."""

    table: str
    starts: dict[str, str]
    """For each partition where it would start, targets' own records aside."""
    error: str | None = None


@dataclass(slots=True)
class _Listener:
    """Takes what it is told and decides nothing."""

    committed: dict[Partition, Committed | None] = field(default_factory=dict)
    positions: dict[Partition, int] = field(default_factory=dict)

    def assigned(self, committed: Mapping[Partition, Committed | None]) -> Mapping[Partition, int | None]:
        """Leave the start to the source."""
        self.committed.update(committed)
        return dict.fromkeys(committed)

    def started(self, positions: Mapping[Partition, int]) -> None:
        """Remember where partitions start."""
        self.positions.update(positions)

    def revoked(self, partitions: Collection[Partition]) -> None:
        """Nothing was read."""

    def lost(self, partitions: Collection[Partition]) -> None:
        """Nothing was read."""


def ask(plan: Plan) -> list[Answer]:
    """Open the source of every table outside of its group and close it again."""
    return [_ask(plan, table) for table in plan.sources]


def _ask(plan: Plan, table: SourceTable) -> Answer:
    """One table; a broker that does not answer is part of the answer."""
    listener = _Listener()
    try:
        source, decoding = compose.open_source(plan, table, Fanout())
        try:
            source.open(listener)
        finally:
            source.close()
            decoding.close()
    except PipelineError as e:
        return Answer(table.name, {}, str(e))
    return Answer(table.name, {str(p): _start(listener, p) for p in sorted(listener.committed)})


def _start(listener: _Listener, partition: Partition) -> str:
    """The group's committed offset, else where the start mode led."""
    committed = listener.committed.get(partition)
    if committed is not None:
        return f"offset {committed.offset}, committed by the group"
    return f"offset {listener.positions[partition]}, by the start mode" if partition in listener.positions else "by the start mode"

"""Replayed batches are cut at what each sink has."""

from __future__ import annotations

import pyarrow as pa

from thalweg.arrow.batch import BadRows, RawBatch
from thalweg.model.position import Partition, Span
from thalweg.model.spans import SpanSet
from thalweg.runtime.replay import cut

P = Partition("orders", "t", 0)
Q = Partition("orders", "t", 1)


def raw(rows: list[tuple[int, int]], spans: tuple[Span, ...], bad: BadRows | None = None) -> RawBatch:
    """A batch of ``(partition, offset)`` records whose payload says where they lie."""
    records = pa.record_batch({
        "payload": pa.array([f"{p}:{o}".encode() for p, o in rows], pa.binary()),
        "source_topic": pa.array(["t"] * len(rows)).dictionary_encode(),
        "source_partition": pa.array([p for p, _ in rows], pa.int32()),
        "source_offset": pa.array([o for _, o in rows], pa.int64()),
    })
    return RawBatch(records, spans, 10 * len(rows), bad or BadRows())


def test_usually_there_is_one_piece() -> None:
    """Coverage that lies elsewhere costs nothing and skips nobody."""
    batch = raw([(0, 5), (0, 6)], (Span(P, 5, 7),))

    (piece,) = cut(batch, {"a": SpanSet([Span(P, 0, 5), Span(Q, 5, 7)])})

    assert piece.raw is batch
    assert piece.skip == frozenset()


def test_each_lane_gets_what_it_has_not_got() -> None:
    """Cut at every sink's end: one piece that both have, one that only one has, one that none has."""
    batch = raw([(0, o) for o in range(10)], (Span(P, 0, 10),))
    covered = {"a": SpanSet([Span(P, 0, 3)]), "b": SpanSet([Span(P, 0, 7)])}

    pieces = {p.skip: p.raw for p in cut(batch, covered)}

    assert set(pieces) == {frozenset({"a", "b"}), frozenset({"b"}), frozenset()}
    assert pieces[frozenset({"b"})].spans == (Span(P, 3, 7),)
    assert pieces[frozenset({"b"})].payload.to_pylist() == [b"0:3", b"0:4", b"0:5", b"0:6"]
    assert pieces[frozenset()].spans == (Span(P, 7, 10),)
    assert sum(p.rows for p in pieces.values()) == 10


def test_holes_stay_covered_and_partitions_apart() -> None:
    """Spans without records are cut like the others; another partition's offsets are not touched (COV-17)."""
    batch = raw([(0, 1), (1, 1)], (Span(P, 0, 9), Span(Q, 0, 4)))

    pieces = {p.skip: p.raw for p in cut(batch, {"a": SpanSet([Span(P, 0, 5)])})}

    assert pieces[frozenset({"a"})].spans == (Span(P, 0, 5),)
    assert pieces[frozenset({"a"})].payload.to_pylist() == [b"0:1"]
    assert pieces[frozenset()].spans == (Span(P, 5, 9), Span(Q, 0, 4))
    assert pieces[frozenset()].payload.to_pylist() == [b"1:1"]


def test_a_bad_record_keeps_its_record() -> None:
    """Records that the transport called bad are renumbered with their piece."""
    bad = BadRows()
    bad.add(3, "source.header", "not UTF-8")
    batch = raw([(0, o) for o in range(5)], (Span(P, 0, 5),), bad)

    pieces = {p.skip: p.raw for p in cut(batch, {"a": SpanSet([Span(P, 0, 2)])})}

    assert pieces[frozenset()].bad.rows == [1]
    assert pieces[frozenset()].payload.to_pylist()[1] == b"0:3"
    assert len(pieces[frozenset({"a"})].bad) == 0

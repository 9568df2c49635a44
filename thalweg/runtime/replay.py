"""Replayed records: an epoch is cut at every sink's covered ends, and no sink is sent what it has."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from thalweg.arrow.batch import BadRows, RawBatch
from thalweg.model.position import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from thalweg.model.spans import SpanSet


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a raw batch, and the lanes that have it already."""

    raw: RawBatch
    skip: frozenset[str]


def cut(raw: RawBatch, covered: Mapping[str, SpanSet]) -> list[Piece]:
    """Split ``raw`` so that each lane of ``covered`` has all or nothing of every piece; usually there is one piece and nothing to skip."""
    touching = {name: spans for name, spans in covered.items() if any(spans.overlaps(s) for s in raw.spans)}
    if not touching:
        return [Piece(raw, frozenset())]
    groups: dict[frozenset[str], list[Span]] = {}
    for span in raw.spans:
        for part in _parts(span, touching):
            skip = frozenset(name for name, spans in touching.items() if spans.covers(part))
            groups.setdefault(skip, []).append(part)
    return [Piece(_select(raw, spans), skip) for skip, spans in groups.items()]


def _parts(span: Span, covered: Mapping[str, SpanSet]) -> Iterator[Span]:
    """``span`` cut at every end of every lane's ranges."""
    ends = {span.start, span.end}
    for spans in covered.values():
        for lo, hi in spans.ranges(span.partition):
            ends.update(at for at in (lo, hi) if span.start < at < span.end)
    places = sorted(ends)
    for start, end in pairwise(places):
        yield Span(span.partition, start, end)


def _select(raw: RawBatch, spans: list[Span]) -> RawBatch:
    """The records of ``raw`` that lie in ``spans``."""
    names = raw.records.schema.names
    topics = raw.records.column(names.index("source_topic"))
    topics = topics.cast(pa.string()) if pa.types.is_dictionary(topics.type) else topics
    topic = np.asarray(topics.to_pylist(), dtype=object)
    partition = raw.records.column(names.index("source_partition")).to_numpy(zero_copy_only=False)
    offset = raw.records.column(names.index("source_offset")).to_numpy(zero_copy_only=False)
    keep = np.zeros(raw.rows, dtype=bool)
    for span in spans:
        keep |= (topic == span.partition.topic) & (partition == span.partition.index) & (offset >= span.start) & (offset < span.end)
    records = raw.records.filter(pa.array(keep))
    nbytes = round(raw.nbytes * records.num_rows / raw.rows) if raw.rows else 0
    moved = np.cumsum(keep) - 1
    bad = BadRows()
    for i, row in enumerate(raw.bad.rows):
        if keep[row]:
            bad.add(int(moved[row]), raw.bad.codes[i], raw.bad.messages[i], raw.bad.paths[i])
    return RawBatch(records, tuple(spans), nbytes, bad)

"""The source over whole locations: order, budgets, positions, identities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle.containers import ORDER, block, header, order, orders, write
from thalweg import registry
from thalweg.arrow.metadata import PAYLOAD
from thalweg.codecs.avro.split import Blocks
from thalweg.errors import SourceFailed, UserError
from thalweg.model.clock import SystemClock
from thalweg.model.position import Partition, Span
from thalweg.model.spans import SpanSet
from thalweg.ports.source import Budget, SourceContext
from thalweg.testing.fakes import RecordingObserver
from thalweg.testing.reading import Listening, Reading, check_spans

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.ports.source import Source

PLUGIN = registry.load("sources", "avro")


def source(folder: Path, location: str = ".", *, blocks: Blocks | None = None, group: bool = True, **options: int) -> Source:
    """A source that is not open."""
    context = SourceContext("p", "t", SystemClock(), RecordingObserver(), group, str(folder), blocks or Blocks())
    made: Source = PLUGIN.make(location, PLUGIN.options(**options), context)
    return made


def reading(folder: Path, location: str = ".", resume: dict[Partition, int] | None = None) -> Reading:
    """An open source."""
    made = Reading(source(folder, location), Listening(resume=resume or {}))
    made.source.open(made.listener)
    return made


def place(path: Path) -> Partition:
    """The partition that a file is."""
    return Partition("t", path.as_uri(), 0)


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Three files, the middle one without a record."""
    names = {"a.avro": [orders(0, 1, 2), orders(3)], "b.avro": [], "c.avro": [orders(*range(4, 50))]}
    return [write(tmp_path / name, header(ORDER), *blocks) for name, blocks in names.items()]


@pytest.mark.parametrize("rows", [1, 3, 1_000])
def test_everything_comes_once_and_ends(tmp_path: Path, three: list[Path], rows: int) -> None:
    """Files in the order of their names, each record at its number; then the source is finished (BAT-01, BAT-14, CNX-04, CNX-28)."""
    found = reading(tmp_path)
    found.until_finished(Budget(rows=rows))

    assert found.values() == [order(n) for n in range(50)]
    assert max(b.rows for b in found.batches) <= rows
    covered = check_spans(found.spans(), {place(p): 0 for p in three})
    assert covered == SpanSet([Span(place(three[0]), 0, 4), Span(place(three[2]), 0, 46)])
    assert found.poll() is None
    assert found.source.lag() == 0
    first = found.records()[5]
    assert (first["source_topic"], first["source_partition"], first["source_offset"]) == (three[2].as_uri(), 0, 1)
    assert [h["key"] for h in first["source_headers"]] == ["__value_schema_id"]


def test_bytes_of_a_batch_are_bounded(tmp_path: Path) -> None:
    """A batch stays within the budget's bytes, and a larger record comes alone (CNX-12)."""
    big, small = b"\xa0\x1f" + b"x" * 2_000, b"\x14" + b"y" * 10
    write(tmp_path / "a.avro", header(b'"string"'), block([small] * 30 + [big] + [small] * 30), block([big]))
    found = reading(tmp_path)
    found.until_finished(Budget(nbytes=100))

    assert found.values() == [small] * 30 + [big] + [small] * 30 + [big]
    assert all(b.rows == 1 or b.nbytes <= 100 for b in found.batches)


def test_reading_goes_on_where_it_should(tmp_path: Path, three: list[Path]) -> None:
    """Each file from its own position; a seek goes anywhere, also back into a file that was read (BAT-14, KSR-20)."""
    found = reading(tmp_path, resume={place(three[0]): 2, place(three[2]): 40})
    found.until_finished()
    assert found.values() == [order(n) for n in (2, 3, *range(44, 50))]

    for target in (0, 45, 7):
        found.source.seek({place(three[2]): target, place(tmp_path / "other"): 3})
        found.batches.clear()
        found.until_finished(Budget(rows=5))
        assert found.values() == [order(4 + n) for n in range(target, 46)]


def test_a_position_behind_the_end_is_refused(tmp_path: Path, three: list[Path]) -> None:
    """A file that lost records since is told, not taken for read."""
    found = reading(tmp_path, resume={place(three[0]): 9})
    with pytest.raises(SourceFailed, match="goes on at record 9, but the file has 4 only"):
        found.until_finished()
    found.source.close()


def test_a_file_that_was_written_anew_is_another_topic(tmp_path: Path) -> None:
    """The sync marker is a part of the identity; more blocks at the end are not another file (MET-21)."""
    path = write(tmp_path / "a.avro", header(ORDER), orders(0))
    ids = []
    for content in ([header(ORDER), orders(0)], [header(ORDER), orders(0), orders(1)], [header(ORDER, sync=b"0" * 16)], [b"nothing"]):
        write(path, *content)
        found = reading(tmp_path)
        ids.append(found.source.identity(place(path)))

    assert ids[0] == ids[1]
    assert len({i.topic_id for i in ids}) == 3
    assert {i.cluster_id for i in ids} == {"file"}


def test_damage_is_a_bad_record(tmp_path: Path) -> None:
    """What cannot be read has a row of its own, with a code; nothing is left out in silence (AV-26)."""
    write(tmp_path / "a.avro", header(ORDER), orders(0), b"\x7f" * 30)
    write(tmp_path / "b.avro", b"no container")
    found = reading(tmp_path)
    found.until_finished()
    (batch,) = found.batches

    assert (batch.bad.rows, batch.bad.codes) == ([1, 2], ["source.block"] * 2)
    assert [r[PAYLOAD] for r in found.records()][1:] == [b"\x7f" * 30, b"no container"]
    assert f"{tmp_path / 'b.avro'} at byte 0" in batch.bad.messages[1]
    assert found.records()[2]["source_headers"] == []


def test_locations_are_checked(tmp_path: Path) -> None:
    """A remote place, a place that is not there, a format without blocks, a file that goes away."""
    assert "local folders, found s3://" in PLUGIN.check("s3://b/x", PLUGIN.options())[0]
    assert PLUGIN.check("file:///x", PLUGIN.options()) == PLUGIN.check("x/*.avro", PLUGIN.options()) == []
    with pytest.raises(UserError, match="no such file or folder"):
        source(tmp_path, "nowhere").open(Listening())
    path = write(tmp_path / "a.avro", header(ORDER), orders(0))
    made = reading(tmp_path)
    path.unlink()
    with pytest.raises(SourceFailed, match="cannot be read: No such file"):
        made.poll()
    assert made.source.lag() is None


def test_an_empty_folder_is_finished_at_once(tmp_path: Path) -> None:
    """Nothing to read is read at once, and closing may come at any time."""
    found = reading(tmp_path)

    assert found.source.finished()
    assert found.poll() is None
    found.source.idle()
    found.source.close()
    source(tmp_path).close()


def test_positions_are_the_pipelines(tmp_path: Path, three: list[Path]) -> None:
    """A commit goes through for what is held; a reader without a group commits nothing (KSR-12)."""
    assert reading(tmp_path).source.commit({place(three[0]): 1, place(tmp_path / "x"): 2}, "") == {place(three[0]): 1}
    looker = source(tmp_path, group=False)
    looker.open(Listening())
    assert looker.commit({place(three[0]): 1}, "") == {}

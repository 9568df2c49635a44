"""The publish log: creating, reading, fencing, folding."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from thalweg.errors import SinkFailed, SpanTaken
from thalweg.model.position import Partition, Span, TopicIdentity
from thalweg.sinks.files.checkpoints import KEEP_NS
from thalweg.sinks.files.entries import FileEntry, PartitionKey, keyed
from thalweg.sinks.files.publish_log import Owner, PublishLog
from thalweg.testing.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PARTITION = Partition("orders", "t", 0)
KEY = PartitionKey.of(PARTITION, TopicIdentity("c", "id"))
OWNER = Owner("p", "orders", "_twg_", "abc", "0.1")


def opened(target: Path, clock: FakeClock | None = None, owner: Owner = OWNER, fold_every: int = 1000) -> PublishLog:
    """A log as a new process opens it."""
    log = PublishLog(target, owner, clock or FakeClock(), fold_every=fold_every)
    log.open()
    return log


def publish(log: PublishLog, start: int, end: int, *temps: str) -> int:
    """Publish a span with small files."""
    for temp in temps:
        (log.temp_folder / temp).write_text(temp)
    names: Callable[[int], tuple[FileEntry, ...]] = lambda seq: tuple(FileEntry(t, f"k=1/{t}-{seq}.parquet", 1, 1) for t in temps)  # noqa: E731
    return log.publish(keyed([(KEY, Span(PARTITION, start, end))]), names)


def test_numbers_follow_each_other(tmp_path: Path) -> None:
    """Two processes share one sequence; each reads what the other wrote before it creates."""
    one, two = opened(tmp_path), opened(tmp_path)

    assert [publish(one, 0, 5), publish(two, 5, 9), publish(one, 9, 12)] == [1, 2, 3]
    two.refresh()
    assert two.covered(KEY) == [(0, 12)]


def test_taken_span_is_refused(tmp_path: Path) -> None:
    """Any overlap with any entry before gives the writer up, and nothing is created."""
    one, two = opened(tmp_path), opened(tmp_path)
    publish(one, 10, 20)
    for start, end in ((0, 11), (19, 30), (12, 13), (0, 50)):
        with pytest.raises(SpanTaken, match=r"offsets .* of t\[0\] were published by another process"):
            publish(two, start, end)

    assert publish(two, 20, 30) == 2


def test_lost_race_takes_the_next_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that appears between the last look and the create is read, and the next number is tried."""
    one, two = opened(tmp_path), opened(tmp_path)
    real, calls = os.link, []

    def slow(src: str, dst: str) -> None:
        if not calls:
            calls.append(dst)
            publish(two, 100, 110)
        real(src, dst)

    monkeypatch.setattr(os, "link", slow)

    assert publish(one, 0, 5, "a") == 2
    assert (tmp_path / "k=1/a-2.parquet").read_text() == "a"


def test_repeated_create_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network file system that did the work and says 'exists' does not make the entry twice."""
    log = opened(tmp_path)
    real = os.link

    def twice(src: str, dst: str) -> None:
        real(src, dst)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "link", twice)

    assert publish(log, 0, 5) == 1
    assert len(list(log.folder.glob("*.json"))) == 1


def test_anybody_rolls_forward(tmp_path: Path) -> None:
    """Renames that a dead process owed are done by the next one that looks, once."""
    dead = opened(tmp_path)
    dead._finish = dead._unfinished.clear  # type: ignore[method-assign]  # it dies after the create
    publish(dead, 0, 5, "a", "b")
    assert not list(tmp_path.rglob("*.parquet"))
    opened(tmp_path)

    assert sorted(p.name for p in tmp_path.rglob("*.parquet")) == ["a-1.parquet", "b-1.parquet"]


def test_failed_rename_is_tried_again(tmp_path: Path) -> None:
    """An entry whose rename failed stays owed: cleaning up after the dead does not touch its file."""
    dead = opened(tmp_path)
    dead._finish = dead._unfinished.clear  # type: ignore[method-assign]
    name = dead.temp_name()
    publish(dead, 0, 5, name)
    (tmp_path / "k=1").write_text("in the way")
    log = PublishLog(tmp_path, OWNER, FakeClock())
    with pytest.raises(FileExistsError):
        log.open()
    dead._lock._close()  # type: ignore[misc]
    with pytest.raises(FileExistsError):
        log.clean()
    (tmp_path / "k=1").unlink()
    log.refresh()

    assert (tmp_path / f"k=1/{name}-1.parquet").exists()


def test_only_the_deads_files_are_deleted(tmp_path: Path) -> None:
    """Temporary files of a living process stay, those of a dead one go with its lock."""
    living, dead = opened(tmp_path), opened(tmp_path)
    for log in (living, dead):
        (log.temp_folder / log.temp_name()).write_text("x")
    dead._lock._close()  # type: ignore[misc]
    opened(tmp_path).close()

    assert [p.name.split(".")[0] for p in living.temp_folder.iterdir()] == [living._lock.token]
    assert [p.name for p in (living.folder / "locks").iterdir()] == [f"{living._lock.token}.lock"]


def test_checkpoint_stands_for_all_before(tmp_path: Path) -> None:
    """A process that opens a folded log knows everything, with or without the entries."""
    clock = FakeClock()
    log = opened(tmp_path, clock, fold_every=4)
    for n in range(10):
        publish(log, n * 5, n * 5 + (5 if n != 3 else 4), f"f{n}")
        log.fold()
    after = opened(tmp_path, clock)

    assert sorted(p.name for p in (log.folder / "checkpoints").iterdir()) == ["000000000004.json", "000000000008.json"]
    assert after.covered(KEY) == log.covered(KEY) == [(0, 19), (20, 50)]
    assert after._folded == 8


def test_entries_outlive_their_checkpoint_by_a_week(tmp_path: Path) -> None:
    """A number is not freed while a sleeping process might create it again; then entries and older checkpoints go."""
    clock = FakeClock()
    log = opened(tmp_path, clock, fold_every=2)
    for n in range(4):
        publish(log, n, n + 1)
        log.fold()
    kept = len(list(log.folder.glob("*.json")))
    clock.advance(KEEP_NS)
    sleeper = opened(tmp_path, clock, fold_every=2)
    for n in range(4, 6):
        publish(log, n, n + 1)
        log.fold()

    assert kept == 4
    assert [int(p.stem) for p in sorted(log.folder.glob("*.json"))] == [5, 6]
    assert [int(p.stem) for p in sorted((log.folder / "checkpoints").glob("*.json"))] == [4, 6]
    assert publish(sleeper, 6, 7) == 7
    assert opened(tmp_path, clock).covered(KEY) == [(0, 7)]


def test_sleeper_reads_the_checkpoint_first(tmp_path: Path) -> None:
    """A process that slept past deleted entries learns of them before it creates anything."""
    clock = FakeClock()
    log, sleeper = opened(tmp_path, clock, fold_every=2), opened(tmp_path, clock)
    for n in range(2):
        publish(log, n, n + 1)
    log.fold()
    clock.advance(KEEP_NS)
    for n in range(2, 4):
        publish(log, n, n + 1)
    log.fold()

    assert not (log.folder / "000000000001.json").exists()
    with pytest.raises(SpanTaken):
        publish(sleeper, 0, 2)
    assert publish(sleeper, 4, 5) == 5


def test_damaged_entry_stops_everything(tmp_path: Path) -> None:
    """Nobody knows what it published, so nothing goes on; the message names the file and the ways out."""
    log = opened(tmp_path)
    publish(log, 0, 5)
    (log.folder / "000000000001.json").write_text('{"format": 1, "pipe')

    with pytest.raises(SinkFailed, match=r"000000000001.json: the entry cannot be read.*--rewrite"):
        opened(tmp_path)


def test_foreign_log_is_refused(tmp_path: Path) -> None:
    """An entry of another relation in this log's folder means that folders were mixed up."""
    log = opened(tmp_path)
    publish(log, 0, 5)
    other = PublishLog(tmp_path, Owner("p", "returns", "_twg_", "abc", "0.1"), FakeClock())
    other.folder.parent.mkdir(parents=True, exist_ok=True)
    log.folder.rename(other.folder)

    with pytest.raises(SinkFailed, match="belongs to relation 'orders' of pipeline 'p'"):
        other.open()


def test_file_system_without_hard_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an atomic create there is no log; said when the target is opened."""

    def refuse(_src: str, _dst: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)

    with pytest.raises(SinkFailed, match="cannot make a hard link, which the publish log needs: Operation not permitted"):
        opened(tmp_path)


def test_every_entry_is_whole_and_forced_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content is synced before the name exists, the name before anything is shown."""
    log = opened(tmp_path)
    calls: list[str] = []
    for name in ("fsync", "link", "rename"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, _name=name, _real=real: (calls.append(_name), _real(*a))[1])
    publish(log, 0, 5, "a")

    assert calls[:3] == ["fsync", "link", "fsync"]
    assert "fsync" in calls[calls.index("rename"):]

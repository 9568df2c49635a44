"""Compiled decoders that take over while records flow."""

from __future__ import annotations

import dataclasses
import errno
import os
import signal
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from thalweg import registry
from thalweg.arrow.batch import RawBatch
from thalweg.arrow.record_id import record_ids
from thalweg.errors import UserError
from thalweg.model import options
from thalweg.model.events import Notice
from thalweg.ports.codec import DecodeRequest
from thalweg.runtime import upgrade
from thalweg.runtime.decode import Side
from thalweg.runtime.lineage import RecordIds
from thalweg.runtime.upgrade import Upgrade, marker, warm, warm_up
from thalweg.testing.fakes import RecordingObserver

if TYPE_CHECKING:

    from collections.abc import Callable

    from thalweg.native.compiling import Compiling

SCHEMA = pa.schema([("a", pa.int64())])


class Table:
    """The part of a decoding that is changed."""

    name = "orders"

    def __init__(self, side: Side) -> None:
        """One side."""
        self.sides = (side,)
        self.used: list[Any] = []
        self.soon: Callable[[], None] | None = None

    def use(self, _side: Side, decoder: Any) -> None:  # noqa: ANN401 - a Decoder
        """Noted."""
        self.used.append(decoder)


def json_side(**changes: object) -> Side:
    """A side in format json."""
    plugin = registry.load("codecs", "json")
    found, _ = options.read(plugin.options, {})
    request = DecodeRequest("json", SCHEMA, found, "t", "_twg_")
    return Side(dataclasses.replace(plugin, **changes), request, None, plugin.decoder(request, None))


def run(side: Side, monkeypatch: pytest.MonkeyPatch, *, is_warm: bool = True) -> tuple[Table, list[Notice]]:
    """One upgrade to its end."""
    monkeypatch.setattr(upgrade, "warm", lambda _path: is_warm)
    monkeypatch.setattr(upgrade, "_BEGIN_SECONDS", 0.0)
    monkeypatch.setattr(upgrade, "_QUIET_SECONDS", 0.0)
    table, seen = Table(side), RecordingObserver()
    made = Upgrade([table], seen)  # type: ignore[list-item]
    made.start()
    made._thread.join(110)
    made.stop(go_on=False)
    return table, seen.of(Notice)


def test_the_kernel_takes_over_with_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Good rows, bad rows and messages are what the reference gives."""
    side = json_side()
    table, notices = run(side, monkeypatch)
    payloads = pa.array([b'{"a":1}', b'{"a":"x"}', b"{", b'{"a":null}', b'{"a":1e3}'], pa.binary())
    (fast,) = table.used
    found, wanted = fast.decode(payloads, None), side.reference.decode(payloads, None)

    assert found.batch.equals(wanted.batch)
    assert found.rows.equals(wanted.rows)
    assert found.bad == wanted.bad
    assert [n.code for n in notices] == ["decode.kernel"]


def test_protobuf_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same for a message from a ``.proto`` file; the kernel's compiler is asked for no more than ``twg warmup`` makes."""
    (tmp_path / "a.proto").write_text('syntax = "proto3"; message A { int64 a = 1; string s = 2; repeated A in = 3; }')
    plugin, known = registry.load("codecs", "protobuf"), registry.load("registries", "descriptors").make(str(tmp_path / "a.proto"), {})
    found, _ = options.read(plugin.options, {"protobuf.descriptor": "a.proto", "decode.max_depth": "2"})
    request = DecodeRequest("protobuf", None, found, "t", "_twg_")
    made = Side(plugin, request, known, plugin.decoder(request, known))
    table, notices = run(made, monkeypatch)
    payloads = pa.array([b"\x08\x01", b"\x08", b"\x12\x01\xff", b"\x1a\x02\x08\x07", b""], pa.binary())
    (fast,) = table.used
    decoded, wanted = fast.decode(payloads, None), made.reference.decode(payloads, None)

    assert decoded.batch.equals(wanted.batch)
    assert decoded.rows.equals(wanted.rows)
    assert decoded.bad == wanted.bad
    assert [n.code for n in notices] == ["decode.kernel"]


def test_whatever_goes_wrong_the_reference_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder that cannot be made costs a line in the log."""
    table, notices = run(json_side(fast="thalweg.codecs.json.fast:nothing"), monkeypatch)

    assert table.used == []
    assert [(n.level, n.code) for n in notices] == [("warning", "decode.reference")]


def test_a_format_without_kernel_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread, no child."""
    seen = RecordingObserver()
    made = Upgrade([Table(json_side(fast=None))], seen)  # type: ignore[list-item]
    made.start()

    assert not made._thread.is_alive()
    assert seen.of(Notice) == []


class Fake:
    """An upgrade of one side with an empty cache in ``tmp_path`` and a compiler of the test's own."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
        """``script`` runs in the child, with the marks to leave as its arguments."""
        command = tmp_path / "python"
        command.write_text(f"#!/bin/sh\n{script}\n")
        command.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(command))
        monkeypatch.setattr(upgrade, "_BEGIN_SECONDS", 0.0)
        monkeypatch.setattr(upgrade, "_QUIET_SECONDS", 0.0)
        monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "cache"))
        self.seen, self.table = RecordingObserver(), Table(json_side())
        self.made = Upgrade([self.table], self.seen, RecordIds())  # type: ignore[list-item]

    def begun(self) -> Compiling:
        """Start, and wait for the child."""
        self.made.start()
        while self.made._compiling is None:
            time.sleep(0.01)
        return self.made._compiling

    def codes(self) -> list[str]:
        """Of all notices."""
        return [n.code for n in self.seen.of(Notice)]


def alive(pid: int) -> bool:
    """Whether there is such a process; a zombie is none."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_the_compiler_of_a_run_that_succeeds_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It compiles all that is missing in one go, holds no pipe, and nobody waits for it; a second run beside it starts none of its own."""
    fake = Fake(tmp_path, monkeypatch, f'echo "$@" > {tmp_path}/asked; exec sleep 60')
    child = fake.begun()
    try:
        fake.made.stop(go_on=True)
        other = Upgrade([Table(json_side())], fake.seen)  # type: ignore[list-item]
        other.start()
        while len(fake.codes()) < 3:
            time.sleep(0.01)
        other.stop(go_on=True)

        assert alive(child.pid)
        assert os.getsid(child.pid) == child.pid
        assert os.getpriority(os.PRIO_PROCESS, child.pid) >= 10
        assert not [fd for fd in Path(f"/proc/{child.pid}/fd").iterdir() if "pipe:" in str(fd.readlink())]
        assert [n.message.split(" (")[0] for n in fake.seen.of(Notice)] == [
            "the kernels of json, record-ids are compiled once for this machine", "the compiler goes on by itself at low priority",
            "another process compiles kernels for this machine; they are taken up when it is done",
        ]
        assert str(child.pid) in fake.seen.of(Notice)[1].message
        assert (tmp_path / "asked").read_text() == "-m thalweg warmup json record-ids\n"
    finally:
        os.kill(child.pid, signal.SIGKILL)
    fake.made._thread.join(10)
    assert not alive(child.pid)
    assert not fake.made._thread.is_alive()


def test_the_compiler_of_a_run_that_fails_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a signal."""
    fake = Fake(tmp_path, monkeypatch, "exec sleep 60")
    child = fake.begun()
    fake.made.stop(go_on=False)

    assert not alive(child.pid)
    assert fake.codes() == ["decode.compiling"]


def test_a_compiler_that_leaves_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for each that has none now; it is not tried again and again."""
    fake = Fake(tmp_path, monkeypatch, "exit 0")
    fake.begun()
    fake.made._thread.join(10)
    fake.made.stop(go_on=True)

    assert fake.codes() == ["decode.compiling", "decode.reference", "decode.reference"]
    assert "has left nothing in the cache" in fake.seen.of(Notice)[1].message


def test_a_cache_that_cannot_be_written_costs_the_kernels_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact path stays, and the folder is named."""
    fake = Fake(tmp_path, monkeypatch, "exit 0")
    monkeypatch.setenv("THALWEG_CACHE", "/proc/nope")
    fake.made.start()
    fake.made._thread.join(10)

    assert fake.codes() == ["decode.reference", "decode.reference"]
    assert "/proc/nope" in fake.seen.of(Notice)[0].message


def test_a_compiler_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child's last line is the reason."""
    fake = Fake(tmp_path, monkeypatch, "echo first >&2; echo no LLVM >&2; exit 3")
    fake.begun()
    fake.made._thread.join(10)

    assert fake.codes() == ["decode.compiling", "decode.reference", "decode.reference"]
    assert fake.seen.of(Notice)[1].message.endswith("RuntimeError: no LLVM")


def test_a_compiler_that_cannot_be_started_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact path stays."""
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    table, notices = run(json_side(), monkeypatch, is_warm=False)

    assert table.used == []
    assert [n.code for n in notices] == ["decode.reference"]


def test_a_cache_that_cannot_be_asked_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a home folder, or with one that must not be read, the run starts, and says where kernels can be kept instead."""

    def homeless(_path: str) -> bool:
        raise OSError("name a folder in THALWEG_CACHE")

    monkeypatch.setattr(upgrade, "warm", homeless)
    monkeypatch.setattr(upgrade, "_BEGIN_SECONDS", 0.0)
    monkeypatch.setattr(upgrade, "_QUIET_SECONDS", 0.0)
    table, seen = Table(json_side()), RecordingObserver()
    made = Upgrade([table], seen)  # type: ignore[list-item]
    made.start()
    made._thread.join(30)

    assert table.used == []
    assert [n.code for n in seen.of(Notice)] == ["decode.reference"]
    assert "THALWEG_CACHE" in seen.of(Notice)[0].message


def test_the_compiler_hears_no_signals_of_the_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ctrl-C reaches a whole process group, and a stop must not look like a compiler that failed: the child has a group of its own."""
    child = tmp_path / "python"
    child.write_text(f"#!{sys.executable}\nimport os, sys\nsys.exit(str(os.getpgid(0)))\n")
    child.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(child))
    _, notices = run(json_side(), monkeypatch, is_warm=False)

    assert int(notices[-1].message.rpartition(":")[2]) not in {0, os.getpgid(0)}


def test_stopping_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is over at once never starts a compiler."""
    monkeypatch.setattr(upgrade, "warm", lambda _path: False)
    monkeypatch.setattr(upgrade, "_BEGIN_SECONDS", 60.0)
    seen = RecordingObserver()
    made = Upgrade([Table(json_side())], seen)  # type: ignore[list-item]
    made.start()
    time.sleep(0.05)
    made.stop(go_on=False)
    made._thread.join(30)

    assert not made._thread.is_alive()
    assert seen.of(Notice) == []
    assert threading.active_count() < 50


def test_record_ids_change_over_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a lane shows ids their kernel takes over after the decoders, with the same ids; a kernel that cannot be had costs a line."""
    raw = RawBatch(pa.record_batch({"payload": pa.array([b"a", None], pa.binary())}), (), 1)
    monkeypatch.setattr(upgrade, "warm", lambda _path: True)
    ids, seen = RecordIds(), RecordingObserver()
    before = ids(raw, "c")
    for path, codes in (
        (upgrade.RECORD_IDS[1], ["decode.kernel"]), ("thalweg.arrow.record_id_kernel:nothing", ["decode.kernel", "decode.reference"]),
    ):  # fmt: skip
        monkeypatch.setattr(upgrade, "RECORD_IDS", ("record-ids", path))
        made = Upgrade([Table(json_side(fast=None))], seen, ids)  # type: ignore[list-item]
        made.start()
        made._thread.join(110)
        made.stop(go_on=False)
        assert [n.code for n in seen.of(Notice)] == codes
        assert ids._make is not record_ids
        assert ids(raw, "c").equals(before)


def test_warming_leaves_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark lies in the folder of the cache, which changes with every kernel, version and processor."""
    known = {"cache_folder": lambda: tmp_path / "k", "compiling": nullcontext, "warm_up": lambda: None}
    monkeypatch.setattr(registry, "attribute", lambda path: known[path.rpartition(":")[2]])

    assert not warm("some.module:make")
    warm_up("some.module:make")
    assert warm("some.module:make")
    assert marker("some.module:make").parent == tmp_path / "k"


@pytest.mark.parametrize("is_full", [True, False])
def test_kernels_that_cannot_be_kept_leave_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_full: bool) -> None:
    """On a full disk, or where nothing may be written, the next run must not take kernels for compiled; the user is told where they can go."""

    def fail() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = tmp_path / "k" if is_full else tmp_path / "file" / "k"
    (tmp_path / "file").write_text("")
    known = {"cache_folder": lambda: folder, "compiling": nullcontext, "warm_up": fail}
    monkeypatch.setattr(registry, "attribute", lambda path: known[path.rpartition(":")[2]])

    with pytest.raises(UserError, match="THALWEG_CACHE names the folder"):
        warm_up("some.module:make")
    assert not warm("some.module:make")


def test_a_large_batch_waits_for_decoders_that_only_have_to_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With everything in the cache the first large batch begins the loading and waits for its end; where a compiler is needed, it waits for nothing."""
    monkeypatch.setattr(upgrade, "_QUIET_SECONDS", 60.0)
    monkeypatch.setattr(upgrade, "_LOAD_SECONDS", 110.0)  # where the cache is empty this compiles
    monkeypatch.setattr(Upgrade, "_warmed", lambda *_: True)
    for is_warm, used in ((True, 1), (False, 0)):
        monkeypatch.setattr(upgrade, "warm", lambda _path, known=is_warm: known)
        table = Table(json_side())
        made = Upgrade([table], RecordingObserver())  # type: ignore[list-item]
        made.start()
        assert made._thread.is_alive()
        assert table.soon is not None
        table.soon()
        assert len(table.used) == used
        made.stop(go_on=False)


def test_a_short_run_of_few_rows_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question over a handful of rows ends without having looked for kernels, since that alone imports the compiler."""
    looked: list[str] = []
    monkeypatch.setattr(upgrade, "warm", lambda path: bool(looked.append(path)))
    made = Upgrade([Table(json_side())], RecordingObserver())  # type: ignore[list-item]
    made.start()
    made.stop(go_on=True)
    made._thread.join(30)

    assert looked == []


def test_a_run_that_is_over_first_does_not_wait_for_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends at once; the thread, when it knows, begins nothing any more."""
    known, seen = threading.Event(), RecordingObserver()
    monkeypatch.setattr(upgrade, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(upgrade, "warm", lambda _path: known.wait(30))
    made = Upgrade([Table(json_side())], seen)  # type: ignore[list-item]
    made.start()
    began = time.perf_counter()
    made.stop(go_on=False)
    took = time.perf_counter() - began
    known.set()
    made._thread.join(30)

    assert took < 1
    assert not made._thread.is_alive()
    assert seen.of(Notice) == []

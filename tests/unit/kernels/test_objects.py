"""Files of machine code: whole or not there, whoever writes them."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from thalweg.kernels import objects
from thalweg.kernels.objects import MachineCode

if TYPE_CHECKING:
    from pathlib import Path

CODE = MachineCode("entry", b"\x7fELF\nand more")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Byte for byte, in a folder that is made for it."""
    objects.write(tmp_path / "new" / "a.o", CODE)

    assert objects.read(tmp_path / "new" / "a.o") == CODE
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is logged, whatever another test has done to loggers."""
    found: list[str] = []
    monkeypatch.setattr(objects._LOG, "warning", lambda text, *values: found.append(text % values))
    return found


def test_nothing_there_is_nothing_to_say(tmp_path: Path, said: list[str]) -> None:
    """Neither a folder nor a file."""
    assert objects.read(tmp_path / "none" / "a.o") is None
    assert objects.read(tmp_path / "a.o") is None
    assert said == []


def test_every_damaged_byte_is_seen() -> None:
    """Also in the digest and in the first line."""
    data = CODE.to_bytes()

    for i in range(len(data)):
        with pytest.raises(ValueError, match="damaged"):
            MachineCode.from_bytes(data[:i])
        with pytest.raises(ValueError, match="damaged"):
            MachineCode.from_bytes(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])


def test_writers_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    """Each replaces the file in one step, so that a reader finds one or the other."""
    codes = [MachineCode(f"entry{i}", bytes([i]) * 100_000) for i in range(4)]
    path, read = tmp_path / "a.o", list[MachineCode | None]()
    objects.write(path, codes[0])
    threads = [threading.Thread(target=lambda code=code: [objects.write(path, code) for _ in range(20)]) for code in codes]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        read.append(objects.read(path))
    for thread in threads:
        thread.join()

    assert [code for code in [*read, objects.read(path)] if code not in codes] == []
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """The name is a folder's already."""
    (tmp_path / "a.o" / "full").mkdir(parents=True)

    with pytest.raises(OSError, match=r"a\.o"):
        objects.write(tmp_path / "a.o", CODE)
    assert [path.name for path in tmp_path.iterdir()] == ["a.o"]
    assert objects.read(tmp_path / "a.o") is None


@pytest.mark.parametrize(("mode", "owner", "fault"), [(0o770, 0, "others may write"), (0o702, 0, "others may write"), (0o700, 1, "somebody else's")])
def test_folders_of_others_are_left_alone(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch, mode: int, owner: int, fault: str
) -> None:
    """Code from there is not run, and none is put there."""
    objects.write(tmp_path / "a.o", CODE)
    tmp_path.chmod(mode)
    found = list(tmp_path.stat())
    found[4] = os.geteuid() + owner
    monkeypatch.setattr(type(tmp_path), "stat", lambda _self, **_: os.stat_result(found))

    assert objects.read(tmp_path / "a.o") is None
    assert fault in said[0]
    with pytest.raises(PermissionError, match=fault):
        objects.write(tmp_path / "b.o", CODE)

"""Small durable steps."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from thalweg.sinks.files import disk


def test_folders_are_made_with_their_parents(tmp_path: Path) -> None:
    """Making one that exists does nothing."""
    disk.make_folder(tmp_path / "a/b/c")
    disk.make_folder(tmp_path / "a/b/c")

    assert (tmp_path / "a/b/c").is_dir()


def test_file_in_the_way(tmp_path: Path) -> None:
    """A file where a folder should be is an error, not a silent success."""
    (tmp_path / "a").touch()

    with pytest.raises(FileExistsError):
        disk.make_folder(tmp_path / "a")


def test_create_once(tmp_path: Path) -> None:
    """The first creates, the second is told, and no scratch file stays."""
    disk.create_once(tmp_path / "e", b"one", tmp_path / "scratch")
    with pytest.raises(FileExistsError):
        disk.create_once(tmp_path / "e", b"two", tmp_path / "scratch")

    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("e", b"one")]


def test_remove_says_whether_there_was_one(tmp_path: Path) -> None:
    """Removing twice is no error."""
    (tmp_path / "a").touch()

    assert [disk.remove(tmp_path / "a"), disk.remove(tmp_path / "a")] == [True, False]


@pytest.mark.parametrize(
    ("code", "hint"), [(errno.ENOSPC, "free some space"), (errno.EACCES, "the right to write"), (errno.EROFS, "read-only"), (errno.EMFILE, "ulimit")]
)
def test_errors_say_what_to_do(code: int, hint: str) -> None:
    """What, where, the system's words, and the way out."""
    text = str(disk.failed("write a file", Path("/x/y"), OSError(code, "something")))

    assert text.startswith("/x/y: cannot write a file: ")
    assert hint in text


def test_error_without_number_keeps_its_words() -> None:
    """An error of a library is shown as it is."""
    assert str(disk.failed("write", "/x", OSError("went wrong"))) == "/x: cannot write: went wrong"

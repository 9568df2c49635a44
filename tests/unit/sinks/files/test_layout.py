"""Targets, names and Hive folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.sinks.files import layout


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("./out/", "out"), ("out", "out"), ("/lake/a b/", "/lake/a b"), ("file:///lake/a%20b/", "/lake/a b"), ("file:/lake", "/lake"),
        ("file://localhost/lake", "/lake"), ("FILE:///lake", "/lake"), ("a=b/c", "a=b/c"),
    ],
)
def test_local_paths(location: str, path: str) -> None:
    """Plain paths and file URLs name folders; a relative one counts from the working directory."""
    assert layout.is_local(location)
    assert layout.local_path(location) == Path(path).absolute()


@pytest.mark.parametrize(
    ("location", "match"),
    [
        ("file://lake/out", "three slashes"), ("file:out", "three slashes"), ("", "is empty"), ("~/out", "not expanded"),
        ("out.parquet", "names one file"), ("a\0b", "is empty"),
    ],
)
def test_locations_that_name_no_folder(location: str, match: str) -> None:
    """Each is refused in words that say what to write instead."""
    with pytest.raises(ValueError, match=match):
        layout.local_path(location)


@pytest.mark.parametrize("location", ["s3://bucket/x", "gs://b/x", "hdfs://h/x", "abfs://c@a/x"])
def test_urls_are_not_local(location: str) -> None:
    """Every other scheme belongs to another file system."""
    assert not layout.is_local(location)


def test_folder_names_are_one_to_one() -> None:
    """No two names share a folder, none leads elsewhere, none is hidden or too long."""
    names = ["a", "A", "a/b", "a%2Fb", "..", ".", "", "_x", "raw.orders", "é", "e\u0301", "x" * 300, "x" * 299 + "y", "a b", "%"]
    folders = [layout.folder_name(n) for n in names]

    assert len(set(folders)) == len(names)
    assert all(f and f[0] not in "._" and "/" not in f and len(f.encode()) <= layout.NAME_BYTES and f.isascii() for f in folders)


@pytest.mark.parametrize("relation", ["orders", "raw.orders", "a/b\\c", "..", "_hidden", ".x", "straße 漢", "x" * 400, "", "a\nb"])
def test_file_names_are_safe(relation: str) -> None:
    """A name carries the relation where it can, is visible to globs, and fits on any file system."""
    name = layout.file_name(relation, 7, "0123456789abcdef")

    assert name.endswith("-000007-0123456789abcdef.parquet")
    assert name[0] not in "._-"
    assert "/" not in name
    assert name.isascii()
    assert len(name) <= layout.NAME_BYTES
    assert layout.file_pattern(relation).fullmatch(name)


def test_readable_names_stay() -> None:
    """Ordinary names are kept as they are."""
    assert layout.file_name("raw.orders", 12, "a" * 16) == f"raw.orders-000012-{'a' * 16}.parquet"


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("de", "c=de"), (None, "c=__HIVE_DEFAULT_PARTITION__"), ("", "c=__HIVE_DEFAULT_PARTITION__"), ("a/b", "c=a%2Fb"), ("..", "c=.."),
        ("__HIVE_DEFAULT_PARTITION__", "c=%5F_HIVE_DEFAULT_PARTITION__"), ("a=b", "c=a%3Db"), ("50%", "c=50%25"), ("\n\x1b", "c=%0A%1B"),
        ("Zürich", "c=Zürich"), ("2026-01-01 00:00:00", "c=2026-01-01%2000%3A00%3A00"), ("{x}", "c=%7Bx%7D"),
    ],
)
def test_hive_values(value: str | None, folder: str) -> None:
    """Special characters are percent-encoded, letters stay, NULL is Hive's default name and no value looks like it."""
    assert layout.hive_folder(("c",), (value,)) == folder


def test_hive_folders_nest() -> None:
    """Several columns make a path in their order; column names are encoded too."""
    assert layout.hive_folder(("a", "b/c"), ("1", "2")) == "a=1/b%2Fc=2"


def test_long_hive_value_is_refused() -> None:
    """A folder's name has a limit on every file system; the limit counts bytes."""
    assert layout.hive_folder(("c",), ("x" * 253,))
    with pytest.raises(ValueError, match="column 'c'"):
        layout.hive_folder(("c",), ("é" * 127,))

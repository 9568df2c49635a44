"""Descriptors in files: a descriptor set, a .proto file among others, a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from thalweg import registry
from thalweg.codecs.protobuf.descriptors import messages_of
from thalweg.errors import SchemaUnavailable, SchemaUnknown, UserError
from thalweg.native.protoc import compile_protos

if TYPE_CHECKING:
    from thalweg.ports.schemas import SchemaRegistry

A = 'syntax = "proto3"; import "inner/b.proto"; import "google/type/money.proto"; message A { B b = 1; google.type.Money m = 2; }'
B = 'syntax = "proto3"; message B { int32 x = 1; }'


def known(path: Path) -> SchemaRegistry:
    """The registry of a path."""
    made: SchemaRegistry = registry.load("registries", "descriptors").make(str(path), {})
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two files, one of which imports the other from above its own folder."""
    (tmp_path / "outer").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "outer" / "a.proto").write_text(A)
    (tmp_path / "inner" / "b.proto").write_text(B)
    return tmp_path


def test_files_and_folders(tree: Path) -> None:
    """A file finds its imports from a folder above it; a folder gives all messages; a set is taken as it is (PRO-03)."""
    (tree / "x.desc").write_bytes(compile_protos({"b.proto": B}, ["b.proto"]))

    assert "A" in messages_of(known(tree / "outer" / "a.proto").latest("t")).messages
    assert {"A", "B"} <= set(messages_of(known(tree).latest("t")).messages)
    assert [m.full_name for m in messages_of(known(tree / "x.desc").latest("t")).roots] == ["B"]


def test_what_cannot_be_read(tree: Path, tmp_path: Path) -> None:
    """Missing paths, imports and syntax, each with the file's name."""
    (tree / "inner" / "b.proto").write_text("broken")
    with pytest.raises(UserError, match="do not compile"):
        known(tree / "outer" / "a.proto").latest("t")
    (tree / "inner" / "b.proto").unlink()
    with pytest.raises(UserError, match=r"'inner/b.proto' is imported"):
        known(tree / "outer" / "a.proto").latest("t")
    with pytest.raises(SchemaUnavailable, match="cannot be read"):
        known(tmp_path / "lost.desc").latest("t")
    with pytest.raises(SchemaUnknown):
        known(tree).by_id(1)


def test_paths_as_people_write_them(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative ones, with dots, and links find the same imports (PRO-03)."""
    (tree / "outer" / "link.proto").symlink_to(tree / "outer" / "a.proto")
    monkeypatch.chdir(tree / "inner")
    for path in ("../outer/a.proto", "../inner/../outer/a.proto", str(tree / "inner" / ".." / "outer" / "link.proto")):
        assert "A" in messages_of(known(Path(path)).latest("x")).messages

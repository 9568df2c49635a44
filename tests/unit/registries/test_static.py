"""A folder as a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from thalweg import registry
from thalweg.errors import SchemaUnavailable, SchemaUnknown
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry

if TYPE_CHECKING:
    from pathlib import Path


def static(path: Path) -> SchemaRegistry:
    """The registry of a path."""
    made: SchemaRegistry = registry.load("registries", "static").make(str(path), {})
    return made


def test_files_by_id_guid_and_subject(tmp_path: Path) -> None:
    """Each by its name; a subject takes the number of the file that says the same (REG-05)."""
    (tmp_path / "7.avsc").write_text('{"type": "long"}')
    (tmp_path / "t-value.avsc").write_text('\ufeff{"type":"long"}', encoding="utf-8")
    (tmp_path / "o-value.proto").write_text("message O {}")
    (tmp_path / "x-value.json").write_text("{}")
    (tmp_path / "0f3c.avsc").write_text('"int"')
    known = static(tmp_path)

    assert known.by_id(7) == RegisteredSchema(7, "AVRO", '{"type": "long"}')
    assert known.latest("t-value") == RegisteredSchema(7, "AVRO", '{"type":"long"}')
    assert known.by_id("0f3c").text == '"int"'
    assert (known.latest("o-value").kind, known.latest("x-value").kind) == ("PROTOBUF", "JSON")
    assert known.register("t-value", RegisteredSchema("t-value", "AVRO", '{"type":"long"}')) == 7
    known.close()


def test_what_is_not_there(tmp_path: Path) -> None:
    """A missing file is unknown, a missing folder gives no answer; nothing outside the folder is read."""
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "secret.avsc").write_text('"int"')
    with pytest.raises(SchemaUnknown, match=r"there is no 9.avsc in"):
        static(inside).by_id(9)
    for outside in ("../secret", "/etc/hostname", "x/../../secret"):
        with pytest.raises(SchemaUnknown):
            static(inside).latest(outside)
    with pytest.raises(SchemaUnavailable, match="no schema file or folder"):
        static(tmp_path / "none").latest("t")
    with pytest.raises(SchemaUnknown, match="copy it to"):
        static(inside).register("t", RegisteredSchema("t", "AVRO", '"int"'))
    (inside / "1.avsc").write_bytes(b"\xff")
    with pytest.raises(SchemaUnavailable, match="cannot be read"):
        static(inside).by_id(1)


def test_one_file_answers_for_every_subject(tmp_path: Path) -> None:
    """The file of 'avro.schema-file'."""
    file = tmp_path / "order.avsc"
    file.write_text('"int"')

    assert static(file).latest("whatever").text == static(file).by_id(3).text == '"int"'

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
    with pytest.raises(SchemaUnknown, match=r"there is no 9.avsc, 9.json or 9.proto in"):
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


def test_imports_are_files_of_the_folder(tmp_path: Path) -> None:
    """What a .proto file imports is found below the folder, each file once, to the bottom; what is not there, and a cycle, are said (REG-05)."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "5.proto").write_text('import "shop/a.proto"; import "shop/b.proto";\nimport "google/protobuf/timestamp.proto";\nmessage O {}')
    (tmp_path / "t-value.proto").write_text((tmp_path / "5.proto").read_text())
    (tmp_path / "shop/a.proto").write_text('import "shop/b.proto"; message A {}')
    (tmp_path / "shop/b.proto").write_text("message B {}")
    found = static(tmp_path).latest("t-value")

    assert found.id == 5
    assert [name for name, _ in found.references] == ["shop/a.proto", "shop/b.proto"]
    assert [name for name, _ in found.references[0][1].references] == ["shop/b.proto"]
    assert static(tmp_path / "5.proto").latest("x").references == found.references

    for wanted, said in {"shop/c.proto": "no such file below", "../x.proto": "no such file below", "8.proto": "or itself"}.items():
        (tmp_path / "8.proto").write_text(f'import "{wanted}";')
        with pytest.raises(SchemaUnknown, match=said):
            static(tmp_path).by_id(8)

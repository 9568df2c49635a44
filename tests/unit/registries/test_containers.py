"""Schemas out of the headers of container files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle.containers import ORDER, header, write
from thalweg import registry
from thalweg.errors import SchemaUnknown, UserError
from thalweg.ports.schemas import RegisteredSchema

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.ports.schemas import SchemaRegistry


def over(place: Path) -> SchemaRegistry:
    """The registry of a location."""
    made: SchemaRegistry = registry.load("registries", "containers").make(str(place), {})
    return made


def test_every_file_knows_its_schema(tmp_path: Path) -> None:
    """By its name and, for the table, the one of the last file; a file that comes later is found (AVR-11, BAT-08)."""
    write(tmp_path / "1.avro", header(b'"int"'))
    write(tmp_path / "2.avro", header(ORDER))
    known = over(tmp_path)
    last = known.latest("")

    assert (last.kind, '"O"' in last.text) == ("AVRO", True)
    assert known.by_id(last.id) == last
    write(tmp_path / "3.avro", header(b'"long"'))
    later = over(tmp_path).latest("t")
    assert known.by_id(later.id).text == '"long"'
    known.close()


def test_what_cannot_be_known(tmp_path: Path) -> None:
    """No file, no readable file, an id of no file, and nothing is ever written."""
    with pytest.raises(SchemaUnknown, match="no Avro file") as caught:
        over(tmp_path).latest("")
    assert "declare the columns" in str(caught.value)
    write(tmp_path / "1.avro", b"Obj")
    with pytest.raises(UserError, match=r"1\.avro at byte 0: an Avro container begins"):
        over(tmp_path).latest("")
    write(tmp_path / "0.avro", header(ORDER))
    assert over(tmp_path).latest("").kind == "AVRO"
    with pytest.raises(SchemaUnknown, match="no file of"):
        over(tmp_path).by_id("11111111-2222-3333-4444-555555555555")
    with pytest.raises(SchemaUnknown, match="cannot be kept"):
        over(tmp_path).register("t", RegisteredSchema(1, "AVRO", '"int"'))

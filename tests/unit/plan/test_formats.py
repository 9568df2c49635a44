"""Formats to codecs and their registries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from thalweg import registry
from thalweg.errors import MissingExtra, UserError
from thalweg.plan import formats

if TYPE_CHECKING:
    from pathlib import Path


def test_a_format_is_found_by_its_first_word_or_by_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """``avro-confluent`` is the codec ``avro``'s; a codec whose package is missing hinders nobody else (GEN-14)."""
    real, names = registry.load, registry.names

    def load(kind: str, name: str) -> object:
        if name == "xml":
            raise MissingExtra("lxml", "xml")
        return real(kind, name)

    monkeypatch.setattr(registry, "load", load)
    monkeypatch.setattr(registry, "names", lambda kind: ["xml", *names(kind)])

    assert formats.codec("avro-confluent") is formats.codec("avro")
    with pytest.raises(UserError, match="unknown format 'avro-confluant'") as found:
        formats.codec("avro-confluant")
    assert found.value.hint == "did you mean 'avro-confluent'?"


def test_what_is_read_is_looked_for_beside_the_pipeline_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the pipeline, then in the current directory; absolute paths stay (CF-06)."""
    beside, here = tmp_path / "beside", tmp_path / "here"
    for folder in (beside, here):
        folder.mkdir()
    (beside / "both").touch()
    (here / "both").touch()
    (here / "one").touch()
    monkeypatch.chdir(here)

    assert formats.beside("both", str(beside)).absolute() == beside / "both"
    assert formats.beside("one", str(beside)).absolute() == here / "one"
    assert formats.beside("none", str(beside)).absolute() == beside / "none"
    assert formats.beside(str(here / "one"), str(beside)) == here / "one"


def test_only_the_formats_own_keys_reach_its_registry() -> None:
    """Options of the registry are the format's keys without their prefix."""
    assert formats.registry_options("avro-confluent", {"avro-confluent.url": "u", "avro.union": "x", "topic": "t"}) == {"url": "u"}


def test_a_remote_registry_stays_closed_offline() -> None:
    """Without ``connect`` only a registry in a folder is opened (CL-02)."""
    assert formats.open_registry(None, {}, connect=True) is None
    assert formats.open_registry(("confluent", "http://127.0.0.1:1"), {}, connect=False) is None

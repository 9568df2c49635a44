"""What ``twg warmup`` can be told to compile."""

from __future__ import annotations

import pytest

from thalweg import registry
from thalweg.cli import warmup
from thalweg.errors import UserError
from thalweg.runtime.upgrade import RECORD_IDS


def test_formats_codecs_and_record_ids_have_names(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each format and codec by its name, record ids by theirs; without a name all of them; what has no kernel is passed over."""
    made: list[str] = []
    monkeypatch.setattr(warmup, "warm_up", made.append)

    assert warmup.warmup(["json-confluent", "avro-glue", "raw", RECORD_IDS[0]]) == 0
    assert made == ["thalweg.codecs.json.fast:make", "thalweg.codecs.enveloped.fast:make", RECORD_IDS[1]]
    assert capsys.readouterr().out.startswith("json-confluent: ready after ")
    made.clear()
    warmup.warmup([])
    assert made[-1] == RECORD_IDS[1]
    assert len(made) == 1 + sum(registry.load("codecs", n).fast is not None for n in registry.names("codecs"))
    with pytest.raises(UserError, match="unknown format 'avor'"):
        warmup.warmup(["avor"])

"""``twg warmup``: what is compiled, and what is said."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg import registry
from thalweg.cli import warmup
from thalweg.errors import UserError
from thalweg.runtime.upgrade import RECORD_IDS

ROOT = Path(__file__).parents[3]


def test_formats_and_sources_are_compiled(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a format, every compiled decoder and the loops of the Kafka source; with one, nothing else (PKG)."""
    done: list[str] = []
    monkeypatch.setattr(warmup, "warm_up", done.append)
    monkeypatch.setattr(warmup.registry, "attribute", lambda path: lambda: done.append(path))

    assert warmup.warmup(["json"]) == 0
    assert [path.split(".")[2] for path in done] == ["json"]

    assert warmup.warmup([]) == 0
    assert {path.partition(":")[0].split(".")[2] for path in done[1:]} >= {"avro", "json", "kafka"}
    assert "kafka: ready after 0.0 s" in capsys.readouterr().out.splitlines()
    assert warmup.warmup(["kafka"]) == 0
    assert done[-1] == registry.load("sources", "kafka").warm_up


def test_the_reference_has_every_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is what the documentation lists, in its order, and each name can be given (CLI)."""
    monkeypatch.setattr(warmup, "warm_up", lambda _path: None)
    monkeypatch.setattr(warmup.registry, "attribute", lambda _path: lambda: None)
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8").partition("## `twg warmup`")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    warmup.warmup([])
    everything = capsys.readouterr().out
    warmup.warmup(listed)

    assert [line.partition(":")[0] for line in everything.splitlines()] == listed
    assert capsys.readouterr().out == everything


def test_each_name_is_said_when_it_begins(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """So that nobody wonders about twenty seconds of silence, nor what it was that failed."""
    said: list[str] = []

    def compile_it(_path: str) -> None:
        said.append(capsys.readouterr().out)
        if len(said) > 1:
            raise UserError("no LLVM")

    monkeypatch.setattr(warmup, "warm_up", compile_it)
    with pytest.raises(UserError):
        warmup.warmup(["json", "avro"])

    assert said == ["json: ", "ready after 0.0 s\navro: "]
    assert capsys.readouterr().out == "not done\n"


def test_a_cache_that_cannot_be_written_is_said_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder and the variable are named, and nothing is compiled for nothing."""
    monkeypatch.setenv("THALWEG_CACHE", "/proc/nope")

    with pytest.raises(UserError, match=r"the cache of kernels /proc/nope/kernels/.* cannot be written") as caught:
        warmup.warmup([RECORD_IDS[0]])

    assert "THALWEG_CACHE" in str(caught.value.hint)


@pytest.mark.parametrize("command", [["--help"], ["check", "examples/quickstart/pipeline.sql"]])
def test_commands_that_decode_nothing_import_no_compiler(command: list[str]) -> None:
    """Help and check cost neither Numba nor LLVM."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "thalweg", *command], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )

    assert "thalweg.cli.main" in done.stderr
    assert [line for line in done.stderr.splitlines() if "numba" in line or "llvmlite" in line] == []


def test_formats_codecs_and_record_ids_have_names(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each format and codec by its name, record ids by theirs; without a name all of them; what has no kernel is passed over."""
    made: list[str] = []
    monkeypatch.setattr(warmup, "warm_up", made.append)

    assert warmup.warmup(["json-confluent", "avro-glue", "raw", RECORD_IDS[0]]) == 0
    assert made == ["thalweg.codecs.json.fast:make", "thalweg.codecs.enveloped.fast:make", RECORD_IDS[1]]
    assert capsys.readouterr().out.startswith("json-confluent: ready after ")
    made.clear()
    monkeypatch.setattr(warmup, "_loops", dict)
    warmup.warmup([])
    assert made[-1] == RECORD_IDS[1]
    assert len(made) == 1 + sum(registry.load("codecs", n).fast is not None for n in registry.names("codecs"))
    with pytest.raises(UserError, match="unknown format 'avor'"):
        warmup.warmup(["avor"])

"""What ``twg check`` says about broken scripts: exactly as recorded, and as expected by somebody who had not seen the parser.

``name.expect`` has one line for each error, ``line:column words; words``; ``name.out`` is the recorded output.
Record again with ``RECORD=1 pytest tests/test_error_goldens.py`` and read the difference.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from thalweg.cli.main import EXIT_USAGE, main

GOLDEN = Path(__file__).parent / "golden" / "errors"
SCRIPTS = sorted(GOLDEN.glob("*.sql"))
ERROR = re.compile(r"^(?P<file>\S+?\.sql):(?P<line>\d+):(?P<column>\d+): error: ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Said:
    """One error: its place, and its text with the line, the caret and the hint."""

    line: int
    column: int
    text: str


def check(script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The output of ``twg check`` in the script's folder, with no setting of ours in the environment."""
    for name in [name for name in os.environ if name.startswith("TWG_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(script.parent)
    code = main(["check", script.name])
    out = capsys.readouterr()

    assert code == EXIT_USAGE, out
    assert out.out == ""
    return out.err


def errors_in(text: str) -> list[Said]:
    """The errors of an output, in their order."""
    found = list(ERROR.finditer(text))
    ends = [*(m.start() for m in found[1:]), len(text)]
    return [Said(int(m["line"]), int(m["column"]), text[m.start() : end].casefold()) for m, end in zip(found, ends, strict=True)]


def expected(script: Path) -> list[tuple[int, int, list[str]]]:
    """Place and words of every error that must be found."""
    out = []
    for row in script.with_suffix(".expect").read_text(encoding="utf-8").splitlines():
        place, _, words = row.partition(" ")
        line, column = place.split(":")
        out.append((int(line), int(column), [w.strip() or ";" for w in words.casefold().split("; ") if words]))
    return out


def test_there_are_enough_broken_scripts() -> None:
    """At least sixty broken scripts are kept, each with its expectation and its recorded output (CLI-08)."""
    assert len(SCRIPTS) >= 60
    assert {p.stem for p in GOLDEN.iterdir()} == {p.stem for p in SCRIPTS}
    assert all(p.with_suffix(suffix).exists() for p in SCRIPTS for suffix in (".expect", ".out"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_output_is_as_recorded(script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole output, caret and hint included, is the recorded one (CLI-08, DAG-17)."""
    said = check(script, monkeypatch, capsys)
    recorded = script.with_suffix(".out")
    if os.environ.get("RECORD"):
        recorded.write_text(said, encoding="utf-8")

    assert said == recorded.read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_every_expected_error_is_found(script: Path) -> None:
    """Each expected error is found at its place with its words, and nothing else is reported (DAG-16, DAG-17, CRD-04)."""
    said = errors_in(script.with_suffix(".out").read_text(encoding="utf-8"))
    wanted = expected(script)

    assert [(e.line, e.column) for e in said] == [(line, column) for line, column, _ in wanted]
    for error, (_, _, words) in zip(said, wanted, strict=True):
        assert [w for w in words if w not in error.text] == []

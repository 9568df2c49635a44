"""Kinds and schemes to sinks."""

from __future__ import annotations

import pytest

from thalweg import registry
from thalweg.errors import MissingExtra, UserError
from thalweg.plan.sinks import scheme, sink, unclaimed


@pytest.mark.parametrize(
    ("location", "found"),
    [("./a/", ""), ("/a/b", ""), ("s3://b/k", "s3"), ("S3://b", "s3"), ("console://", "console"), ("C:\\out", ""), ("jdbc:postgresql://x", "jdbc"), ("", "")],
)
def test_schemes(location: str, found: str) -> None:
    """A path has no scheme, a drive letter is none either."""
    assert scheme(location) == found


def test_a_kind_is_found_by_what_the_plugins_claim() -> None:
    """PARQUET is claimed by the sink for files, whatever its module is called (GEN-14)."""
    names = registry.names("sinks")

    assert sink("parquet", names) is registry.load("sinks", "files")
    assert unclaimed(sink("PARQUET", names), "PARQUET", "s3://b/") is None
    with pytest.raises(UserError, match="no sink writes PARQET"):
        sink("PARQET", names)


def test_a_missing_package_is_named_only_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink whose extra is not installed hinders nobody else, and says what to install to whoever wants it (GEN-14)."""
    real = registry.load

    def load(kind: str, name: str) -> object:
        if name == "excel":
            raise MissingExtra("python_calamine", "excel")
        return real(kind, name)

    monkeypatch.setattr(registry, "load", load)

    assert sink("PARQUET", ["excel", "files"]).kinds == ("PARQUET",)
    with pytest.raises(MissingExtra, match=r"thalweg\[excel\]"):
        sink("EXCEL", ["excel", "files"])

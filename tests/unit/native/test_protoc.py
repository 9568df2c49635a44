"""Protobuf's compiler in a process of its own."""

from __future__ import annotations

import importlib.util

import pytest

from thalweg.errors import MissingExtra
from thalweg.native.protoc import ProtoError, compile_protos, imports, is_bundled, is_plain, set_as_text, set_of_text


def test_faults_name_file_and_line() -> None:
    """The compiler's words, without our folders (PRO-03)."""
    with pytest.raises(ProtoError, match=r"^a.proto:2:1: ") as e:
        compile_protos({"a.proto": 'syntax = "proto3";\nbroken'}, ["a.proto"])
    assert "tmp" not in str(e.value)


def test_the_same_fault_is_told_in_the_same_words() -> None:
    """Dead letters of a schema that does not compile are equal whenever they are made: no clock and no process of the compiler's log (law 2)."""
    said = []
    for _ in range(2):
        with pytest.raises(ProtoError) as e:
            compile_protos({"a.proto": "nonsense{"}, ["a.proto"])
        said.append(str(e.value))

    assert said[0] == said[1]
    assert said[0].startswith("a.proto:1:1: ")


def test_imports() -> None:
    """Every import that counts, and none in comments."""
    text = 'syntax = "proto3"; import "a.proto";\nimport public "b/c.proto";\n// import "no.proto";\n/* import "no.proto"; */\nimport weak \'d.proto\';'

    assert imports(text) == ["a.proto", "b/c.proto", "d.proto"]


def test_names() -> None:
    """Names stay inside their folder; some files are there without being given."""
    assert [is_plain(n) for n in ("a/b.proto", "../a", "/a", "a//b", "a\\b", "a\n", "")] == [True] + [False] * 6
    assert [is_bundled(n) for n in ("google/protobuf/any.proto", "google/type/money.proto", "confluent/meta.proto", "x.proto")] == [True, True, True, False]


def test_sets_as_text() -> None:
    """A descriptor set survives as text; other texts are none."""
    assert set_of_text(set_as_text(b"\0\xff")) == b"\0\xff"
    assert set_of_text('syntax = "proto3";') is None


def test_missing_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without grpcio-tools the message is the line that installs it (PKG-02)."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'thalweg\[protobuf\]'"):
        compile_protos({}, [])

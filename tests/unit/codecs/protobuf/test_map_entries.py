"""Entries of maps that a text writes out."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from thalweg.codecs.protobuf.map_entries import marked, restored
from thalweg.native.protoc import compile_protos


def test_entries_of_maps_that_are_written_out() -> None:
    """Registered texts may show what the compiler makes of a map: they are read as that map."""
    text = """
    syntax = "proto3"; package p;
    message M { repeated .p.M.NEntry n = 1; message NEntry { option map_entry = true; string key = 1; int32 value = 2; reserved 7; } }
    """
    whole = 'syntax = "proto3"; package p; message M { map<string, int32> n = 1; }'
    (found,) = FileDescriptorSet.FromString(restored(compile_protos({"a.proto": marked(text)}, ["a.proto"]))).file
    (wanted,) = FileDescriptorSet.FromString(compile_protos({"a.proto": whole}, ["a.proto"])).file
    entry = found.message_type[0].nested_type[0]

    assert entry.options.map_entry
    assert [(f.name, f.number, f.type) for f in entry.field] == [(f.name, f.number, f.type) for f in wanted.message_type[0].nested_type[0].field]
    assert list(entry.reserved_name) == []


def test_other_texts_stay_as_they_are() -> None:
    """Without such an option nothing is touched."""
    assert marked("message M { reserved 1; }") == "message M { reserved 1; }"
    assert restored(b"\x0a\x00") == b"\x0a\x00"

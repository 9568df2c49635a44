"""Hard payloads through both decoders: what other products got wrong."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.oracle.protobuf import decoded, is_slow, message, reference, table
from thalweg.codecs.protobuf.kernel_decoder import compile_decoder
from thalweg.kernels import program as p
from thalweg.kernels.jit import disabled

ALL = """
syntax = "proto3"; package t;
import "google/protobuf/duration.proto"; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
import "google/protobuf/field_mask.proto"; import "google/protobuf/empty.proto"; import "google/protobuf/struct.proto";
message Inner { int32 a = 1; int32 b = 2; }
message Nothing {}
enum Color { RED = 0; BLUE = 1; }
message All {
  int32 i32 = 1; optional int32 opt = 2; oneof o { int32 o_a = 3; Inner o_m = 4; } Inner inner = 5; repeated int32 rep = 6; map<string, Inner> m = 7;
  Color c = 8; uint64 u64 = 9; string s = 10; bool b = 11; sint32 s32 = 12;
}
message Known {
  google.protobuf.Duration d = 1; google.protobuf.Int32Value i = 2; google.protobuf.StringValue s = 3; google.protobuf.FieldMask f = 4;
  google.protobuf.Empty e = 5; google.protobuf.Timestamp t = 6; google.protobuf.Struct headers = 8;
}
message Deep { Deep in = 1; int32 x = 2; }
message Maps {
  map<int64, int32> n = 1; map<string, int32> s = 2; map<bool, int32> b = 3; repeated In i = 4; message In { map<fixed32, int32> f = 1; }
}
"""
OLD = """
syntax = "proto2"; package t;
message Old { optional int32 bar = 2 [default = 23]; required int32 r = 1; extensions 100 to 199; }
extend Old { optional int32 ext = 100; }
message Groups { repeated group Result = 1 { required string url = 2; } }
message Closed { enum E { A = 1; B = 2; C = 7; } optional E e = 1; repeated E es = 2; map<int32, E2> m = 3; enum E2 { Z = 0; Y = 5; } }
message Parts { message P { required int32 a = 1; required int32 b = 2; } optional P p = 1; }
"""
EDITION = """
edition = "2023"; package t;
message Result { string url = 2; }
message Groups {
  repeated Result result = 1 [features.message_encoding = DELIMITED]; int32 explicit = 3; int32 implicit = 4 [features.field_presence = IMPLICIT];
}
"""
EMPTY: dict[str, Any] = {
    "i32": 0, "opt": None, "o_a": None, "o_m": None, "inner": None, "rep": [], "m": [], "c": "RED", "u64": 0, "s": "", "b": False, "s32": 0,
}  # fmt: skip
NOT = "decode.malformed"
MINUS_ONE = "ff ff ff ff ff ff ff ff ff 01"
HALF_DOWN = "10 80 b6 ca 91 fe ff ff ff ff 01"


def read(payload: str, text: str = ALL, name: str = "All", **options: str) -> Any:  # noqa: ANN401 - a row, or a code
    """What both decoders make of a payload in hexadecimal."""
    return decoded(table(message(text, name), **options), bytes.fromhex(payload))


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (f"08 {MINUS_ONE}", {"i32": -1}), ("08 ff ff ff ff 0f", {"i32": -1}), ("08 80 80 80 80 10", {"i32": 0}), (f"40 {MINUS_ONE}", {"c": "-1"}),
        (f"60 {MINUS_ONE}", {"s32": -(2**31)}), ("08 87 00", {"i32": 7}), (f"48 {MINUS_ONE}", {"u64": 2**64 - 1}), ("58 02", {"b": True}),
        (f"58 {MINUS_ONE}", {"b": True}), ("58 80 80 80 80 10", {"b": True}), ("40 05", {"c": "5"}), ("0d 01 00 00 00 08 07", {"i32": 7}),
        ("", {}), ("10 00", {"opt": 0}),
    ],
)  # fmt: skip
def test_scalars(payload: str, expected: dict[str, Any]) -> None:
    """The low 32 bits of any varint, 64 bits of a boolean, unnamed enum numbers, another wire type, unset and zero (PB-01, PB-02, PB-07, PB-12, PB-14)."""
    assert read(payload) == {**EMPTY, **expected}


@pytest.mark.parametrize("payload", [f"08 ff {MINUS_ONE}", "94 01", "93 01 08 05", "93 01 08 05 9c 01", "00 00", "0e", "52 01 ff", "52 ff ff ff ff 07"])
def test_faults(payload: str) -> None:
    """Eleven bytes of a varint, stray, unclosed and crossed groups, field number 0, wire type 6, no UTF-8, lengths past the end (PB-01, PB-08)."""
    assert read(payload) == NOT


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("18 01 22 02 08 01", {"o_m": {"a": 1, "b": 0}}), ("22 02 08 01 18 01", {"o_a": 1}),
        ("22 02 08 01 22 02 10 02", {"o_m": {"a": 1, "b": 2}}), ("22 02 08 01 18 01 22 02 10 02", {"o_m": {"a": 0, "b": 2}}),
        ("32 03 01 02 03", {"rep": [1, 2, 3]}), ("30 01 30 02 30 03", {"rep": [1, 2, 3]}), ("32 00", {"rep": []}),
        ("32 02 01 02 08 09 30 03 32 01 04", {"rep": [1, 2, 3, 4], "i32": 9}), ("93 01 08 05 94 01 08 07", {"i32": 7}),
        ("3a 04 12 02 08 01", {"m": [("", {"a": 1, "b": 0})]}), ("3a 03 0a 01 61", {"m": [("a", {"a": 0, "b": 0})]}),
        ("3a 00", {"m": [("", {"a": 0, "b": 0})]}), ("3a 05 0a 01 61 18 05", {"m": [("a", {"a": 0, "b": 0})]}),
        ("3a 07 0a 01 61 12 02 08 01 3a 07 0a 01 61 12 02 10 02", {"m": [("a", {"a": 0, "b": 2})]}),
        ("3a 0b 0a 01 61 12 02 08 01 12 02 10 02", {"m": [("a", {"a": 1, "b": 2})]}), ("3a 07 12 02 08 01 0a 01 61", {"m": [("a", {"a": 1, "b": 0})]}),
    ],
)  # fmt: skip
def test_oneofs_lists_maps(payload: str, expected: dict[str, Any]) -> None:
    """The last member wins and messages merge, runs add up, entries default what they lack and a key's last one counts (PB-03, PB-05, PB-06, PB-08)."""
    assert read(payload) == {**EMPTY, **expected}


def test_groups_in_a_message_without_fields() -> None:
    """A message type with no fields passes over groups too, and keeps its row count (PB-08)."""
    found = compile_decoder(table(message(ALL, "Nothing"))).decode(pa.array([b"\x0b\x0c", b"", b"\x0c"], pa.binary()))

    assert (found.rows.tolist(), found.batch.num_rows, found.codes.tolist()) == ([0, 1], 2, [p.OK, p.OK, p.MALFORMED])


def test_required_defaults_extensions() -> None:
    """A missing required field is a fault, defaults are applied on request only, extensions are columns (PB-11)."""
    assert read("", OLD, "Old") == NOT
    assert read("08 01", OLD, "Old") == {"bar": None, "r": 1, "ext": None}
    assert read("08 01", OLD, "Old", defaults="true") == {"bar": 23, "r": 1, "ext": None}
    assert read("08 01 a0 06 07", OLD, "Old") == {"bar": None, "r": 1, "ext": 7}
    assert read("0a 02 08 01 0a 02 10 02", OLD, "Parts") == {"p": {"a": 1, "b": 2}}
    assert read("0a 02 08 01", OLD, "Parts") == NOT


def test_closed_enums() -> None:
    """Numbers that a closed enum lacks are unknown fields: unset, left out of lists, and no entry of a map (PB-01)."""
    assert read("08 02 08 05", OLD, "Closed") == {"e": "B", "es": [], "m": []}
    assert read("10 01 10 03 12 03 07 04 02", OLD, "Closed") == {"e": None, "es": ["A", "C", "B"], "m": []}
    assert read("1a 04 08 01 10 05 1a 04 08 02 10 09", OLD, "Closed") == {"e": None, "es": [], "m": [(1, "Y")]}
    assert read("08 02", OLD, "Closed", enum="number")["e"] == 2


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (f"0a 11 08 {MINUS_ONE} 10 80 ca b5 ee 01", "decode.type"), (f"0a 0b {HALF_DOWN}", {"d": dt.timedelta(seconds=-0.5)}),
        (f"0a 16 08 {MINUS_ONE} {HALF_DOWN}", {"d": dt.timedelta(seconds=-1.5)}), ("0a 07 08 81 bc ae ce 97 09", "decode.type"),
        ("12 00", {"i": 0}), ("", {}), ("1a 00", {"s": ""}), ("22 08 0a 03 61 2e 62 0a 01 63", {"f": {"paths": ["a.b", "c"]}}), ("2a 00", {"e": {}}),
        ("42 21 0a 07 0a 01 61 12 02 08 00 0a 16 0a 01 62 12 11 32 0f 0a 09 11 00 00 00 00 00 00 f0 3f 0a 02 20 01", {"headers": '{"a":null,"b":[1.0,true]}'}),
    ],
)  # fmt: skip
def test_well_known_types(payload: str, expected: Any) -> None:  # noqa: ANN401 - a row, or a code
    """Signs of a duration agree, wrappers tell absent from zero, Empty keeps its presence, Struct is JSON text (PB-17, PB-18, PRO-12)."""
    found = read(payload, ALL, "Known")

    assert (found if isinstance(found, str) else {k: v for k, v in found.items() if v is not None}) == expected


STRUCT = """
0a 0e 0a 01 6e 12 09 11 40 8c b5 78 1d af 15 44 0a 07 0a 01 61 12 02 08 00 0a 24 0a 01 62 12 1f 32 1d 0a 09 11 00 00 00 00 00 00 f0 3f
0a 03 1a 01 78 0a 0b 2a 09 0a 07 0a 01 63 12 02 20 01
"""
NAN = "0a 0e 0a 01 78 12 09 11 00 00 00 00 00 00 f8 7f"


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (STRUCT, '{"a":null,"b":[1.0,"x",{"c":true}],"n":1e20}'), (NAN, '{"x":"NaN"}'), ("0a 05 0a 01 78 12 00", '{"x":null}'), ("0a 03 0a 01 78", '{"x":null}'),
        ("", "{}"), ("0a 05 0a 01 62 12 00 0a 07 0a 01 61 12 02 20 00 0a 07 0a 01 62 12 02 20 01", '{"a":false,"b":true}'),
    ],
)  # fmt: skip
def test_struct_is_json_text(payload: str, text: str) -> None:
    """Members are sorted, NULL and numbers without a JSON form are kept, a Value of no kind is null, a repeated key's last value counts (PB-18)."""
    data = bytes.fromhex(payload)

    assert read(f"42 {len(data):02x} {payload}", ALL, "Known")["headers"] == text


def test_deep_structs_are_bounded() -> None:
    """A document of ever more lists is text down to a hundred levels, and a bad record below (PB-18, PB-23)."""

    def lists(levels: int) -> bytes:
        """Values in lists in values."""
        out = b"\x08\x00"
        for _ in range(levels):
            for tag in (b"\x0a", b"\x32"):
                size = bytes([len(out)]) if len(out) < 128 else bytes([len(out) & 127 | 128, len(out) >> 7])
                out = tag + size + out
        return out

    of = table(message('syntax = "proto3"; import "google/protobuf/struct.proto"; message V { google.protobuf.Value v = 1; }', "V"))
    shown = [decoded(of, b"\x0a" + bytes([len(d) & 127 | 128, len(d) >> 7]) + d) for d in (lists(49), lists(50), lists(150))]

    assert shown == [{"v": "[" * 49 + "null" + "]" * 49}, "decode.limit", "decode.limit"]


def test_unknown_messages_are_passed_over_whole() -> None:
    """What lies in an unknown field is not looked into, however deep it claims to be (PB-23)."""
    unknown = b"\xa2\x06" + nested(10_001)[1:]

    assert decoded(table(message(ALL, "Deep")), unknown + b"\x10\x05") == {"in": None, "x": 5}


def test_timestamps() -> None:
    """The years 1 to 9999; digits finer than the column's unit are cut off and counted (PRO-12)."""
    of = table(message(ALL, "Known"))
    early = b"\xb8\xc3\x98\xfe\xff\xff\xff\x01"
    payloads = [b"\x32\x04\x08\x01\x10\x05", b"\x32\x0b\x08\x80\x92" + early, b"\x32\x0b\x08\xff\x91" + early]
    program, exact = compile_decoder(of), compile_decoder(table(message(ALL, "Known"), timestamp="ns"))
    found = program.decode(pa.array(payloads, pa.binary()))

    assert found.batch.column("t").cast(pa.int64()).to_pylist() == [1_000_000, -62_135_596_800_000_000]
    assert (found.codes.tolist(), program.finer) == ([p.OK, p.OK, p.SLOW], 1)
    assert reference(of, payloads).bad.codes == ["decode.type"]
    assert exact.decode(pa.array(payloads, pa.binary())).batch.column("t").cast(pa.int64()).to_pylist() == [1_000_000_005]


def test_groups_and_delimited_fields() -> None:
    """Groups are fields like others, and so is what an edition encodes like them; its scalars are NULL when unset (PB-20)."""
    assert read("0b 12 01 61 0c 0b 12 01 62 0c", OLD, "Groups") == {"result": [{"url": "a"}, {"url": "b"}]}
    assert read("0b 12 01 61 0c", EDITION, "Groups") == {"result": [{"url": "a"}], "explicit": None, "implicit": 0}
    assert [read(broken, OLD, "Groups") for broken in ("0b 0c", "0b 12 01 61", "0b 12 01 61 14")] == [NOT] * 3


def nested(levels: int) -> bytes:
    """A message in a message, and so on."""
    out = b""
    for _ in range(levels):
        size, length = len(out), bytearray()
        while size > 127:
            length.append(size & 127 | 128)
            size >>= 7
        out = b"\x0a" + bytes([*length, size]) + out
    return out


def test_depth_is_bounded() -> None:
    """A hundred levels are read, known or not; the process lives through any number (PB-23, PB-08)."""
    of = table(message(ALL, "Deep"), max_depth="3")
    shown = decoded(of, nested(100))

    assert isinstance(shown, dict)
    assert str(shown).count("in") == 100
    assert decoded(of, nested(101)) == decoded(of, nested(10_000)) == "decode.limit"
    assert decoded(of, b"\x9b\x01" * 100 + b"\x9c\x01" * 100) == {"in": None, "x": 0}
    assert decoded(of, b"\x9b\x01" * 101 + b"\x9c\x01" * 101) == "decode.limit"
    assert decoded(of, b"\x9b\x01" * 200_000 + b"\x9c\x01" * 200_000) == "decode.limit"


@pytest.mark.skipif(disabled(), reason="takes minutes uncompiled; the compiled run shows it")
def test_claims_are_bounded() -> None:
    """A small payload that claims very many messages ends at once with a code (DEC-06)."""
    wide = 'syntax = "proto3"; package t; message W { repeated Item i = 1; } message Item {' + "".join(f"int64 f{i} = {i + 1};" for i in range(1_000)) + "}"

    assert decoded(table(message(wide, "W")), b"\x0a\x00" * 40_000) == "decode.limit"


def test_bad_rows_leave_no_trace() -> None:
    """Neighbours of bad rows are what they are alone, whatever the bad row had written (DEC-07)."""
    of = table(message(ALL, "All"))
    program = compile_decoder(of)
    good = bytes.fromhex("08 07 10 01 22 02 08 01 32 02 01 02 3a 07 0a 01 61 12 02 08 01 52 02 68 69")
    bad = good + bytes.fromhex("3a 07 0a 01 62 12 02 08 01 52 05 68")
    found = program.decode(pa.array([bad, good, bad, b"", bad, good], pa.binary()))

    assert found.rows.tolist() == [1, 3, 5]
    assert found.batch.to_pylist() == [decoded(of, good), EMPTY, decoded(of, good)]
    assert found.positions[found.bad].tolist() == [34, 34, 34]
    assert program.reason(found, 0) == (NOT, "s: the bytes end early, or a tag, a length, a group or a number cannot be (byte 34)", "s")


def test_slices_nulls_and_framing() -> None:
    """Slices, NULL payloads, and bytes of framing before each message."""
    sent = pa.array([b"junk", b"\x00\x00\x08\x07", None, b"\x00\x08\x09", b"\x00"], pa.binary()).slice(1)
    found = compile_decoder(table(message(ALL, "All"))).decode(sent, np.array([2, 0, 1, 2], np.int32))

    assert [row["i32"] for row in found.batch.to_pylist()] == [7, 9]
    assert found.codes.tolist() == [p.OK, p.NULL_ROW, p.OK, p.MALFORMED]


def test_declared_columns() -> None:
    """Declared columns are read in their types; the rest is only checked (DEC-04)."""
    columns = pa.schema([
        pa.field("u64", pa.decimal128(20, 0)), pa.field("c", pa.string()), pa.field("m", pa.map_(pa.string(), pa.struct([("b", pa.int64())]))),
        pa.field("inner", pa.string(), metadata={b"twg:type": b"json"}),
    ])  # fmt: skip
    of = table(message(ALL, "All"), columns)
    payload = bytes.fromhex(f"48 {MINUS_ONE} 40 01 3a 07 0a 01 61 12 02 10 02 2a 02 08 07 52 02 68 69")
    found = compile_decoder(of).decode(pa.array([payload, b"\x52\x02\xff\xff", payload], pa.binary()))

    assert found.batch.schema == columns
    assert decoded(of, payload) == {"u64": 2**64 - 1, "c": "BLUE", "m": [("a", {"b": 2})], "inner": '{"a":7}'}
    assert found.codes.tolist() == [p.OK, p.UTF8, p.OK]


def test_many_keys() -> None:
    """Maps of many keys are hashed, text or numbers; one that repeats is left to the reference decoder (PB-06)."""
    of = table(message(ALL, "Maps"))
    numbers = b"".join(b"\x0a\x02\x08" + bytes([i]) for i in range(100))
    words = b"".join(b"\x12\x04\x0a\x02k" + bytes([65 + i]) for i in range(50))
    one, two = b"\x0a\x05\x0d\x01\x00\x00\x00", b"\x0a\x05\x0d\x02\x00\x00\x00"

    assert not is_slow(of, numbers + words + b"\x1a\x02\x08\x01\x1a\x00" + (b"\x22\x0e" + one + two) * 3)
    repeats = (numbers + b"\x0a\x02\x08\x05", words + b"\x12\x04\x0a\x02kB", b"\x1a\x00\x1a\x00", b"\x22\x0e" + one + two + b"\x22\x0e" + one + one)
    assert [is_slow(of, payload) for payload in repeats] == [True] * 4


def test_a_key_that_repeats_after_one_that_was_left_out() -> None:
    """Where the keys of a row begin does not depend on a key that an earlier row left out (PB-06)."""
    key, empty = b"\x12\x03\x0a\x01k", b"\x12\x00"
    found = compile_decoder(table(message(ALL, "Maps"))).decode(pa.array([key, empty, key + empty + key, empty, key + empty], pa.binary()))

    assert found.codes.tolist() == [p.OK, p.OK, p.SLOW, p.OK, p.OK]
    assert found.batch.column("s").to_pylist() == [[("k", 0)], [("", 0)], [("", 0)], [("k", 0), ("", 0)]]

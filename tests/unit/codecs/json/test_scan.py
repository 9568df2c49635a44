"""JSON documents, strictly."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.arrow.rows import BadValue
from thalweg.codecs.json.scan import Number, RawText, Slices, parse


def read(payload: bytes | str, slices: Slices | None = None, *, max_bytes: int = 8 << 20, max_depth: int = 64) -> dict[str, Any]:
    """Parse with the default limits."""
    data = payload.encode() if isinstance(payload, str) else payload
    return parse(data, max_bytes=max_bytes, max_depth=max_depth, slices=slices)


def refused(payload: bytes | str, **limits: int) -> BadValue:
    """Why a payload is refused."""
    with pytest.raises(BadValue) as caught:
        read(payload, **limits)
    return caught.value


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"null", "expected one JSON object, found null"),
        (b"[]", "expected one JSON object, found an array"),
        (b'[{"a":1},{"a":2}]', "found an array"),
        (b"5", "found the number 5"),
        (b'"x"', "found the string 'x'"),
        (b"true", "found a boolean"),
        (b"", "empty (0 bytes)"),
        (b" \n", "Expecting value"),
        (b'{"a":1}{"a":2}', "Extra data at character 7"),
        (b'{"a":1} x', "Extra data"),
        (b'{"a":1}\n{"a":2}', "Extra data"),
        (b'{"a":01}', "delimiter"),
        (b'{"a":+1}', "Expecting value"),
        (b"{'a':1}", "double quotes"),
        (b'{"a":1,}', "Expecting property name|trailing comma"),
        (b'{"a":"x\ny"}', "control character"),
        (b'{"a":NaN}', "NaN is no JSON value"),
        (b'{"a":-Infinity}', "-Infinity is no JSON value"),
        (b'{"a":"\xff"}', "invalid UTF-8 at byte 6"),
        (b'{"a":"\xed\xa0\x80"}', "invalid UTF-8"),
        (b'\xef\xbb\xbf{"a":1}', "byte order mark"),
        ('{"a":1}'.encode("utf-16"), "invalid UTF-8"),
        (bytes.fromhex("00000000097b2261223a317d"), "looks like Confluent framing"),
        (rb'{"a":"\ud83d"}', "surrogate pair"),
        (rb'{"a":"\ude00"}', "surrogate pair"),
        (rb'{"a":"\ud83d x \ude00"}', "surrogate pair"),
        (rb'{"a":"\ud83d\ud83d\ude00"}', "surrogate pair"),
        (rb'{"a":"\ud83d\n"}', "surrogate pair"),
        (rb'{"a":"\ud800","a":1}', "surrogate pair"),
    ],
)
def test_what_is_no_record(payload: bytes, reason: str) -> None:
    """Anything but one well-formed object is refused, and the process lives on (JS-06, RG-10, KF-01)."""
    bad = refused(payload)

    assert bad.code == "decode.malformed"
    assert any(part in bad.message for part in reason.split("|"))


def test_what_is_a_record() -> None:
    """One object over several lines, escaped line feeds, U+0000, pairs of surrogates, equal keys (JS-07, JS-10)."""
    document = read('{\n "a": 1,\n "b": "x\\ny\\u0000",\t"c": "\\ud83d\\ude00 \\\\ud83d", "a": -0.10e+2\r\n} ')

    assert document == {"a": "-0.10e+2", "b": "x\ny\0", "c": "😀 \\ud83d"}
    assert type(document["a"]) is Number
    assert read("{}") == {}


def test_limits() -> None:
    """Depth and size are bounded; the limits are named (JS-15)."""
    assert refused(b"[" * 100_000).code == "decode.limit"
    assert refused(b'{"a":' * 100_000).code == "decode.limit"
    assert "'decode.max_depth' (3)" in refused('{"a":[[{}]]}', max_depth=3).message
    assert read('{"a":[[[]]]}', max_depth=4) == {"a": [[[]]]}
    assert read('{"a":"[[[[[[[{{{{{{","b":[[],[],[],[]]}', max_depth=3)["b"] == [[], [], [], []]
    big = b'{"a":"' + b"x" * 50_000_000 + b'"}'
    assert "'decode.max_bytes'" in refused(big).message
    many = b"{" + b",".join(b'"k%d":1' % i for i in range(1_000_000)) + b"}"
    assert refused(many).code == "decode.limit"


def test_hostile_escapes_take_no_time() -> None:
    """A megabyte of quotes and escapes is judged in linear time (JS-15)."""
    begin = time.monotonic()
    refused(b'{"a":"' + b'\\"' * 500_000)
    refused(rb'{"a":"' + rb"\ud83d\ude00" * 80_000 + rb'\ud83d"}')
    read(b'{"a":"' + b'\\"[' * 300_000 + b'"}')

    assert time.monotonic() - begin < 5


SLICED = Slices(fields={"v": Slices(raw=True), "o": Slices(fields={"v": Slices(raw=True)}), "l": Slices(items=Slices(raw=True)),
                        "m": Slices(values=Slices(raw=True))})  # fmt: skip


@pytest.mark.parametrize("raw", ["1", '"x"', "[1]", '{"k":1}', '{ "k" :\t1.50 }', "true", "[]", "{}", '"\\u00fc,}]"', "1e5"])
def test_raw_text_is_kept(raw: str) -> None:
    """A JSON-typed value is the text as it stood, at the top, in an object, an array and a map (JS-13)."""
    document = read(f'{{ "x" : [{{"v":0}}], "v" : {raw} , "o": {{"w":[1],"v":{raw}}},"l":[ {raw} ,null,{raw}],"m":{{"\\u0061":{raw}}} }}', SLICED)

    assert document == {"x": [{"v": "0"}], "v": raw, "o": {"w": ["1"], "v": raw}, "l": [raw, None, raw], "m": {"a": raw}}
    assert type(document["v"]) is type(document["m"]["a"]) is RawText


def test_raw_text_of_equal_keys() -> None:
    """The last one wins, whatever the ones before it were; null is no text."""
    assert read('{"v":[1],"v":null,"o":1,"o":{"v":2},"l":{},"m":[]}', SLICED) == {"v": None, "o": {"v": "2"}, "l": {}, "m": []}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4), max_leaves=20,
)


def plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Numbers as Python's own parser reads them."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return json.loads(value) if isinstance(value, Number) else value


@given(st.dictionaries(st.sampled_from(["v", "o", "l", "m", "z"]), values), st.booleans(), st.sampled_from([None, 1]))
def test_agrees_with_the_standard_library(document: dict[str, Any], ascii_only: bool, indent: int | None) -> None:  # noqa: FBT001 - drawn
    """Every document that ``json`` writes is read the same, with and without raw slices."""
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    if any(0xD800 <= ord(c) < 0xE000 for c in json.dumps(document, ensure_ascii=False)):
        return
    assert plain(read(text)) == document
    sliced = read(text, SLICED)
    assert sliced.keys() == document.keys()
    if document.get("v") is not None:
        assert json.loads(sliced["v"]) == document["v"]

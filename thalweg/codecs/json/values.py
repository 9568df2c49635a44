"""JSON values to what a column of a declared type stores; what does not fit is refused, never bent."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.columns import TYPE_KEY, is_list
from thalweg.arrow.rows import TYPE, BadValue
from thalweg.arrow.temporal import UNITS, parse_date, parse_time, parse_timestamp
from thalweg.codecs.json.numbers import NUMBER, double, integer, single, unscaled
from thalweg.codecs.json.scan import Number, RawText, Slices, kind_of

Convert = Callable[[Any], Any]
"""A parsed value that is not null to what the column stores; raises BadValue."""
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DAY_SECONDS: Final = 86_400


class Unsupported(Exception):
    """A type that no JSON value can become."""


def converter(field: pa.Field) -> Convert:
    """What turns a JSON value into a value of ``field``. Raises Unsupported."""
    meaning = (field.metadata or {}).get(TYPE_KEY)
    if meaning == b"json":
        return _raw
    if meaning == b"uuid":
        return _uuid
    data_type = field.type
    for matches, make in _MAKERS:
        if matches(data_type):
            return make(data_type)
    raise Unsupported(str(data_type))


def slices_of(field: pa.Field) -> Slices:
    """Where raw text is wanted in values of ``field``."""
    if (field.metadata or {}).get(TYPE_KEY) == b"json":
        return Slices(raw=True)
    data_type = field.type
    if kinds.is_struct(data_type):
        found = {child.name: slices_of(child) for child in data_type}
        return Slices(fields={name: s for name, s in found.items() if s})
    if kinds.is_map(data_type):
        return Slices(values=slices_of(data_type.item_field) or None)
    if is_list(data_type):
        return Slices(items=slices_of(data_type.value_field) or None)
    return Slices()


def _raw(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """JSON text, exactly as it stood."""
    assert isinstance(value, RawText)
    return str(value)


def _expect(value: object, kind: type, what: str) -> None:
    """Refuse a value that is not exactly of the parsed type ``kind``."""
    if type(value) is not kind:
        raise BadValue(TYPE, f"expected {what}, found {kind_of(value)}")


def _uuid(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """The 16 bytes of a UUID's text."""
    _expect(value, str, "a UUID as text")
    if _UUID.fullmatch(value) is None:
        raise BadValue(TYPE, f"expected a UUID as text, found {kind_of(value)}")
    return bytes.fromhex(value.replace("-", ""))


def _boolean(_data_type: pa.DataType) -> Convert:
    def convert(value: Any) -> bool:  # noqa: ANN401 - any JSON value
        if value is True or value is False:
            return bool(value)
        raise BadValue(TYPE, f"expected true or false, found {kind_of(value)}")

    return convert


def _integer(data_type: pa.DataType) -> Convert:
    width, signed = data_type.bit_width, kinds.is_signed_integer(data_type)
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    return partial(_ranged, low, high, str(data_type))


def _ranged(low: int, high: int, what: str, value: Any) -> int:  # noqa: ANN401 - any JSON value
    """A number that is whole and in range."""
    _expect(value, Number, f"a number ({what})")
    return integer(value, low, high, what)


def _float(data_type: pa.DataType) -> Convert:
    read = single if data_type.bit_width == 32 else double  # noqa: PLR2004 - bits of a float

    def convert(value: Any) -> float:  # noqa: ANN401 - any JSON value
        _expect(value, Number, f"a number ({data_type})")
        return read(value)

    return convert


def _decimal(data_type: pa.DataType) -> Convert:
    what = f"decimal({data_type.precision}, {data_type.scale})"

    def convert(value: Any) -> int:  # noqa: ANN401 - any JSON value
        if type(value) is str and NUMBER.fullmatch(value):
            return unscaled(value, data_type.precision, data_type.scale, what)
        _expect(value, Number, f"a number ({what})")
        return unscaled(value, data_type.precision, data_type.scale, what)

    return convert


def _string(_data_type: pa.DataType) -> Convert:
    def convert(value: Any) -> str:  # noqa: ANN401 - any JSON value
        _expect(value, str, "a string")
        return str(value)

    return convert


def _binary(data_type: pa.DataType) -> Convert:
    width = data_type.byte_width if kinds.is_fixed_size_binary(data_type) else None

    def convert(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
        _expect(value, str, "base64 text")
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise BadValue(TYPE, f"expected base64 text, found {kind_of(value)}") from None
        if width is not None and len(data) != width:
            raise BadValue(TYPE, f"expected {width} bytes, found {len(data)}")
        return data

    return convert


def _temporal(parse: Callable[[str], int], low: int, high: int, what: str) -> Convert:
    """Text by ``parse``, numbers in the column's own unit; both within the range of the type."""

    def convert(value: Any) -> int:  # noqa: ANN401 - any JSON value
        if type(value) is Number:
            return integer(value, low, high, what)
        _expect(value, str, f"text or a number ({what})")
        try:
            ticks = parse(value)
        except ValueError as e:
            raise BadValue(TYPE, f"{e}, found {kind_of(value)}") from None
        if not low <= ticks <= high:
            raise BadValue(TYPE, f"{kind_of(value)} is out of range {what}")
        return ticks

    return convert


def _date(_data_type: pa.DataType) -> Convert:
    return _temporal(parse_date, -(1 << 31), (1 << 31) - 1, "date")


def _time(data_type: pa.DataType) -> Convert:
    unit = data_type.unit
    return _temporal(partial(parse_time, unit=unit), 0, _DAY_SECONDS * 10 ** UNITS[unit] - 1, str(data_type))


def _timestamp(data_type: pa.DataType) -> Convert:
    parse = partial(parse_timestamp, unit=data_type.unit, zoned=data_type.tz is not None)
    return _temporal(parse, -(1 << 63), (1 << 63) - 1, str(data_type))


def _duration(data_type: pa.DataType) -> Convert:
    return partial(_ranged, -(1 << 63), (1 << 63) - 1, str(data_type))


def _list(data_type: pa.DataType) -> Convert:
    item = nested(data_type.value_field)
    size = data_type.list_size if kinds.is_fixed_size_list(data_type) else None

    def convert(value: Any) -> list[Any]:  # noqa: ANN401 - any JSON value
        _expect(value, list, "an array")
        if size is not None and len(value) != size:
            raise BadValue(TYPE, f"expected an array of {size} items, found {len(value)}")
        at = 0
        out = []
        try:
            for at, each in enumerate(value):  # noqa: B007 - names the item in the error
                out.append(item(each))
        except BadValue as e:
            raise e.inside(at) from None
        return out

    return convert


def _struct(data_type: pa.DataType) -> Convert:
    return record([data_type.field(i) for i in range(data_type.num_fields)])


def record(fields: list[pa.Field]) -> Convert:
    """An object to a tuple of its fields' values; members without a field are ignored, missing ones are NULL."""
    steps = [(field.name, converter(field)) for field in fields]

    def convert(value: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any JSON value
        _expect(value, dict, "an object")
        out: list[Any] = []
        for name, convert_one in steps:
            found = value.get(name)
            if found is None:
                out.append(None)
                continue
            try:
                out.append(convert_one(found))
            except BadValue as e:
                raise e.inside(name) from None
        return tuple(out)

    return convert


def nested(field: pa.Field) -> Convert:
    """As :func:`converter`, for values that may be null."""
    convert = converter(field)
    return lambda value: None if value is None else convert(value)


def _map(data_type: pa.DataType) -> Convert:
    read_key, item = _key(data_type.key_field), nested(data_type.item_field)

    def convert(value: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - any JSON value
        _expect(value, dict, "an object (map)")
        out: dict[Any, Any] = {}
        for key, each in value.items():
            try:
                out[read_key(key)] = item(each)
            except BadValue as e:
                raise e.inside(key) from None
        return list(out.items())

    return convert


def _key(field: pa.Field) -> Convert:
    """A map's key from a member's name; numbers are read from their text."""
    convert = converter(field)
    if kinds.is_integer(field.type) or kinds.is_decimal(field.type):
        return lambda text: convert(Number(text) if NUMBER.fullmatch(text) else text)
    if kinds.is_boolean(field.type):
        return lambda text: convert({"true": True, "false": False}.get(text, text))
    return convert


def _none(_data_type: pa.DataType) -> Convert:
    def convert(value: Any) -> None:  # noqa: ANN401 - any JSON value
        raise BadValue(TYPE, f"expected null, found {kind_of(value)}")

    return convert


_MAKERS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], Convert]], ...]] = (
    (kinds.is_boolean, _boolean),
    (kinds.is_integer, _integer),
    (lambda t: kinds.is_float32(t) or kinds.is_float64(t), _float),
    (kinds.is_decimal, _decimal),
    (lambda t: kinds.is_string(t) or kinds.is_large_string(t) or kinds.is_string_view(t), _string),
    (lambda t: kinds.is_binary(t) or kinds.is_large_binary(t) or kinds.is_fixed_size_binary(t) or kinds.is_binary_view(t), _binary),
    (kinds.is_date32, _date),
    (kinds.is_time, _time),
    (kinds.is_timestamp, _timestamp),
    (kinds.is_duration, _duration),
    (kinds.is_struct, _struct),
    (kinds.is_map, _map),
    (is_list, _list),
    (kinds.is_null, _none),
)

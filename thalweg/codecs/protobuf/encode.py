"""Rows of Python values, as Arrow gives them, to Protobuf payloads with or without framing; for quickstart and test data."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format, message_factory

from thalweg.arrow.rows import bounded
from thalweg.arrow.temporal import UNITS
from thalweg.codecs.protobuf.descriptors import DescriptorError, messages_of
from thalweg.codecs.protobuf.named import before_message, naming_of
from thalweg.codecs.protobuf.oracle import NANOS
from thalweg.codecs.protobuf.table import message_of, registered, table_of_message
from thalweg.errors import UserError
from thalweg.ports.codec import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from thalweg.codecs.protobuf.shapes import Shape
    from thalweg.ports.codec import DecodeRequest
    from thalweg.ports.schemas import SchemaRegistry


def row_encoder(request: DecodeRequest, registry: SchemaRegistry | None) -> Callable[[dict[str, Any]], bytes]:
    """What writes one row by the table's message. Raises UserError for a row that does not fit it."""
    found = registered(request, registry)
    if found is None or registry is None:
        raise UserError(f"format '{request.format}' needs its schema to write data")
    try:
        message = message_of(request, messages_of(found))
        table = table_of_message(request, message)
    except DescriptorError as e:
        raise UserError(f"the Protobuf schema cannot be read: {e}") from None
    prefix = b""
    if request.format != "protobuf":
        subject = subject_of(request)
        assert subject is not None
        schema_id = found.id if isinstance(found.id, int) else registry.register(subject, found)
        prefix = b"\0" + schema_id.to_bytes(4, "big") + before_message(naming_of(request), message)
    make = message_factory.GetMessageClass(message)

    def encode(row: dict[str, Any]) -> bytes:
        out = make()
        try:
            _fill(out, table.shapes, row)
            return prefix + bytes(out.SerializeToString(deterministic=True))
        except (TypeError, ValueError, AttributeError, json_format.ParseError) as e:
            raise UserError(f"a row cannot be written as {table.form.name}: {e}") from None

    return encode


def _fill(out: Message, shapes: tuple[Shape, ...], row: dict[str, Any]) -> None:
    """Set the fields of a message that are not NULL. Raises ValueError naming the column and its value."""
    for shape in shapes:
        value = row.get(shape.name)
        if value is None:
            continue
        try:
            _set(out, shape, value)
        except (TypeError, ValueError, AttributeError, json_format.ParseError) as e:
            raise ValueError(f"column '{shape.name}': {bounded(repr(value))} does not fit: {bounded(str(e))}") from None


def _set(out: Message, shape: Shape, value: Any) -> None:  # noqa: ANN401 - whatever Arrow gives as Python
    """Set one field of a message."""
    field = out.DESCRIPTOR.fields_by_number.get(shape.part.number)
    if field is None:
        extension = out.DESCRIPTOR.file.pool.FindExtensionByNumber(out.DESCRIPTOR, shape.part.number)
        _extend(out, extension, shape, value)
    elif shape.kind == "map":
        _map(getattr(out, field.name), shape, value)
    elif shape.kind == "list":
        _list(getattr(out, field.name), shape.children[0], value)
    elif field.message_type is not None:
        found = getattr(out, field.name)
        found.SetInParent()
        _message(found, shape, value)
    else:
        setattr(out, field.name, _scalar(shape, value))


def _extend(out: Message, extension: Any, shape: Shape, value: Any) -> None:  # noqa: ANN401 - the library has no types
    """Set an extension."""
    if shape.kind == "list":
        _list(out.Extensions[extension], shape.children[0], value)
    elif extension.message_type is not None:
        out.Extensions[extension].SetInParent()
        _message(out.Extensions[extension], shape, value)
    else:
        out.Extensions[extension] = _scalar(shape, value)


def _map(out: Any, shape: Shape, value: Any) -> None:  # noqa: ANN401 - the library has no types
    """Set a map from pairs or a dict."""
    item = shape.children[1]
    for key, found in value.items() if isinstance(value, dict) else value:
        if item.part.form is not None:
            _message(out[key], item, found)
        else:
            out[key] = _scalar(item, found)


def _list(out: Any, item: Shape, values: list[Any]) -> None:  # noqa: ANN401 - the library has no types
    """Append to a repeated field."""
    for value in values:
        if item.part.form is not None:
            _message(out.add(), item, value)
        else:
            out.append(_scalar(item, value))


def _message(out: Message, shape: Shape, value: Any) -> None:  # noqa: ANN401 - whatever Arrow gives as Python
    """A message of any kind."""
    if shape.kind == "struct":
        _fill(out, shape.children, value)
    elif shape.kind == "wrapper":
        out.value = value
    elif shape.kind == "json":
        json_format.ParseDict(json.loads(value), out)
    else:
        nanos = _nanos(value, shape.unit)
        sign = -1 if nanos < 0 and shape.kind == "duration" else 1
        seconds, rest = divmod(sign * nanos, NANOS)
        out.seconds, out.nanos = sign * seconds, sign * rest


def _nanos(value: Any, unit: str) -> int:  # noqa: ANN401 - a moment, a span, or a number in the unit
    """Nanoseconds of a timestamp since 1970, or of a duration."""
    if isinstance(value, dt.datetime):
        value -= dt.datetime(1970, 1, 1, tzinfo=None if value.tzinfo is None else dt.UTC)
    if isinstance(value, dt.timedelta):
        return ((value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds) * 1_000
    return int(value) * int(10 ** (9 - UNITS[unit]))


def _scalar(shape: Shape, value: Any) -> Any:  # noqa: ANN401 - whatever Arrow gives as Python
    """A value without parts; an enum by name or number."""
    if shape.kind != "enum":
        return value
    assert shape.part.enum is not None
    number = shape.part.enum.numbers.get(value)
    return int(value) if number is None else number

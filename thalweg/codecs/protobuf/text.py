"""Messages as JSON text: for what lies too deep, for what is declared as JSON, and for Struct, Value and ListValue."""

from __future__ import annotations

import base64
import json
import math
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor

from thalweg.arrow.temporal import format_timestamp
from thalweg.codecs.protobuf.oracle import NANOS, VALUE

if TYPE_CHECKING:
    from thalweg.codecs.protobuf.forms import Form, Part
    from thalweg.codecs.protobuf.oracle import State

_FLOATS: Final = frozenset({FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT})
_NULL, _NUMBER, _TEXT, _BOOL, _STRUCT, _LIST = range(1, 7)
"""Field numbers of ``google.protobuf.Value``."""


def field_text(part: Part, value: Any) -> str:  # noqa: ANN401 - whatever the field holds
    """A field's value, repeated or not; of a map the keys are sorted, so that equal maps are equal text whoever wrote them."""
    if part.is_map:
        assert part.form is not None
        kind = part.form.parts[VALUE]
        return "{" + ",".join(f"{_key(k)}:{one_text(kind, v)}" for k, v in sorted(value.items(), key=itemgetter(0))) + "}"
    if part.repeated:
        return "[" + ",".join(one_text(part, v) for v in value) + "]"
    return one_text(part, value)


def one_text(part: Part, value: Any) -> str:  # noqa: ANN401 - whatever the field holds
    """One value."""
    if part.form is not None:
        return _message(part.form, value)
    if part.enum is not None:
        name = part.enum.names.get(value)
        return str(value) if name is None else json.dumps(name)
    if part.type == FieldDescriptor.TYPE_BYTES:
        return f'"{base64.b64encode(value).decode("ascii")}"'
    if part.type in _FLOATS:
        return _float(value)
    return json.dumps(value, ensure_ascii=False)


def _message(form: Form, state: State) -> str:
    """A message: its set fields by name; unset ones, and those that are as good as unset, are left out."""
    if form.special == "wrapper":
        part = form.parts[0]
        return one_text(part, part.default if state[0] is None else state[0])
    if form.special in {"timestamp", "duration"}:
        seconds, nanos = state[0] or 0, state[1] or 0
        if form.special == "timestamp":
            return f'"{format_timestamp(seconds * NANOS + nanos, "ns", zoned=True)}"'
        return f'"{_duration(seconds * NANOS + nanos)}"'
    if form.special == "json":
        return _json(form, state)
    members = [f"{json.dumps(p.name)}:{field_text(p, state[p.index])}" for p in form.parts if _is_set(p, state[p.index])]
    return "{" + ",".join(members) + "}"


def _is_set(part: Part, value: Any) -> bool:  # noqa: ANN401 - whatever the field holds
    """Whether a field is worth a word."""
    if value is None or (part.repeated and not value):
        return False
    return part.repeated or part.presence or value != part.default or (part.type in _FLOATS and math.copysign(1, value) < 0)


def _json(form: Form, state: State) -> str:
    """A Struct, a Value or a ListValue as what it stands for."""
    if form.name.endswith(".Value"):
        for part in form.parts:
            found = state[part.index]
            if found is not None:
                return "null" if part.number == _NULL else one_text(part, found)
        return "null"
    part = form.parts[0]
    empty: Any = {} if part.is_map else []
    return field_text(part, empty if state[0] is None else state[0])


def _key(key: Any) -> str:  # noqa: ANN401 - text, a number or a boolean
    """A map's key as a member's name."""
    if isinstance(key, str):
        return json.dumps(key, ensure_ascii=False)
    return f'"{str(key).lower()}"'


def _float(value: float) -> str:
    """A number; what JSON has no number for as text."""
    if math.isfinite(value):
        return repr(value).replace("e+", "e")
    return '"NaN"' if math.isnan(value) else f'"{"-" if value < 0 else ""}Infinity"'


def _duration(nanos: int) -> str:
    """Seconds with as many digits as there are."""
    whole, rest = divmod(abs(nanos), NANOS)
    digits = f".{rest:09}".rstrip("0") if rest else ""
    return f"{'-' if nanos < 0 else ''}{whole}{digits}s"

"""The reference decoder: one payload to the values of its fields, exactly as the specification says, whatever it costs.

A message is a list with one entry a field, None where the field is unset: a number, text, bytes, a list, a dict for a map, or a list
again for a message. Fields come in any order and any number of times: the last scalar counts, messages merge, repeated fields grow.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from google.protobuf.descriptor import FieldDescriptor

from thalweg.arrow.rows import LIMIT, MALFORMED, TYPE, BadValue
from thalweg.codecs.protobuf.forms import DELIMITED, END_GROUP, VARINT, Form, Part
from thalweg.codecs.protobuf.wire import FIXED, VARINTS, deeper, read_length, read_tag, read_varint, skip

State: TypeAlias = list[Any]
KEY, VALUE, DROPPED = range(3)
"""What an entry's state holds besides: whether its last value was an enum number that a closed enum does not have."""
NANOS: Final = 1_000_000_000
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
MOST_SECONDS: Final = 315_576_000_000


class Parser:
    """Reads payloads of one message type."""

    def __init__(self, form: Form, max_items: int) -> None:
        """``max_items``: messages in repeated fields and maps that one payload may hold; an empty one takes two bytes, its columns many."""
        self._form = form
        self._max_items = max_items
        self._items = 0

    def parse(self, src: bytes, start: int = 0) -> State:
        """The fields of ``src[start:]``. Raises BadValue."""
        self._items = 0
        state = blank(self._form)
        self._message(self._form, src, start, len(src), 0, state, 0)
        check(self._form, state)
        return state

    def _message(self, form: Form, src: bytes, p: int, end: int, level: int, state: State, group: int) -> int:
        """Reads fields into ``state`` until the end, or until the end of ``group``; the next position."""
        while p < end:
            tag, p = read_tag(src, p, end)
            number, kind = tag >> 3, tag & 7
            if kind == END_GROUP:
                if number != group:
                    raise BadValue(MALFORMED, f"group {number} ends but did not begin")
                return p
            part = form.by_number.get(number)
            if part is None or not (kind == part.wire_type or (kind == DELIMITED and part.packable)):
                p = skip(src, p, end, tag, level)
                continue
            try:
                p = self._field(part, src, p, end, level, state, packed=kind != part.wire_type)
            except BadValue as e:
                raise e.inside(part.name) from None
        if group:
            raise BadValue(MALFORMED, f"group {group} does not end")
        return p

    def _field(self, part: Part, src: bytes, p: int, end: int, level: int, state: State, *, packed: bool) -> int:
        """One occurrence of a field; the next position."""
        if part.form is not None:
            return self._nested(part, part.form, src, p, end, level, state)
        if packed:
            p, stop = read_length(src, p, end)
            values = self._list(part, state)
            while p < stop:
                value, p = scalar(part, src, p, stop)
                if _is_known(part, value):
                    values.append(value)
            return p
        value, p = scalar(part, src, p, end)
        if not _is_known(part, value):
            if part.in_entry:
                state[DROPPED] = True
        elif part.repeated:
            self._list(part, state).append(value)
        else:
            _set(part, state, value)
        return p

    def _nested(self, part: Part, form: Form, src: bytes, p: int, end: int, level: int, state: State) -> int:
        """A message, a group, or an entry of a map."""
        inside = deeper(level)
        stop, group = end, part.number
        if part.type != FieldDescriptor.TYPE_GROUP:
            p, stop = read_length(src, p, end)
            group = 0
        if not part.repeated:
            found = state[part.index]
            if found is None:
                found = blank(form)
                _set(part, state, found)
            return self._message(form, src, p, stop, inside, found, group)
        self._items += 1
        if self._items > self._max_items:
            raise BadValue(LIMIT, f"the payload holds more than {self._max_items} messages in repeated fields")
        found = blank(form)
        p = self._message(form, src, p, stop, inside, found, group)
        if part.is_map:
            self._entry(part, form, found, state)
        else:
            self._list(part, state).append(found)
        return p

    def _entry(self, part: Part, form: Form, entry: State, state: State) -> None:
        """An entry of a map: what it lacks is default, a repeated key's last value counts."""
        if entry[DROPPED]:
            return
        pairs = state[part.index]
        if pairs is None:
            pairs = state[part.index] = {}
        key, value = form.parts
        inner = blank(value.form) if value.form is not None else value.default
        pairs[entry[KEY] if entry[KEY] is not None else key.default] = entry[VALUE] if entry[VALUE] is not None else inner

    def _list(self, part: Part, state: State) -> list[Any]:
        """The values of a repeated field so far."""
        if state[part.index] is None:
            state[part.index] = []
        found: list[Any] = state[part.index]
        return found


def blank(form: Form) -> State:
    """A message with nothing set."""
    return [None, None, False] if form.is_entry else [None] * len(form.parts)


def scalar(part: Part, src: bytes, p: int, end: int) -> tuple[Any, int]:
    """One value that is no message, and the next position."""
    if part.wire_type == VARINT:
        number, p = read_varint(src, p, end)
        return VARINTS[part.type](number), p
    if part.wire_type == DELIMITED:
        p, stop = read_length(src, p, end)
        data = src[p:stop]
        return (data if part.type == FieldDescriptor.TYPE_BYTES else _text(data)), stop
    layout = FIXED[part.type]
    if end - p < layout.size:
        raise BadValue(MALFORMED, "the bytes end inside a number")
    return layout.unpack_from(src, p)[0], p + layout.size


def _text(data: bytes) -> str:
    """Text must be UTF-8, also where the schema would not ask for it: a column of text holds nothing else."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise BadValue(MALFORMED, f"the text is not UTF-8 at byte {e.start}") from None


def _is_known(part: Part, value: Any) -> bool:  # noqa: ANN401 - any scalar
    """False for a number that a closed enum does not have: the field counts as unknown then."""
    return part.enum is None or not part.enum.closed or value in part.enum.names


def _set(part: Part, state: State, value: Any) -> None:  # noqa: ANN401 - any value
    """Set a field; the other members of its oneof are unset."""
    for other in part.oneof:
        state[other] = None
    state[part.index] = value
    if part.in_entry and part.index == VALUE:
        state[DROPPED] = False


def check(form: Form, state: State) -> None:
    """What can only be said of a whole message: required fields, and the ranges of times. Raises BadValue."""
    if form.special in {"timestamp", "duration"}:
        (_timestamp if form.special == "timestamp" else _duration)(state[0] or 0, state[1] or 0)
    for part in form.parts:
        value = state[part.index]
        if value is None:
            if part.required:
                raise BadValue(MALFORMED, f"required field '{part.name}' is missing")
            continue
        if part.form is None:
            continue
        inner: list[tuple[int | None, Form, State]] = [(None, part.form, value)]
        if part.is_map:
            form_of_value = part.form.parts[VALUE].form
            inner = [] if form_of_value is None else [(None, form_of_value, v) for v in value.values()]
        elif part.repeated:
            inner = [(i, part.form, v) for i, v in enumerate(value)]
        for number, sub, found in inner:
            try:
                check(sub, found)
            except BadValue as e:
                raise (e if number is None else e.inside(number)).inside(part.name) from None


def _timestamp(seconds: int, nanos: int) -> None:
    """From year 1 to 9999, nanoseconds counted upwards."""
    if not FIRST_SECOND <= seconds <= LAST_SECOND or not 0 <= nanos < NANOS:
        raise BadValue(TYPE, f"{seconds} s and {nanos} ns are no timestamp of the years 0001 to 9999")


def _duration(seconds: int, nanos: int) -> None:
    """About 10,000 years either way; both numbers have one sign."""
    if abs(seconds) > MOST_SECONDS or abs(nanos) >= NANOS or seconds * nanos < 0:
        raise BadValue(TYPE, f"{seconds} s and {nanos} ns are no duration")



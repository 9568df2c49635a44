"""Parsed messages to what Arrow stores, column by column; counts what was cut on the way, of rows that turn out good."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from thalweg.arrow.columns import Column, column_of
from thalweg.arrow.rows import TYPE, BadValue
from thalweg.arrow.temporal import UNITS
from thalweg.codecs.protobuf.oracle import NANOS, State
from thalweg.codecs.protobuf.text import field_text, one_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from thalweg.codecs.protobuf.forms import Part
    from thalweg.codecs.protobuf.shapes import Shape

_MOST: Final = (1 << 63) - 1


class Storing:
    """Makes functions that turn values into what a column stores."""

    def __init__(self) -> None:
        """Nothing counted yet."""
        self.cut: Counter[str] = Counter()
        """Messages that became JSON text because they lie too deep."""
        self.finer = 0
        """Times with digits finer than their column's unit."""
        self._seen: list[str] = []
        self._counts = True

    def root(self, shapes: Sequence[Shape], wanted: Collection[str] | None) -> Callable[[State], tuple[Any, ...]]:
        """Stores a row. What became text counts where the row is good, in the columns that somebody reads (``wanted``; None for all)."""
        members = []
        for shape in shapes:
            self._counts = wanted is None or shape.name in wanted
            members.append((shape.part.index, shape.name, self._field(shape)))
        store = _members(members)

        def row(state: State) -> tuple[Any, ...]:
            self._seen.clear()
            out = store(state)
            if self._seen:
                self.cut.update(self._seen)
            return out

        return row

    def _struct(self, shapes: Sequence[Shape]) -> Callable[[State], tuple[Any, ...]]:
        """Stores the fields of a message."""
        return _members([(s.part.index, s.name, self._field(s)) for s in shapes])

    def _field(self, shape: Shape) -> Callable[[Any], Any]:
        """Stores a field, set or not."""
        if shape.kind == "list":
            item = self._one(shape.children[0])
            return lambda values: [_at(i, item, v) for i, v in enumerate(values or ())]
        if shape.kind == "map":
            key, value = self._one(shape.children[0]), self._one(shape.children[1])
            return lambda pairs: [(key(k), value(v)) for k, v in (pairs or {}).items()]
        if shape.whole:
            empty: Any = {} if shape.part.is_map else []
            return lambda value: field_text(shape.part, empty if value is None else value)
        one = self._one(shape)
        unset = None if shape.unset is None else one(shape.unset)
        return lambda value: unset if value is None else one(value)

    def _one(self, shape: Shape) -> Callable[[Any], Any]:
        """Stores one value."""
        if shape.kind == "enum":
            return _namer(shape.part)
        if shape.kind == "struct":
            return self._struct(shape.children)
        if shape.kind == "json":
            return self._json(shape)
        if shape.kind == "wrapper":
            assert shape.part.form is not None
            inner = shape.part.form.parts[0].default
            return lambda state: inner if state[0] is None else state[0]
        if shape.kind in {"timestamp", "duration"}:
            return self._time(shape)
        return lambda value: value

    def _json(self, shape: Shape) -> Callable[[Any], str]:
        """Text; a message that lies too deep is noted."""
        form = shape.part.form
        cut = form.name if form is not None and shape.cut and self._counts else None

        def store(state: Any) -> str:  # noqa: ANN401 - a message's state
            if cut is not None:
                self._seen.append(cut)
            return one_text(shape.part, state)

        return store

    def _time(self, shape: Shape) -> Callable[[State], int]:
        """Ticks of the unit."""
        unit = shape.unit
        scale = 10 ** (9 - UNITS[unit])

        def store(state: State) -> int:
            nanos = (state[0] or 0) * NANOS + (state[1] or 0)
            ticks: int = abs(nanos) // scale if shape.kind == "duration" else nanos // scale
            if shape.kind == "duration" and nanos < 0:
                ticks = -ticks
            if abs(ticks) > _MOST:
                raise BadValue(TYPE, f"{state[0] or 0} s do not fit a column that counts {unit}")
            if nanos % scale:
                self.finer += 1
            return ticks

        return store


def assembled(shape: Shape) -> Column:
    """How the values of a column are assembled: enums by name, each batch with the names that it has."""
    if shape.kind in {"struct", "list", "map"}:
        return Column(shape.type, tuple(assembled(c) for c in shape.children))
    return column_of(shape.type)


def _members(members: Sequence[tuple[int, str, Callable[[Any], Any]]]) -> Callable[[State], tuple[Any, ...]]:
    """Stores fields in turn; a fault knows its field."""

    def store(state: State) -> tuple[Any, ...]:
        out = []
        for index, name, each in members:
            try:
                out.append(each(state[index]))
            except BadValue as e:
                raise e.inside(name) from None
        return tuple(out)

    return store


def _namer(part: Part) -> Callable[[int], str]:
    """The name of an enum's number; a number that it does not have is its own name."""
    assert part.enum is not None
    names = part.enum.names
    return lambda number: names.get(number) or str(number)


def _at(index: int, store: Callable[[Any], Any], value: Any) -> Any:  # noqa: ANN401 - whatever is stored
    """One item, whose faults know its place."""
    try:
        return store(value)
    except BadValue as e:
        raise e.inside(index) from None



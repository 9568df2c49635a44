"""The program of a JSON decode kernel: the nodes of a declared schema, and how their names are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.types as kinds

from thalweg.arrow.columns import TYPE_KEY, is_list
from thalweg.arrow.temporal import UNITS
from thalweg.codecs.json.values import Unsupported
from thalweg.kernels import json_ops as op
from thalweg.kernels import program as p
from thalweg.kernels.json_keys import FACTOR, TAIL_FACTOR
from thalweg.kernels.program import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import pyarrow as pa

    from thalweg.arrow.slots import Slots

_INTEGERS: Final = {8: op.INT8, 16: op.INT16, 32: op.INT32, 64: op.INT64}
_UNSIGNED: Final = {8: op.UINT8, 16: op.UINT16, 32: op.UINT32, 64: op.UINT64}
_MASK: Final = (1 << 64) - 1
_SPECIAL: Final = frozenset(map(chr, range(32))) | {'"', "\\"}
"""Characters that a name holds in escaped form only, so that its bytes never stand in a document."""
_WORD: Final = 8


class Emitter:
    """Writes the nodes of a schema; the columns have their numbers already."""

    def __init__(self, prefix: str) -> None:
        """Names with ``prefix`` are no members of the outermost object."""
        self.prefix = prefix
        self._rows: list[list[int]] = []
        self._nodes: list[list[int]] = []
        self._words: list[int] = []
        self._table: list[int] = []
        self.paths: list[str] = []
        self.levels = 1

    def emit(self, fields: Sequence[pa.Field], slots: Sequence[Slots | None]) -> None:
        """All nodes of a row; a column without slots is read and dropped. Raises Unsupported."""
        self._row(op.OBJECT, None, "")
        self._members(0, fields, slots, "", 1)

    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """Program int64[m, WORDS], nodes int64[m, NODE], words uint64[], table int64[]."""
        program = np.array(self._rows, np.int64).reshape(-1, WORDS)
        nodes, table = np.array(self._nodes, np.int64).reshape(-1, op.NODE), np.array([*self._table, -1], np.int64)
        program[:, p.P_JUMP] *= WORDS
        for numbers in (nodes[:, op.N_NEXT], nodes[:, op.N_FIRST], table):
            numbers[numbers > 0] *= op.NODE
        return program, nodes, np.array([*self._words, 0], np.uint64), table

    def _row(self, code: int, slots: Slots | None, path: str, arg: int = 0) -> int:
        """A node before its subtree and its name are known."""
        row = [0] * WORDS
        row[p.P_OP], row[p.P_ARG] = code, arg - (1 << 64) if arg >= 1 << 63 else arg
        row[p.P_MASK], row[p.P_COLUMN] = (0, -1) if slots is None or code == op.NOTHING else (-1, slots.number)
        row[p.P_JUMP] = len(self._rows) + 1
        self._rows.append(row)
        node = [0] * op.NODE
        node[op.N_NEXT] = node[op.N_FIRST] = node[op.N_SEEN] = -1
        self._nodes.append(node)
        self.paths.append(path)
        return len(self._rows) - 1

    def _members(self, at: int, fields: Sequence[pa.Field], slots: Sequence[Slots | None], path: str, level: int) -> None:
        """The members of an object, and what finds them."""
        names = [f.name for f in fields]
        if len(set(names)) < len(names):
            raise Unsupported("an object with two members of one name")
        members = {}
        for field, column in zip(fields, slots, strict=True):
            members[field.name] = self._value(field, column, f"{path}.{field.name}".lstrip("."), level)
            self._name(members[field.name], field.name)
        if at == 0:
            members = {name: t for name, t in members.items() if not name.startswith(self.prefix)}
        self._rows[at][p.P_JUMP] = len(self._rows)
        node = self._nodes[at]
        node[op.N_MEMBERS] = len(fields)
        node[op.N_HASH], node[op.N_BITS] = len(self._table), max(2, (2 * len(members)).bit_length())
        self._table += hash_table({name.encode(): t for name, t in members.items()}, node[op.N_BITS])
        plain = [t for name, t in members.items() if not _SPECIAL & set(name)]
        for before, t in zip(plain, plain[1:] + plain[:1], strict=True):
            self._nodes[before][op.N_NEXT] = t
        node[op.N_FIRST] = plain[0] if plain else -1

    def _name(self, t: int, name: str) -> None:
        """The words of a name with the quote after it."""
        raw = name.encode() + b'"'
        self._nodes[t][op.N_WORD], self._nodes[t][op.N_LENGTH] = len(self._words), len(raw)
        for at in range(0, len(raw), _WORD):
            piece = raw[at : at + _WORD]
            self._words.append(int.from_bytes(piece, "little"))

    def _value(self, field: pa.Field, slots: Slots | None, path: str, level: int) -> int:
        """The node of a value, and those below it."""
        data_type = field.type
        below = slots.children if slots is not None else ()
        meaning = (field.metadata or {}).get(TYPE_KEY)
        if meaning in {b"json", b"uuid"}:
            return self._row(op.RAW if meaning == b"json" else op.UUID, slots, path)
        if kinds.is_struct(data_type):
            t = self._open(op.OBJECT, slots, path, level)
            fields = [data_type.field(i) for i in range(data_type.num_fields)]
            self._members(t, fields, below or [None] * len(fields), path, level + 1)
            return t
        if kinds.is_map(data_type):
            t = self._open(op.MAP, slots, path, level)
            key = op.TEXT if _is_text(data_type.key_field) else op.OTHER_KEY
            self._row(key, below[0] if below else None, f"{path}{{key}}")
            self._value(data_type.item_field, below[1] if below else None, f"{path}{{}}", level + 1)
            self._rows[t][p.P_JUMP] = len(self._rows)
            return t
        if is_list(data_type):
            t = self._open(op.LIST, slots, path, level)
            self._value(data_type.value_field, below[0] if below else None, f"{path}[]", level + 1)
            self._rows[t][p.P_JUMP] = len(self._rows)
            return t
        code, arg = scalar(data_type)
        return self._row(code, slots, path, arg)

    def _open(self, code: int, slots: Slots | None, path: str, level: int) -> int:
        """A node that holds others."""
        self.levels = max(self.levels, level + 1)
        return self._row(code, slots, path)


def scalar(data_type: pa.DataType) -> tuple[int, int]:
    """Op and argument of a type without parts. Raises Unsupported."""
    if kinds.is_integer(data_type):
        signed = kinds.is_signed_integer(data_type)
        bits = data_type.bit_width
        return (_INTEGERS if signed else _UNSIGNED)[bits], (1 << bits - signed) - 1
    if kinds.is_decimal(data_type):
        parts = data_type.bit_width // 8 * op.DECIMAL_WIDTH, data_type.precision * op.DECIMAL_PRECISION, data_type.scale + op.DECIMAL_SCALE
        return op.DECIMAL, sum(parts)
    if kinds.is_timestamp(data_type):
        return op.STAMP, UNITS[data_type.unit] + (op.ZONED if data_type.tz is not None else 0)
    if kinds.is_time(data_type):
        return op.TIME, UNITS[data_type.unit]
    if kinds.is_fixed_size_binary(data_type):
        return op.FIXED, data_type.byte_width
    for matches, code, arg in _SCALARS:
        if matches(data_type):
            return code, arg
    raise Unsupported(str(data_type))


def hash_table(names: dict[bytes, int], bits: int) -> list[int]:
    """Open addressing: the node of each name at its hash or after it, -1 elsewhere."""
    table = [-1] * (1 << bits)
    for name, t in names.items():
        at = digest(name, bits)
        while table[at] >= 0:
            at = (at + 1) & ((1 << bits) - 1)
        table[at] = t
    return table


def digest(name: bytes, bits: int) -> int:
    """What ``kernels.json_keys.digest`` computes."""
    first = int.from_bytes(name[:_WORD], "little")
    last = len(name) + (int.from_bytes(name[-_WORD:], "little") * int(TAIL_FACTOR) if len(name) >= _WORD else 0)
    return (((first * int(FACTOR)) ^ last) * int(TAIL_FACTOR) & _MASK) >> 64 - bits


def _is_text(field: pa.Field) -> bool:
    """Whether a map's keys are text as it stands."""
    t = field.type
    return (field.metadata or {}).get(TYPE_KEY) is None and bool(kinds.is_string(t) or kinds.is_large_string(t) or kinds.is_string_view(t))


_SCALARS: Final = (
    (kinds.is_boolean, op.BOOLEAN, 0),
    (kinds.is_float64, op.DOUBLE, 0),
    (kinds.is_float32, op.FLOAT, 0),
    (kinds.is_string, op.TEXT, 0),
    (kinds.is_large_string, op.TEXT, 0),
    (kinds.is_string_view, op.TEXT, 0),
    (kinds.is_binary, op.BINARY, 0),
    (kinds.is_large_binary, op.BINARY, 0),
    (kinds.is_binary_view, op.BINARY, 0),
    (kinds.is_date32, op.DATE, 0),
    (kinds.is_duration, op.INT64, (1 << 63) - 1),
    (kinds.is_null, op.NOTHING, 0),
)

"""Random schemas and documents for the JSON kernel: formatting, escapes, values that nearly fit, and damage."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as kinds

from thalweg.arrow.columns import JSON_TEXT, TYPE_KEY, UUID, is_list

if TYPE_CHECKING:
    from random import Random

ALPHABETS = (
    "abcXYZ019 _-/", 'ab"\\/\n\t\r\b\f\x01\x1f\x7f', "aéß€中文😀𝄞\uffff\u0800\x80\u07ff\ud7ff\ue000\U0010ffff", "abcdefgh",
)  # fmt: skip
SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", "/": "\\/"}
NUMBERS = (
    "0", "-0", "-0.0", "1.0", "1e3", "10e-1", "1.5", "0.1", "1E400", "-1e400", "1e-400", "0e999999", "0e-999999999999999999999", "1e99999999999999999999",
    "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "18446744073709551615", "18446744073709551616", "99999999999999999999", "9007199254740993", "9007199254740992.5",
    "12345678901.12345678901", "0.00000000000000000000000000001", "1000000000000000000000000000000e-30", "123456789012345678901234567890.5",
    "3.4028235e38", "3.4028236e38", "3.40282357e38", "16777217", "16777216.000000000000000001", "1e-45", "7e-46", "1.17549435e-38", "4.9e-324", "2.4e-324",
    "1.7976931348623157e308", "1.7976931348623159e308", "2.2250738585072011e-308", "86399", "86400", "86399999999", "127", "128", "-129", "255", "256", "65536",
)  # fmt: skip
NO_NUMBERS = ("01", "-", "--1", "+1", "1.", ".5", "1e", "1e+", "0x1", "00.5", "NaN", "Infinity", "-Infinity", "1.e3", "-01", "tru", "nul", "True")
SCALARS = (
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(),
    pa.string(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary(3), pa.binary(4), pa.binary(8),
    pa.decimal128(5, 2), pa.decimal128(20, 10), pa.decimal128(38, 0), pa.decimal128(10, -2), pa.decimal256(76, 30), pa.decimal256(40, 2), pa.date32(),
    pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us"),
    pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.timestamp("ns", "Europe/Oslo"), pa.duration("ms"), pa.null(),
)  # fmt: skip
KEYS = (pa.string(), pa.string(), pa.string(), pa.large_string(), pa.int32(), pa.bool_(), pa.date32())
NAMES = (
    "a", "b", "id", "x_1", "exact8ch", "seven77", "a name longer than sixteen bytes", "", "ключ", 'e"q\\\n', "\u0000", "a\tb", "_hidden", "same prefix 1",
    "same prefix 2", "😀", "customer", "order_id", "lines", "qty", "price", "y" * 40,
)  # fmt: skip


class Maker:
    """Makes schemas."""

    def __init__(self, random: Random) -> None:
        """All choices come from ``random``."""
        self._random = random

    def schema(self) -> pa.Schema:
        """A few columns."""
        return pa.schema(self._fields(self._random.choice([0, 1, 3, 8, 14]), 0))

    def _fields(self, count: int, depth: int) -> list[pa.Field]:
        names = self._random.sample(NAMES, count)
        return [self._field(n, depth) for n in names if depth or not n.startswith("_")]

    def _field(self, name: str, depth: int) -> pa.Field:
        r = self._random.random()
        if r < 0.05:
            return pa.field(name, pa.string(), metadata=JSON_TEXT)
        if r < 0.1:
            return pa.field(name, pa.binary(16), metadata=UUID)
        return pa.field(name, self._type(depth))

    def _type(self, depth: int) -> pa.DataType:
        r = self._random.random()
        if depth < 3 and r < 0.15:
            return pa.struct(self._fields(self._random.choice([0, 1, 2, 5]), depth + 1))
        if depth < 3 and r < 0.3:
            make = self._random.choice([pa.list_, pa.list_, pa.list_, pa.large_list])
            return make(self._field("item", depth + 1))
        if depth < 3 and r < 0.4:
            return pa.map_(self._random.choice(KEYS), self._field("value", depth + 1))
        return self._random.choice(SCALARS)


class Writer:
    """Makes documents, each in a manner of its own."""

    def __init__(self, random: Random) -> None:
        """All choices come from ``random``."""
        self._random = random
        self._tight, self._escapes, self._odd, self._keep = 1.0, 0.0, 0.0, 1.0

    def document(self, schema: pa.Schema) -> bytes:
        """One payload, most of them good."""
        r = self._random
        self._tight, self._escapes = r.choice([1, 1, 0.7, 0]), r.choice([0, 0, 0.02, 0.3])
        self._odd, self._keep = r.choice([0, 0, 0, 0.05]), r.choice([1, 0.9, 0.5, 0.1])
        text = self._blank() + self._object(list(schema)) + self._blank()
        if r.random() < 0.01:
            text = r.choice(["", " ", "[]", "null", "1", '"a"', "\ufeff{}", "{", "}", "[{}]", "{}{}", "[" * 70, "[" * 70 + "]" * 70, "\0{}"])
        return text.encode("utf-8", "surrogatepass")

    def _blank(self) -> str:
        return "" if self._random.random() < self._tight else self._random.choice(["", " ", "\n", "\t \r\n", "  "])

    def _joined(self, parts: list[str], ends: str) -> str:
        return ends[0] + self._blank() + ",".join(self._blank() + p + self._blank() for p in parts) + ends[1]

    def _object(self, fields: list[pa.Field]) -> str:
        r = self._random
        chosen: list[pa.Field | None] = [f for f in fields if r.random() < self._keep]
        if r.random() < 0.3:
            r.shuffle(chosen)
        while r.random() < 0.15:
            chosen.insert(r.randrange(len(chosen) + 1), None)
        if chosen and r.random() < 0.06:
            chosen.insert(r.randrange(len(chosen) + 1), r.choice(chosen))
        members = []
        for field in chosen:
            name = r.choice(["unknown", "x ", "exact8c", "_reserved" if r.random() < 0.1 else "u", self.text()]) if field is None else field.name
            members.append(self._member(name, self._any(0) if field is None else self._value(field)))
        return self._joined(members, "{}")

    def _member(self, name: str, value: str) -> str:
        return self.string(name) + self._blank() + ":" + self._blank() + value

    def _value(self, field: pa.Field) -> str:
        r = self._random
        meaning = (field.metadata or {}).get(TYPE_KEY)
        if r.random() < 0.06:
            return "null"
        if r.random() < self._odd or meaning == b"json":
            return self._any(0)
        if meaning == b"uuid":
            text = f"{r.getrandbits(128):032x}"
            return self.string(self._spoiled("-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])))
        return self._plain(field.type)

    def _plain(self, t: pa.DataType) -> str:
        r = self._random
        if kinds.is_struct(t):
            return self._object([t.field(i) for i in range(t.num_fields)])
        if kinds.is_map(t):
            return self._map(t)
        if is_list(t):
            return self._joined([self._value(t.value_field) for _ in range(r.choice([0, 0, 1, 2, 3, 5, 17]))], "[]")
        return self._scalar(t)

    def _map(self, t: pa.DataType) -> str:
        r = self._random
        keys = [self._key(t.key_type) for _ in range(r.choice([0, 1, 2, 5, 12]))]
        return self._joined([self._member(key, self._value(t.item_field)) for key in keys], "{}")

    def _key(self, t: pa.DataType) -> str:
        r = self._random
        if kinds.is_integer(t):
            return r.choice(["1", "2", "1.0", "x", "-7", "99999999999"])
        if kinds.is_boolean(t):
            return r.choice(["true", "false", "True"])
        return "2024-01-31" if kinds.is_date(t) else self.text()

    def _scalar(self, t: pa.DataType) -> str:
        r = self._random
        if kinds.is_integer(t) or kinds.is_duration(t):
            return self._integer(t.bit_width, signed=not kinds.is_unsigned_integer(t))
        if kinds.is_floating(t):
            return self.number()
        if kinds.is_decimal(t):
            return self._decimal(t)
        if kinds.is_boolean(t) or kinds.is_null(t):
            return r.choice(["true", "false"]) if kinds.is_boolean(t) else ("null" if r.random() < 0.9 else self._any(0))
        if kinds.is_temporal(t):
            return self._moment(t)
        is_text = kinds.is_string(t) or kinds.is_large_string(t) or kinds.is_string_view(t)
        return self.string(self.text() if is_text else self._spoiled(self._base64(t)))

    def _integer(self, bits: int, *, signed: bool) -> str:
        r = self._random
        x = r.random()
        if x < 0.1:
            return r.choice(NUMBERS)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return str(r.choice([low, high, low, high, low - 1, high + 1])) if x < 0.13 else str(r.randint(low, high) >> r.randrange(bits))

    def number(self) -> str:
        """A number in one of many forms; rarely none."""
        r = self._random
        x = r.random()
        if x < 0.3:
            return repr(r.random() * 10 ** r.randrange(-5, 6))
        if x < 0.4:
            return str(r.randrange(-(10**21), 10**21))
        if x < 0.6:
            return r.choice(NUMBERS)
        if x < 0.61:
            return r.choice(NO_NUMBERS)
        text = r.choice(["", "-"]) + str(r.randrange(10 ** r.randrange(1, 25)))
        if r.random() < 0.7:
            text += "." + "".join(r.choice("0123456789") for _ in range(r.randrange(1, 25)))
        if r.random() < 0.6:
            text += r.choice("eE") + r.choice(["", "+", "-"]) + str(r.randrange(r.choice([5, 30, 330])))
        return text

    def _decimal(self, t: pa.DataType) -> str:
        r = self._random
        if r.random() < 0.15:
            return self.number()
        value = Decimal(r.randrange(-(10 ** r.randint(1, t.precision)), 10 ** r.randint(1, t.precision)))
        text = format(value.scaleb(-t.scale), r.choice(["f", "f", "e", "E"]))
        text = r.choice([text, text, text + "0" if "." in text and "e" not in text.lower() else text])
        return text if r.random() < 0.8 else self.string(self._spoiled(text))

    def _moment(self, t: pa.DataType) -> str:
        r = self._random
        if r.random() < 0.2:
            return self._integer(t.bit_width, signed=True)
        date = f"{r.choice([r.randrange(1900, 2100), r.randrange(10000)]):04}-{r.randrange(1, 13):02}-{r.randrange(1, 29):02}"
        if r.random() < 0.05:
            date = r.choice(["2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2026-04-31", "2026-13-01", "9999-12-31", "0000-01-01", "2026-1-01"])
        clock = f"{r.randrange(24):02}:{r.randrange(60):02}:{r.randrange(60):02}"
        if r.random() < 0.03:
            clock = r.choice(["24:00:00", "23:60:00", "23:59:60", "12:00"])
        if r.random() < 0.5:
            clock += "." + "".join(r.choice("0123456789") for _ in range(r.choice([1, 3, 6, 6, 9, 19]))) + r.choice(["", "", "000"])
        if kinds.is_date(t):
            text = date
        elif kinds.is_time(t):
            text = clock
        else:
            text = date + (r.choice("TTTT t") + clock if r.random() < 0.9 else "")
            if (t.tz is not None) != (r.random() < 0.05):
                text += r.choice(["Z", "z", "+00:00", "-05:30", "+23:59", "-23:59", "+24:00", "+01:60", "+0100"])
        return self.string(self._spoiled(text))

    def _base64(self, t: pa.DataType) -> str:
        r = self._random
        size = t.byte_width if kinds.is_fixed_size_binary(t) and r.random() < 0.9 else r.choice([0, 1, 2, 3, 4, 20])
        letters = "".join(r.choice("ABCxyz019+/") for _ in range(4 * (size // 3)))
        return letters + {0: "", 1: "QQ==", 2: "QUI="}[size % 3]

    def _spoiled(self, text: str) -> str:
        r = self._random
        if not text or r.random() > 0.03:
            return text
        at = r.randrange(len(text))
        return text[:at] + r.choice([":", "x", "", " ", "9", "é", '"', "=", "=="]) + text[at + r.randrange(2) :]

    def text(self) -> str:
        """A text of any length and alphabet."""
        r = self._random
        size = r.choice([0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 40]) if r.random() < 0.95 else r.randrange(300)
        letters = r.choice(ALPHABETS)
        return "".join(r.choice(letters) for _ in range(size))

    def string(self, text: str) -> str:
        """A text as JSON writes it, some characters escaped that need not be."""
        r = self._random
        out = []
        for c in text:
            if c not in '"\\' and ord(c) >= 32 and r.random() >= self._escapes:
                out.append(c)
            elif c in SHORT and r.random() < 0.7:
                out.append(SHORT[c])
            else:
                units = c.encode("utf-16-be")
                out += [f"\\u{int.from_bytes(units[i : i + 2]):{r.choice(['04x', '04X'])}}" for i in range(0, len(units), 2)]
        return '"' + "".join(out) + '"'

    def _any(self, depth: int) -> str:
        """Any value."""
        r = self._random
        kind = r.randrange(9 if depth < 5 else 7)
        if kind < 2:
            return r.choice(["null", "true", "false"])
        if kind < 4:
            return self.number()
        if kind < 7:
            return self.string(self.text())
        if r.random() < 0.01:
            levels = r.choice([3, 60, 63, 64, 65, 80])
            return "[" * levels + "]" * levels
        if kind == 7:
            return self._joined([self._any(depth + 1) for _ in range(r.randrange(4))], "[]")
        return self._joined([self._member(self.text(), self._any(depth + 1)) for _ in range(r.randrange(4))], "{}")


PIECES = (
    b",", b"}", b"]", b"{", b"[", b'"', b":", b"\\", b"0", b"e", b".", b"-", b"\x00", b"\xed\xa0\x80", b"\\ud800", b"\\udc00x", b"\\ud83d\\ude00", b"\\u12",
    b"\xc0\x80", b"\xf4\x90\x80\x80", b"null", b"tru", b"\xc2\xa0", b"\x1f", b" ", b"\xe2\x82",
)  # fmt: skip


def mutated(random: Random, document: bytes, other: bytes) -> bytes:
    """A document with one to three kinds of damage."""
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        at = random.randrange(len(document) + 1)
        kind = random.randrange(7)
        if kind == 0:
            document = document[:at]
        elif kind == 1:
            document = document[:at] + document[at + 1 :]
        elif kind == 2:
            document = document[:at] + bytes([random.randrange(256)]) + document[at + 1 :]
        elif kind == 3:
            document = document[:at] + random.choice(PIECES) + document[at:]
        elif kind == 4:
            document += random.choice([b"x", b" 1", b"{}", b",", b"\x00", b"}", b"\xc2\xa0"])
        elif kind == 5:
            document = document[:at] + other[random.randrange(len(other) + 1) :]
        else:
            end = random.randrange(len(document) + 1)
            document = document[: min(at, end)] + document[max(at, end) :]
    return document

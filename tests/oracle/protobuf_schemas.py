"""Random Protobuf schemas of every syntax, messages written by them field by field, and damage to those."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FieldDescriptor as F

from thalweg.codecs.protobuf.descriptors import MessageSet, messages_of_set
from thalweg.codecs.protobuf.forms import DELIMITED, FIXED32, FIXED64, GROUP, VARINT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from thalweg.codecs.protobuf.forms import Form, Part

WELL_KNOWN = ("Timestamp", "Duration", "Struct", "Value", "ListValue", "Any", "FieldMask", "Empty", "Int32Value", "StringValue", "BoolValue",
              "DoubleValue", "UInt64Value", "BytesValue", "FloatValue", "Int64Value", "UInt32Value")  # fmt: skip
FILES = ("timestamp", "duration", "struct", "any", "field_mask", "empty", "wrappers")
SCALARS = [t for t in range(1, 19) if t not in {F.TYPE_GROUP, F.TYPE_MESSAGE, F.TYPE_ENUM}]
KEYS = [t for t in SCALARS if t not in {F.TYPE_DOUBLE, F.TYPE_FLOAT, F.TYPE_BYTES}]
NUMBERS = [0, 1, 2, -1, 5, 127, 128, 300, 2**31 - 1, -(2**31), 2**31, 2**32, 2**63 - 1, -(2**63), -5, 2**64 - 1]
TEXTS = [b"", b"a", b"cust00001", b"01234567", b"0123456789abcdef", "æøå".encode(), "€😀x".encode(), b"k", b"b" * 40]
BROKEN = [b"\xff", b"ab\xc0\x80", b"\xed\xa0\x80", b"12345678\xe2\x82", b"\xf4\x90\x80\x80"]
Proto = Any


class Author:
    """Draws one file of messages that refer to each other, in a syntax."""

    def __init__(self, random: Random, syntax: str) -> None:
        """``syntax``: proto2, proto3, or 2023 for the edition."""
        self.random = random
        self.syntax = syntax
        self.file = descriptor_pb2.FileDescriptorProto(name="x.proto", package="x", dependency=[f"google/protobuf/{f}.proto" for f in FILES])
        if syntax == "2023":
            self.file.syntax, self.file.edition = "editions", descriptor_pb2.EDITION_2023
        else:
            self.file.syntax = syntax
        self.messages: list[Proto] = []

    def messages_of(self) -> MessageSet:
        """The messages; the first is the root."""
        for i in range(self.random.randint(1, 2)):
            self._enum(i)
        for i in range(self.random.randint(1, 4)):
            self.messages.append(self.file.message_type.add(name=f"M{i}"))
        for message in self.messages:
            self._fill(message)
        if self.syntax != "proto3":
            self._extend()
        return messages_of_set(descriptor_pb2.FileDescriptorSet(file=[self.file]).SerializeToString(), "x.proto")

    def _enum(self, number: int) -> None:
        """An enum, perhaps with gaps, perhaps closed."""
        made = self.file.enum_type.add(name=f"E{number}")
        known = [0, *self.random.sample([1, 2, 3, 5, 9, -1, -7, 100, 70_000, 2**31 - 1, -(2**31)], self.random.randint(1, 5))]
        if self.syntax == "proto2" and self.random.random() < 0.3:
            known = known[1:]
        for i, value in enumerate(known):
            made.value.add(name=f"E{number}_V{i}", number=value)
        if self.syntax == "2023" and known[0] == 0 and self.random.random() < 0.5:
            made.options.features.enum_type = descriptor_pb2.FeatureSet.CLOSED

    def _fill(self, message: Proto) -> None:
        """Fields with numbers of one, two and more bytes of tag."""
        count = self.random.choice([0, 1, 3, 6, 10])
        numbers = self.random.sample([*range(1, 16), 16, 30, 200, 255, 256, 300, 5_000, 18_000, 2**29 - 1], count)
        one = None
        for i, number in enumerate(numbers):
            field = message.field.add(name=f"f{i}", number=number, label=F.LABEL_OPTIONAL)
            way = self.random.random()
            if way < 0.15:
                self._map(message, field, i)
                continue
            self._type(message, field, i)
            if way < 0.45:
                field.label = F.LABEL_REPEATED
            elif way < 0.6:
                if one is None:
                    one = len(message.oneof_decl)
                    message.oneof_decl.add(name="one")
                field.oneof_index = one
            else:
                self._presence(field)
        for field in message.field:
            if field.proto3_optional:
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")

    def _presence(self, field: Proto) -> None:
        """Required, with a default, implicit or explicit."""
        is_message = field.type in {F.TYPE_MESSAGE, F.TYPE_GROUP}
        if self.syntax == "proto2" and self.random.random() < 0.1:
            field.label = F.LABEL_REQUIRED
        elif self.syntax == "proto2" and not is_message and field.type != F.TYPE_ENUM and self.random.random() < 0.3:
            field.default_value = {F.TYPE_BOOL: "true", F.TYPE_STRING: "text", F.TYPE_BYTES: "\\001x"}.get(field.type, "23")
        elif self.syntax == "proto3" and self.random.random() < 0.5:
            field.proto3_optional = True
        elif self.syntax == "2023" and not is_message and field.type != F.TYPE_ENUM and self.random.random() < 0.5:
            field.options.features.field_presence = descriptor_pb2.FeatureSet.IMPLICIT

    def _type(self, message: Proto, field: Proto, i: int) -> None:
        """A scalar, an enum, a message of this file, a well-known type, or a group."""
        way = self.random.random()
        if way < 0.55:
            field.type = self.random.choice(SCALARS)
        elif way < 0.65:
            field.type, field.type_name = F.TYPE_ENUM, f".x.{self.random.choice(self.file.enum_type).name}"
        elif way < 0.75 and self.syntax == "proto2":
            inner = message.nested_type.add(name=f"G{i}")
            inner.field.add(name="g", number=1, label=F.LABEL_OPTIONAL, type=self.random.choice(SCALARS))
            field.type, field.type_name = F.TYPE_GROUP, f".x.{message.name}.G{i}"
        else:
            local = self.random.random() < 0.6
            name = f".x.{self.random.choice(self.messages).name}" if local else f".google.protobuf.{self.random.choice(WELL_KNOWN)}"
            field.type, field.type_name = F.TYPE_MESSAGE, name
            if self.syntax == "2023" and self.random.random() < 0.3:
                field.options.features.message_encoding = descriptor_pb2.FeatureSet.DELIMITED

    def _map(self, message: Proto, field: Proto, i: int) -> None:
        """A map of any key to any value."""
        name = f"F{i}Entry"
        entry = message.nested_type.add(name=name)
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=F.LABEL_OPTIONAL, type=self.random.choice(KEYS))
        value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL)
        while True:
            value.ClearField("type_name")
            self._type(message, value, len(message.nested_type) + 100)
            value.ClearField("options")
            first = {f".x.{e.name}": e.value[0].number for e in self.file.enum_type}
            if value.type != F.TYPE_GROUP and first.get(value.type_name, 0) == 0:
                break
        field.label, field.type, field.type_name = F.LABEL_REPEATED, F.TYPE_MESSAGE, f".x.{message.name}.{name}"

    def _extend(self) -> None:
        """An extension of the root."""
        root = self.messages[0]
        root.extension_range.add(start=600, end=700)
        kind = self.random.choice(SCALARS)
        label = self.random.choice([F.LABEL_OPTIONAL, F.LABEL_REPEATED])
        self.file.extension.add(name="ext", number=600, label=label, type=kind, extendee=".x.M0")


class Pen:
    """Writes random messages of a form: any order, repeats, runs of packed and unpacked, unknown fields, other wire types."""

    def __init__(self, random: Random) -> None:
        """Most of what it writes is valid."""
        self.random = random

    def message(self, form: Form, depth: int = 0) -> bytes:
        """The fields of a message, some of them."""
        parts = [p for p in form.parts if depth < 4 or p.form is None]
        if form.is_entry:
            chosen = [p for p in parts if self.random.random() < 0.95]
        else:
            chosen = self.random.sample(parts, self.random.randint(0, len(parts)))
            chosen += [p for p in parts if p.required and p not in chosen and self.random.random() < 0.97]
        out = []
        for part in chosen:
            times = self.random.choice([1, 1, 2, 3, 9]) if part.repeated else 2 if self.random.random() < 0.05 else 1
            out += [self._field(part, depth) for _ in range(times)]
        if self.random.random() < 0.05:
            out.append(self.unknown(self.random.choice([19, 201, 5_001, 100_001]), 0))
        if self.random.random() < 0.3:
            self.random.shuffle(out)
        return b"".join(out)

    def varint(self, value: int) -> bytes:
        """A varint, rarely longer than it needs to be."""
        left = value & (2**64 - 1)
        out = bytearray()
        while left > 0x7F:
            out.append(left & 0x7F | 0x80)
            left >>= 7
        out.append(left)
        if self.random.random() < 0.01 and len(out) < 9:
            out[-1] |= 0x80
            out.append(0)
        return bytes(out)

    def unknown(self, number: int, depth: int) -> bytes:
        """A field of any wire type."""
        kind = self.random.choice([VARINT, FIXED64, DELIMITED, GROUP, FIXED32])
        tag = self.varint(number << 3 | kind)
        if kind == GROUP:
            inside = b"".join(self.unknown(self.random.randint(1, 300), depth + 1) for _ in range(self.random.randint(0, 2) if depth < 4 else 0))
            return tag + inside + self.varint(number << 3 | 4)
        return tag + {VARINT: self.varint(self._number()), FIXED64: bytes(8), DELIMITED: b"\x03abc", FIXED32: bytes(4)}[kind]

    def _number(self) -> int:
        return self.random.choice([*NUMBERS, self.random.getrandbits(self.random.randint(1, 64)), self.random.randrange(4)])

    def _field(self, part: Part, depth: int) -> bytes:
        """One occurrence."""
        if self.random.random() < 0.004:
            return self.unknown(part.number, 3)
        if part.packable and self.random.random() < 0.5:
            return self._tagged(part, DELIMITED, b"".join(self._scalar(part) for _ in range(self.random.choice([0, 1, 3, 12]))))
        if part.form is None:
            data = self._scalar(part)
            return self._tagged(part, DELIMITED, data) if part.wire_type == DELIMITED else self.varint(part.number << 3 | part.wire_type) + data
        inside = self._time(part.form) if part.form.special in {"timestamp", "duration"} else self.message(part.form, depth + 1)
        if part.wire_type == GROUP:
            return self.varint(part.number << 3 | GROUP) + inside + self.varint(part.number << 3 | 4)
        return self._tagged(part, DELIMITED, inside)

    def _tagged(self, part: Part, kind: int, data: bytes) -> bytes:
        return self.varint(part.number << 3 | kind) + self.varint(len(data)) + data

    def _time(self, form: Form) -> bytes:
        """Seconds and nanoseconds, mostly of one sign and in range."""
        sign = -1 if form.special == "duration" and self.random.random() < 0.4 else 1
        seconds = sign * self.random.choice([0, 5, 1_700_000_000, 253_402_300_799, *([2**62, 9_999_999_999] if self.random.random() < 0.05 else [])])
        nanos = sign * self.random.choice([0, 5_000, 999_999_999, *([2**31 - 1] if self.random.random() < 0.05 else [])])
        out = [b"\x08" + self.varint(seconds), b"\x10" + self.varint(nanos)]
        if self.random.random() < 0.1:
            self.random.shuffle(out)
        return b"".join(p for p in out if self.random.random() < 0.8) + (self.unknown(9, 3) if self.random.random() < 0.02 else b"")

    def _scalar(self, part: Part) -> bytes:
        """A value, without its length."""
        if part.enum is not None:
            known = list(part.enum.names)
            return self.varint(self.random.choice(known) if self.random.random() < 0.95 else self._number())
        if part.wire_type == VARINT:
            return self.varint(self._number())
        if part.wire_type == FIXED64:
            return self.random.choice([struct.pack("<d", self.random.choice([0.0, -0.0, 1.5, math.inf])), bytes(8), self.random.randbytes(8)])
        if part.wire_type == FIXED32:
            return self.random.choice([struct.pack("<f", 1.5), bytes(4), self.random.randbytes(4)])
        return self.random.choice(TEXTS) if part.type == F.TYPE_BYTES or self.random.random() < 0.998 else self.random.choice(BROKEN)


def mutated(random: Random, data: bytes, other: bytes) -> bytes:
    """Damage: bytes changed, put in, taken out; an end cut off; pieces of another message; hostile numbers."""
    out = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 3])):
        at = random.randint(0, len(out))
        way = random.randrange(7)
        if way == 0 and out:
            out[min(at, len(out) - 1)] = random.choice([0, 1, 2, 4, 0x0B, 0x0C, 0x7F, 0x80, 0xFF, random.randrange(256)])
        elif way == 1:
            out[at:at] = random.randbytes(random.choice([1, 1, 3]))
        elif way == 2:
            del out[at : at + random.choice([1, 1, 2, 8])]
        elif way == 3:
            del out[at:]
        elif way == 4 and other:
            begin = random.randrange(len(other))
            out[at:at] = other[begin : begin + random.randint(1, 12)]
        elif way == 5:
            out[at:at] = bytes.fromhex(random.choice(["ffffffffffffffffff01", "ffffffff0f", "80" * 9 + "02", "ff" * 12, "0b0c", "00"]))
        elif out:
            out[min(at, len(out) - 1)] ^= 1 << random.randrange(8)
    return bytes(out)


def payloads(random: Random, form: Form, count: int) -> tuple[list[bytes], list[bytes]]:
    """Messages, and as many damaged ones."""
    pen = Pen(random)
    good = [pen.message(form) for _ in range(count)]
    return good, [mutated(random, random.choice(good), random.choice(good)) for _ in range(count)]


def schema(random: Random, syntaxes: Sequence[str] = ("proto2", "proto3", "2023")) -> MessageSet:
    """A random schema."""
    return Author(random, random.choice(syntaxes)).messages_of()

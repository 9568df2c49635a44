"""Random Avro schemas, readers that resolve with them, and data as no one library writes it: split blocks, sizes, long varints."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

from thalweg.codecs.avro.schema import Node, parse

if TYPE_CHECKING:
    from random import Random

INTERESTING = (0, 1, -1, 63, 64, -64, -65, 127, 128, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
LOGICAL: tuple[dict[str, Any], ...] = (
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    *({"type": "long", "logicalType": f"{zone}timestamp-{unit}"} for zone in ("", "local-") for unit in ("millis", "micros", "nanos")),
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 38},
    {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 10},
    {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 6},
    {"type": "string", "logicalType": "foo"},
)
FIXED: tuple[dict[str, Any], ...] = (
    {"size": 0}, {"size": 3}, {"size": 4}, {"size": 8}, {"size": 40},
    {"size": 12, "logicalType": "duration"},
    {"size": 16, "logicalType": "uuid"},
    {"size": 5, "logicalType": "decimal", "precision": 11, "scale": 3},
    {"size": 20, "logicalType": "decimal", "precision": 47, "scale": 3},
)  # fmt: skip
PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
PROMOTED = {"int": ("long", "float", "double"), "long": ("float", "double"), "float": ("double",), "string": ("bytes",), "bytes": ("string",)}
ADDED: tuple[tuple[str, Any, Any], ...] = (
    ("d1", "string", "dflt"), ("d2", ["null", "int"], None), ("d3", ["int", "null"], None), ("d4", "bytes", "\u00ff\u0000"),
    ("d5", {"type": "int", "logicalType": "date"}, 19000), ("d6", {"type": "array", "items": "long"}, [1, 2]), ("d7", "double", 1.5),
    ("d8", {"type": "map", "values": "string"}, {"k": "v"}),
)  # fmt: skip


class Maker:
    """Draws schemas from one source of randomness."""

    def __init__(self, random: Random) -> None:
        """Names are numbered."""
        self.random = random
        self.names = 0
        self.open: list[str] = []

    def name(self) -> str:
        """A fresh name, sometimes with a namespace."""
        self.names += 1
        return f"{self.random.choice(['', '', 'a.', 'b.c.'])}N{self.names}"

    def root(self) -> Any:  # noqa: ANN401 - any schema
        """Mostly a record."""
        return self.record(3) if self.random.random() < 0.85 else self.schema(3)

    def schema(self, depth: int) -> Any:  # noqa: ANN401 - any schema
        """Any type."""
        pick = self.random.random()
        if depth <= 0 or pick < 0.35:
            return self.leaf()
        if pick < 0.5:
            return self.record(depth - 1)
        if pick < 0.62:
            return {"type": "array", "items": self.schema(depth - 1)}
        if pick < 0.72:
            return {"type": "map", "values": self.schema(depth - 1)}
        if pick < 0.78 and self.open:
            name = self.random.choice(self.open)
            return self.random.choice([["null", name], {"type": "array", "items": name}, {"type": "map", "values": name}, ["null", "int", name]])
        return self.union(depth - 1)

    def leaf(self) -> Any:  # noqa: ANN401 - any schema
        """A type without parts."""
        pick = self.random.random()
        if pick < 0.5:
            return self.random.choice(PRIMITIVES)
        if pick < 0.75:
            return dict(self.random.choice(LOGICAL))
        if pick < 0.85:
            return {"type": "enum", "name": self.name(), "symbols": [f"S{i}" for i in range(self.random.randint(1, 5))]}
        return {"type": "fixed", "name": self.name()} | self.random.choice(FIXED)

    def record(self, depth: int) -> dict[str, Any]:
        """A record; what lies inside may refer to it."""
        name = self.name()
        self.open.append(name)
        fields = [{"name": f"f{i}", "type": self.schema(depth)} for i in range(self.random.choice([0, 1, 2, 3, 5]))]
        self.open.pop()
        return {"type": "record", "name": name, "namespace": name.rpartition(".")[0], "fields": fields}

    def union(self, depth: int) -> list[Any]:
        """Branches of different kinds; often null and one more."""
        wanted = 1 if self.random.random() < 0.6 else self.random.randint(1, 4)
        branches: list[Any] = []
        kinds = {"null"}
        while len(branches) < wanted:
            made = self.schema(depth)
            kind = made["type"] if isinstance(made, dict) else made
            if isinstance(made, list) or (kind in kinds and kind not in {"record", "enum", "fixed"}):
                continue
            kinds.add(kind)
            branches.append(made)
        if wanted == 1 or self.random.random() < 0.5:
            branches.insert(self.random.randint(0, len(branches)), "null")
        return branches

    def evolved(self, schema: Any) -> Any:  # noqa: ANN401 - any schema
        """A reader's schema for a writer's, mostly one that resolves."""
        if isinstance(schema, list):
            return self._evolved_union(schema)
        if self.random.random() < 0.1 and schema != "null":
            return ["null", self.evolved(schema)] if not isinstance(schema, str) or schema in PRIMITIVES else schema
        if isinstance(schema, str):
            return self.random.choice(PROMOTED[schema]) if schema in PROMOTED and self.random.random() < 0.3 else schema
        kind = schema["type"]
        if kind in {"array", "map"}:
            inner = "items" if kind == "array" else "values"
            return schema | {inner: self.evolved(schema[inner])}
        if kind == "enum" and self.random.random() < 0.4:
            symbols = self.random.sample([*schema["symbols"], "X"], self.random.randint(1, len(schema["symbols"])))
            return schema | {"symbols": symbols} | ({"default": symbols[0]} if self.random.random() < 0.5 else {})
        return self._evolved_record(schema) if kind == "record" else schema

    def _evolved_union(self, schema: list[Any]) -> Any:  # noqa: ANN401 - any schema
        """Other branches, another order, or no union at all."""
        branches = [self.evolved(b) for b in schema]
        if any(isinstance(b, list) for b in branches) or self.random.random() < 0.5:
            return schema
        if self.random.random() < 0.2 and "null" in branches and len(branches) == 2:
            return next(b for b in branches if b != "null")
        self.random.shuffle(branches)
        kinds = [json.dumps(b.get("name", b["type"])) if isinstance(b, dict) else b for b in branches]
        return branches if len(set(kinds)) == len(kinds) else schema

    def _evolved_record(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Fields that go, come, change their order or their name."""
        fields = []
        for found in schema["fields"]:
            if self.random.random() < 0.15:
                continue
            new = found | {"type": self.evolved(found["type"])}
            if self.random.random() < 0.1:
                new |= {"name": f"r{found['name']}", "aliases": [found["name"]]}
            fields.append(new)
        fields += [{"name": n, "type": kind, "default": default} for n, kind, default in ADDED if self.random.random() < 0.05]
        if self.random.random() < 0.3:
            self.random.shuffle(fields)
        return schema | {"fields": fields}


class CommonMaker(Maker):
    """Draws records of what nearly all schemas consist of, for which code of their own can be written."""

    def leaf(self) -> Any:  # noqa: ANN401 - any schema
        """A type without parts, none of the rare ones."""
        kind = self.random.choice([*PRIMITIVES[1:], "long", "string", "date", "enum"])
        if kind == "date":
            return dict(self.random.choice([LOGICAL[0], LOGICAL[4]]))
        return {"type": "enum", "name": self.name(), "symbols": [f"S{i}" for i in range(self.random.randint(1, 5))]} if kind == "enum" else kind

    def schema(self, depth: int) -> Any:  # noqa: ANN401 - any schema
        """A leaf, one that may be NULL, a record, or many of them."""
        pick = self.random.random()
        if depth <= 0 or pick < 0.4:
            return self.leaf()
        if pick < 0.65:
            null = ["null", self.leaf()]
            return null if self.random.random() < 0.7 else null[::-1]
        if pick < 0.75:
            return self.record(depth - 1)
        return {"type": "array", "items": self.schema(depth - 1)} if pick < 0.9 else {"type": "map", "values": self.schema(depth - 1)}


class Writer:
    """Draws data of a schema, as bytes."""

    def __init__(self, random: Random) -> None:
        """Most data is valid; a few texts are no UTF-8."""
        self.random = random

    def datum(self, node: Node, depth: int = 6) -> bytes:
        """A datum; ``depth`` ends recursion."""
        kind = node.kind
        if kind == "record":
            return b"".join(self.datum(f.node, depth - 1) for f in node.fields)
        if kind == "union":
            index = self._branch(node, depth)
            return self.long(index) + self.datum(node.branches[index], depth - 1)
        if kind in {"array", "map"}:
            return self._blocks(node, depth)
        if kind == "enum":
            return self.long(self.random.randrange(len(node.symbols)))
        if kind == "fixed":
            return self._fixed(node)
        return self._primitive(node)

    def long(self, value: int) -> bytes:
        """A zigzag varint, rarely longer than it needs to be."""
        left = (value << 1) ^ (value >> 63)
        out = bytearray()
        while left > 0x7F:
            out.append(left & 0x7F | 0x80)
            left >>= 7
        out.append(left)
        if self.random.random() < 0.01 and len(out) < 9:
            out[-1] |= 0x80
            out.append(0)
        return bytes(out)

    def _branch(self, node: Node, depth: int) -> int:
        """A branch; null where there is one and it gets deep."""
        null = [i for i, b in enumerate(node.branches) if b.kind == "null"]
        if depth <= 0:
            simple = null or [i for i, b in enumerate(node.branches) if b.kind not in {"record", "array", "map"}]
            return (simple or [0])[0]
        return self.random.randrange(len(node.branches))

    def _blocks(self, node: Node, depth: int) -> bytes:
        """No, one or several blocks, with or without their size."""
        out = b""
        for _ in range(0 if depth <= 0 else self.random.choice([0, 1, 1, 2])):
            items = []
            for _ in range(self.random.choice([1, 2, 3, 12])):
                key = self._sized(self.random.choice([b"k", b"key", b"", self._text(), self._text()])) if node.kind == "map" else b""
                items.append(key + self.datum(node.item, depth - 2))
            data = b"".join(items)
            out += self.long(-len(items)) + self.long(len(data)) + data if self.random.random() < 0.3 else self.long(len(items)) + data
        return out + b"\0"

    def _sized(self, data: bytes) -> bytes:
        return self.long(len(data)) + data

    def _text(self) -> bytes:
        """UTF-8 of any width, rarely broken."""
        if self.random.random() < 0.01:
            return b"abc\xff\xfe"
        letters = self.random.choice(["abcdefgh", "aé€😀", "x"])
        return "".join(self.random.choice(letters) for _ in range(self.random.choice([0, 1, 3, 7, 8, 9, 17, 40]))).encode()

    def _fixed(self, node: Node) -> bytes:
        if node.logical is not None and node.logical.kind == "duration":
            return struct.pack("<III", *(self.random.choice([0, 1, 15, 2**31 - 1]) for _ in range(3)))
        if node.logical is not None and node.logical.kind == "decimal":
            return self._number(node).to_bytes(node.size, "big", signed=True)
        return self.random.randbytes(node.size)

    def _number(self, node: Node) -> int:
        """An unscaled decimal."""
        assert node.logical is not None
        most = 10**node.logical.precision
        return self.random.choice([0, 1, -1, most - 1, 1 - most, self.random.randrange(most), -self.random.randrange(most)])

    def _primitive(self, node: Node) -> bytes:
        kind, logical = node.kind, node.logical
        if kind in {"int", "long"}:
            return self._integer(node)
        if logical is not None and logical.kind == "decimal":
            number = self._number(node)
            size = (number if number >= 0 else ~number).bit_length() // 8 + self.random.choice([1, 1, 2, 30])
            return self._sized(number.to_bytes(size, "big", signed=True) if number or self.random.random() < 0.5 else b"")
        if logical is not None and logical.kind == "uuid":
            text = self.random.randbytes(16).hex()
            return self._sized("-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:].upper()]).encode())
        if kind in {"string", "bytes"}:
            return self._sized(self._text() if kind == "string" else self.random.randbytes(self.random.choice([0, 1, 7, 8, 20])))
        return {
            "null": b"",
            "boolean": bytes([self.random.randrange(2)]),
            "float": struct.pack("<f", self.random.choice([0.0, -0.0, 1.5, math.inf, math.nan, self.random.uniform(-1e30, 1e30)])),
            "double": struct.pack("<d", self.random.choice([0.0, -0.0, 0.1, -math.inf, math.nan, self.random.uniform(-1e300, 1e300)])),
        }[kind]

    def _integer(self, node: Node) -> bytes:
        if node.logical is not None and node.logical.kind == "time":
            return self.long(self.random.randrange(86_400_000 if node.kind == "int" else 86_400_000_000))
        bits = 31 if node.kind == "int" else 63
        value = self.random.choice([*INTERESTING, self.random.getrandbits(bits), -self.random.getrandbits(bits), self.random.randrange(100)])
        return self.long(value if -(1 << bits) <= value < 1 << bits else value % 100)


def mutated(random: Random, data: bytes, other: bytes) -> bytes:
    """Damage: bytes changed, put in, taken out; an end cut off; pieces of another datum; hostile numbers."""
    out = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        at = random.randint(0, len(out))
        way = random.randrange(7)
        if way == 0 and out:
            out[min(at, len(out) - 1)] = random.choice([0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF, random.randrange(256)])
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
            out[at:at] = bytes.fromhex(random.choice(["ffffffffffffffffff01", "808080808040", "80" * 9 + "02", "ff" * 12, "feffffff0f", "01"]))
        elif out:
            out[min(at, len(out) - 1)] ^= 1 << random.randrange(8)
    return bytes(out)


def parsed(schema: Any) -> Node:  # noqa: ANN401 - any schema
    """The nodes of a schema."""
    return parse(json.dumps(schema))

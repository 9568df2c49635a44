"""What is fuzzed: for each format a random schema, data that fits it, damage to that data, and the judge that compares two decoders.

``kafka`` are answers to fetches, which have no schema; ``avro-straight`` are schemas that get code of their own.
"""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

from tests.oracle import avro_schemas, json_documents, protobuf_schemas, record_answers
from tests.oracle.agreement import avro_agrees, json_agrees, protobuf_agrees
from tests.oracle.protobuf import table
from tests.oracle.record_reader import agrees
from thalweg.codecs.avro.kernel_decoder import Unsupported as AvroUnsupported
from thalweg.codecs.avro.kernel_decoder import compile_decoder as compile_avro
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.schema import SchemaError
from thalweg.codecs.json.kernel_decoder import compile_json
from thalweg.codecs.json.values import Unsupported as JsonUnsupported
from thalweg.codecs.protobuf.descriptors import DescriptorError
from thalweg.codecs.protobuf.kernel_decoder import compile_decoder as compile_protobuf
from thalweg.errors import UserError
from thalweg.kernels import straight
from thalweg.kernels.avro_straight import machine_code

if TYPE_CHECKING:
    from collections.abc import Callable

FORMATS = ("avro", "avro-straight", "json", "kafka", "protobuf")
LIMITS = {"max_depth": 12, "max_bytes": 5_000}


class Target:
    """One schema of one format. ``good()`` makes a payload that fits it, ``damaged`` breaks one, ``judge`` compares the decoders over a batch."""

    def __init__(self, random: Random, good: Callable[[], bytes], damage: Callable[[Random, bytes, bytes], bytes], judge: Callable[[list[bytes]], int]) -> None:
        """Made by :func:`target`."""
        self._random = random
        self.good = good
        self._damage = damage
        self.judge = judge

    def damaged(self, payload: bytes, other: bytes) -> bytes:
        """A payload with one to four kinds of damage."""
        return self._damage(self._random, payload, other)


def target(form: str, seed: int) -> Target:
    """The target of a format and a seed; seeds whose schema no decoder takes are passed over."""
    make = {"avro": _avro, "avro-straight": _straight, "json": _json, "kafka": _kafka, "protobuf": _protobuf}[form]
    for n in range(1_000):
        found = make(Random(f"{form} {seed} {n}"))
        if found is not None:
            return found
    raise AssertionError(f"no schema of {form} from seed {seed}")


def _avro(random: Random) -> Target | None:
    writer = avro_schemas.parsed(avro_schemas.Maker(random).root())
    try:
        program = compile_avro(writer, writer, max_depth=4)
    except (Incompatible, SchemaError, AvroUnsupported):
        return None
    pen = avro_schemas.Writer(random)
    return Target(random, lambda: pen.datum(writer), avro_schemas.mutated, lambda sent: avro_agrees(program, writer, writer, sent, max_depth=4))


def _straight(random: Random) -> Target | None:
    writer = avro_schemas.parsed(avro_schemas.CommonMaker(random).record(3))
    program = compile_avro(writer, writer, max_depth=4)
    if not straight.possible(program.steps):
        return None
    checked = os.environ.get("NUMBA_BOUNDSCHECK", "0") != "0"
    program.written.use(straight.Loaded(machine_code(program.steps, checked=checked), pause=0))
    pen = avro_schemas.Writer(random)
    return Target(random, lambda: pen.datum(writer), avro_schemas.mutated, lambda sent: avro_agrees(program, writer, writer, sent, max_depth=4))


def _json(random: Random) -> Target | None:
    schema = json_documents.Maker(random).schema()
    try:
        program = compile_json(schema, prefix="_", **LIMITS)
    except JsonUnsupported:
        return None
    pen = json_documents.Writer(random)
    return Target(random, lambda: pen.document(schema), json_documents.mutated, lambda sent: json_agrees(program, schema, sent, **LIMITS))


def _kafka(random: Random) -> Target:
    wanted = {key: random.choice((0, 0, 2)) for key in record_answers.PLACES}
    return Target(random, record_answers.Pen(random).answer, record_answers.mutated, lambda sent: sum(agrees(data, wanted, random.choice((1, 3, 64))) for data in sent))


def _protobuf(random: Random) -> Target | None:
    try:
        of = table(protobuf_schemas.schema(random).roots[0], max_depth="3")
    except (UserError, DescriptorError):
        return None
    program, pen = compile_protobuf(of), protobuf_schemas.Pen(random)
    return Target(random, lambda: pen.message(of.form), protobuf_schemas.mutated, lambda sent: protobuf_agrees(program, of, sent))

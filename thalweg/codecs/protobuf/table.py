"""The columns of a Protobuf table: from the schema's message, or declared and checked against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from thalweg.codecs.protobuf.declared import Incompatible
from thalweg.codecs.protobuf.descriptors import DescriptorError, MessageSet, messages_of
from thalweg.codecs.protobuf.forms import Form, Forms
from thalweg.codecs.protobuf.shapes import Shape, TooLarge, Unfolding, coarse
from thalweg.errors import UserError
from thalweg.ports.codec import subject_of
from thalweg.ports.depth import deepest, told
from thalweg.ports.schemas import newest

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from thalweg.ports.codec import DecodeRequest
    from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry

_NEEDS: Final = "option '{}' is missing: format '{}' needs {}"
_MOST_OUTPUT: Final = 1 << 28
"""Bytes that the messages in the repeated fields of one payload may take as columns, eight a column."""
_LEAST_ITEMS: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class Table:
    """What a decoder needs to know about its columns."""

    schema: pa.Schema
    """As declared, where columns are declared."""
    natural: pa.Schema
    """As the message gives them; the same columns."""
    shapes: tuple[Shape, ...]
    form: Form
    message: Descriptor
    max_items: int
    """Messages in repeated fields and maps that one payload may hold."""
    cuts: tuple[str, ...] = ()
    """One line for each message that lies too deep."""
    coarse: tuple[str, ...] = ()
    """The columns of times that cannot hold all digits of the wire, dotted."""


def table_of(request: DecodeRequest, registry: SchemaRegistry | None) -> Table | None:
    """The table's columns, None where they lie in a registry that was not given.

    Raises UserError naming the option or column, SchemaUnknown and SchemaUnavailable from the registry.
    """
    found = registered(request, registry)
    if found is None:
        return None
    try:
        message = message_of(request, messages_of(found))
        return table_of_message(request, message)
    except DescriptorError as e:
        raise UserError(f"the Protobuf schema cannot be read: {e}") from None


def table_of_message(request: DecodeRequest, message: Descriptor) -> Table:
    """The columns of a message."""
    form = Forms().of(message)
    refuse_reserved(form, request.metadata_prefix)
    declared = request.declared if request.declared is not None and len(request.declared) else None
    options = request.options

    def unfold(depth: int) -> tuple[Unfolding, tuple[Shape, ...]]:
        made = Unfolding(depth, options.enum, options.timestamp, options.defaults)
        return made, made.root(form, declared)

    try:
        unfolding, shapes = deepest(unfold, options.max_depth, TooLarge)
    except Incompatible as e:
        raise UserError(f"column '{e.where}': {e.message}") from None
    natural = pa.schema([s.column for s in shapes])
    most = max(_MOST_OUTPUT // (8 * max(unfolding.columns, 1)), _LEAST_ITEMS)
    cuts = told(unfolding.cuts, unfolding.max_depth, options.max_depth)
    return Table(natural if declared is None else declared, natural, shapes, form, message, most, cuts, tuple(coarse(shapes)))


def registered(request: DecodeRequest, registry: SchemaRegistry | None) -> RegisteredSchema | None:
    """The schema that gives the columns. Raises UserError for a missing option."""
    options = request.options
    if request.format == "protobuf":
        if options.descriptor is None:
            message = _NEEDS.format("protobuf.descriptor", request.format, "the message's schema")
            raise UserError(message, hint="a descriptor set, a .proto file or a folder of them; or use format 'protobuf-confluent'")
        return None if registry is None else registry.latest(options.descriptor)
    if options.url is None:
        message = _NEEDS.format("protobuf-confluent.url", request.format, "a schema registry")
        raise UserError(message, hint="for example 'protobuf-confluent.url' 'http://localhost:8081'")
    subject = subject_of(request)
    if subject is None:
        message = _NEEDS.format("protobuf-confluent.subject", request.format, "it where the topic is a pattern")
        raise UserError(message, hint="name the subject whose schema gives the columns")
    if registry is None:
        return None
    return newest(registry, subject, "PROTOBUF", shown="Protobuf", hint="set 'protobuf-confluent.subject', or register the schema first")


def message_of(request: DecodeRequest, messages: MessageSet) -> Descriptor:
    """The message that the option names; else the only one, or the first one of a subject's schema. Raises UserError."""
    name = request.options.message
    if name is None and request.format != "protobuf" and messages.roots:
        return messages.roots[0]
    try:
        return messages.find(name)
    except DescriptorError as e:
        if name is not None:
            raise UserError(f"option 'protobuf.message': {e}") from None
        raise UserError(_NEEDS.format("protobuf.message", request.format, f"to know which message the payloads are ({e})")) from None


def refuse_reserved(form: Form, prefix: str) -> None:
    """Refuse a message with a field under the metadata prefix."""
    for part in form.parts:
        if part.name.startswith(prefix):
            raise UserError(f"field '{part.name}' of message {form.name} begins with '{prefix}', which is kept for metadata columns")

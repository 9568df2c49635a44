"""``'avro-glue'``, ``'json-apicurio'`` and their like: envelopes of other registries around data that the inner codec reads.

The envelope is taken off here and the schema's id handed on as a record header, which is how the inner codec learns it anyway.
"""

from __future__ import annotations

import dataclasses
import uuid
from typing import TYPE_CHECKING, Any, Final

from thalweg import registry as plugins
from thalweg.codecs.enveloped.apicurio import ApicurioEnvelope
from thalweg.codecs.enveloped.decoder import Enveloped
from thalweg.codecs.enveloped.glue import GlueEnvelope
from thalweg.codecs.enveloped.options import EnvelopedOptions
from thalweg.errors import SchemaUnknown, UserError
from thalweg.model.options import read
from thalweg.ports.codec import CodecPlugin, Decoder, DecodeRequest
from thalweg.ports.schemas import SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from thalweg.codecs.enveloped.decoder import Envelope
    from thalweg.ports.schemas import RegisteredSchema

_CONFLUENT_BYTES: Final = 5
_SUBJECT: Final = {"glue": "glue.schema", "apicurio": "apicurio.artifact"}


class _Hinting(SchemaRegistry):
    """A registry whose "there is no such schema" names the option that chooses it."""

    def __init__(self, asked: SchemaRegistry, option: str) -> None:
        """``option`` chooses the schema."""
        self._asked, self._option = asked, option

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """As it is."""
        return self._asked.by_id(schema_id)

    def latest(self, subject: str) -> RegisteredSchema:
        """As it is, with a hint."""
        try:
            return self._asked.latest(subject)
        except SchemaUnknown as e:
            raise SchemaUnknown(e.message, where=e.where, hint=e.hint or f"set '{self._option}', or register the schema first") from e

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """As it is."""
        return self._asked.register(subject, schema)

    def close(self) -> None:
        """As it is."""
        self._asked.close()


class _Numbered(SchemaRegistry):
    """One schema under a number, for inner encoders: their framing is taken off again."""

    def __init__(self, schema: RegisteredSchema) -> None:
        """The schema of every subject."""
        self._schema = dataclasses.replace(schema, id=0)

    def by_id(self, schema_id: int | str) -> RegisteredSchema:  # noqa: ARG002 - there is one
        """The schema."""
        return self._schema

    def latest(self, subject: str) -> RegisteredSchema:  # noqa: ARG002 - there is one
        """The schema."""
        return self._schema

    def register(self, subject: str, schema: RegisteredSchema) -> int:  # noqa: ARG002 - there is one
        """Its number."""
        return 0

    def close(self) -> None:
        """Nothing is held open."""


def _registry(request: DecodeRequest) -> tuple[str, str] | None:
    """Glue at its own endpoint or another; Apicurio at its URL."""
    if _kind(request) == "glue":
        return "glue", request.options.endpoint or ""
    return None if request.options.url is None else ("apicurio", request.options.url)


def _kind(request: DecodeRequest) -> str:
    """``glue`` or ``apicurio``."""
    return request.format.partition("-")[2]


def _inner(request: DecodeRequest) -> tuple[CodecPlugin, DecodeRequest]:
    """The codec of the data and what it is told. Raises UserError for a missing option."""
    kind, options = _kind(request), request.options
    if kind == "apicurio" and options.url is None:
        message = f"option 'apicurio.url' is missing: format '{request.format}' needs a schema registry"
        raise UserError(message, hint="for example 'apicurio.url' 'http://localhost:8080/apis/registry/v3'")
    name = request.format.partition("-")[0]
    subject = options.schema if kind == "glue" else options.artifact
    enough = name != "protobuf" and request.declared is not None and len(request.declared) > 0
    if subject is None and request.topic is None and not enough:
        message = f"option '{_SUBJECT[kind]}' is missing: format '{request.format}' needs it where the topic is a pattern"
        raise UserError(message, hint="name the schema that gives the columns" + (", or declare the columns" if name != "protobuf" else ""))
    if subject is None and request.topic is not None:
        subject = request.topic if kind == "glue" else f"{request.topic}-{'key' if request.is_key else 'value'}"
    given = {f"{name}-confluent.url": options.url or "https://glue", f"{name}-confluent.subject": subject}
    given |= {"avro.union": options.union, "decode.max_depth": options.max_depth, "decode.max_bytes": options.max_bytes}
    given |= {"protobuf.message": options.message, "protobuf.enum": options.enum}
    given |= {"protobuf.timestamp": options.timestamp, "protobuf.defaults": options.defaults}
    plugin: CodecPlugin = plugins.load("codecs", name)
    found, errors = read(plugin.options, {key: str(value) for key, value in given.items() if value is not None})
    if found is None:
        raise errors[0]
    if kind == "apicurio" and name == "protobuf" and options.message_by != "ref":
        found = dataclasses.replace(found, naming=options.message_by)
    return plugin, dataclasses.replace(request, options=found)


def _asked(request: DecodeRequest, registry: SchemaRegistry | None) -> SchemaRegistry | None:
    """The registry with our hints."""
    return None if registry is None else _Hinting(registry, _SUBJECT[_kind(request)])


def _resolve(request: DecodeRequest, registry: SchemaRegistry | None) -> pa.Schema | None:
    """The inner codec's columns."""
    plugin, inner = _inner(request)
    return plugin.resolve(inner, _asked(request, registry))


def _decoder(request: DecodeRequest, registry: SchemaRegistry | None) -> Decoder:
    """The inner codec's decoder with the envelope before it."""
    plugin, inner = _inner(request)
    asked = _asked(request, registry)
    options: Any = request.options
    typed = request.format.startswith("protobuf")
    envelope: Envelope = (
        GlueEnvelope() if _kind(request) == "glue" else ApicurioEnvelope(options.id, options.id_bytes, is_key=request.is_key, typed=typed)
    )
    return Enveloped(plugin.decoder(inner, asked), envelope, inner, asked, plugin.fast)


def _encode_row(request: DecodeRequest, registry: SchemaRegistry | None) -> Callable[[dict[str, Any]], bytes]:
    """The inner codec's data behind the envelope of the newest schema; for test data."""
    plugin, inner = _inner(request)
    if registry is None or plugin.encode_row is None or inner.options.subject is None:
        raise UserError(f"format '{request.format}' needs its schema registry to write data")
    asked = _Hinting(registry, _SUBJECT[_kind(request)])
    found = asked.latest(inner.options.subject)
    encode = plugin.encode_row(inner, _Numbered(found))
    options = request.options
    before = b"\x03\0" + uuid.UUID(str(found.id)).bytes if _kind(request) == "glue" else b"\0" + int(found.id).to_bytes(options.id_bytes, "big")
    return lambda row: before + encode(row)[_CONFLUENT_BYTES:]


PLUGIN = CodecPlugin(
    formats=("avro-glue", "json-glue", "protobuf-glue", "avro-apicurio", "json-apicurio", "protobuf-apicurio"),
    options=EnvelopedOptions,
    registry=_registry,
    resolve=_resolve,
    decoder=_decoder,
    settings=("decode.max_depth",),
    unset=("json-glue", "json-apicurio"),
    encode_row=_encode_row,
    fast="thalweg.codecs.enveloped.fast:make",
)

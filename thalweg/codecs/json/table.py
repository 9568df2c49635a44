"""The columns of a JSON table: declared, or those of a JSON Schema from an option, a file or a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thalweg.codecs.json.documents import JsonSchemaError
from thalweg.codecs.json.jsonschema import Columns, unfolded
from thalweg.codecs.json.values import Unsupported, converter
from thalweg.errors import UserError
from thalweg.ports.codec import subject_of
from thalweg.ports.schemas import RegisteredSchema, newest

if TYPE_CHECKING:
    from thalweg.ports.codec import DecodeRequest
    from thalweg.ports.schemas import SchemaRegistry

PLAIN: Final = "json"
_NEEDS: Final = "option '{}' is missing: format '{}' needs {}"


def table_of(request: DecodeRequest, registry: SchemaRegistry | None) -> Columns | None:
    """The columns, each of a type that JSON can give; None while they lie in a registry that was not given.

    Raises UserError naming the option or column, SchemaUnknown and SchemaUnavailable from the registry.
    """
    if request.format != PLAIN and request.options.url is None:
        message = _NEEDS.format("json-confluent.url", request.format, "a schema registry")
        raise UserError(message, hint="for example 'json-confluent.url' 'http://localhost:8081'")
    declared = request.declared is not None and len(request.declared) > 0
    found = Columns(request.declared) if declared else _from_schema(request, registry)
    for field in found.schema if found is not None else ():
        if field.name.startswith(request.metadata_prefix):
            raise UserError(f"column '{field.name}' begins with '{request.metadata_prefix}', which is kept for metadata columns")
        try:
            converter(field)
        except Unsupported as e:
            raise UserError(f"column '{field.name}': no JSON value can become {e}") from None
    return found


def _from_schema(request: DecodeRequest, registry: SchemaRegistry | None) -> Columns | None:
    """The columns of a JSON Schema."""
    registered = _plain(request, registry) if request.format == PLAIN else _registered(request, registry)
    if registered is None:
        return None
    try:
        return unfolded(registered, request.options.max_depth)
    except JsonSchemaError as e:
        raise UserError(f"the JSON Schema cannot be read: {e}") from None


def _plain(request: DecodeRequest, registry: SchemaRegistry | None) -> RegisteredSchema | None:
    """The schema that an option holds or names; None while its file was not opened."""
    options = request.options
    if options.schema is not None:
        return RegisteredSchema("", "JSON", options.schema)
    if options.schema_file is None:
        message = "format 'json' needs a column list or 'json.schema': a stream's schema is never guessed"
        raise UserError(message, hint="declare the payload's columns, such as (order_id BIGINT, note STRING)")
    return None if registry is None else registry.latest(options.schema_file)


def _registered(request: DecodeRequest, registry: SchemaRegistry | None) -> RegisteredSchema | None:
    """The schema of the subject; None while the registry was not asked."""
    subject = subject_of(request)
    if subject is None:
        message = _NEEDS.format("json-confluent.subject", request.format, "it where the topic is a pattern")
        raise UserError(message, hint="name the subject whose schema gives the columns, or declare the columns")
    if registry is None:
        return None
    hint = "set 'json-confluent.subject', declare the columns, or register the schema first"
    return newest(registry, subject, "JSON", shown="JSON Schema", hint=hint)

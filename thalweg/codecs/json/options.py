"""Options of ``'format' 'json'``."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.options import MAX_DEPTH, at_least, duration, option, size, within


@dataclass(frozen=True, slots=True)
class JsonOptions:
    """Where the columns come from without a column list, and how much one document may ask for."""

    schema: str | None = option("json.schema", default=None, doc="a JSON Schema as text that gives the columns where none are declared")
    schema_file: str | None = option("json.schema-file", default=None, doc="a JSON Schema in a file, relative to the pipeline file")
    url: str | None = option(
        "json-confluent.url", default=None,
        doc="the schema registry; a path or `file:` URL names a folder with `<id>.json` and `<subject>.json` files",
    )
    subject: str | None = option(
        "json-confluent.subject", default=None, doc="subject whose newest schema gives the columns; by default `<topic>-value` or `<topic>-key`"
    )
    user_info: str | None = option("json-confluent.basic-auth.user-info", default=None, doc="`user:password` for the registry", secret=True)
    bearer_token: str | None = option("json-confluent.bearer-auth.token", default=None, doc="bearer token for the registry", secret=True)
    ca_file: str | None = option("json-confluent.ssl.ca.location", default=None, doc="the authorities to trust, a PEM file")
    certificate_file: str | None = option("json-confluent.ssl.certificate.location", default=None, doc="the client's certificate, a PEM file")
    key_file: str | None = option("json-confluent.ssl.key.location", default=None, doc="the key of the client's certificate, a PEM file")
    timeout_ns: int = option("json-confluent.timeout", at_least(1, duration), default=10_000_000_000, doc="longest wait for one answer")
    max_depth: int = option(
        "decode.max_depth", within(1, MAX_DEPTH), default=64, doc="levels of objects and arrays in one document; a deeper one is a bad record"
    )
    max_bytes: int = option(
        "decode.max_bytes", at_least(1, size), default=8 << 20, doc="size of one document; a larger one is a bad record"
    )

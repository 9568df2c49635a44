"""Options of the Avro formats."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.options import MAX_DEPTH, at_least, duration, one_of, option, within


@dataclass(frozen=True, slots=True)
class AvroOptions:
    """Where the schemas are and how they become columns."""

    schema: str | None = option("avro.schema", default=None, doc="the reader's schema, as JSON text; for format `avro` the writer's too")
    schema_file: str | None = option("avro.schema-file", default=None, doc="the same in an `.avsc` file, relative to the pipeline file")
    schema_folder: str | None = option(
        "avro.schema-folder", default=None,
        doc="format `avro-single-object`: a folder with the `.avsc` files of all writers; `avro.schema-file` then names one of them as the reader's",
    )
    url: str | None = option(
        "avro-confluent.url", default=None,
        doc="the schema registry; a path or `file:` URL names a folder with `<id>.avsc` and `<subject>.avsc` files",
    )
    subject: str | None = option(
        "avro-confluent.subject", default=None, doc="subject whose newest schema gives the columns; by default `<topic>-value` or `<topic>-key`"
    )
    reader_schema: str | None = option(
        "avro-confluent.schema", default=None, doc="reader's schema as JSON text, instead of the subject's newest"
    )
    user_info: str | None = option("avro-confluent.basic-auth.user-info", default=None, doc="`user:password` for the registry", secret=True)
    bearer_token: str | None = option("avro-confluent.bearer-auth.token", default=None, doc="bearer token for the registry", secret=True)
    ca_file: str | None = option("avro-confluent.ssl.ca.location", default=None, doc="the authorities to trust, a PEM file")
    certificate_file: str | None = option("avro-confluent.ssl.certificate.location", default=None, doc="the client's certificate, a PEM file")
    key_file: str | None = option("avro-confluent.ssl.key.location", default=None, doc="the key of the client's certificate, a PEM file")
    timeout_ns: int = option("avro-confluent.timeout", at_least(1, duration), default=10_000_000_000, doc="longest wait for one answer")
    union: str = option(
        "avro.union", one_of("dense", "struct"), default="dense",
        doc="what a union of several types becomes: an Arrow dense union, or a struct with one nullable field a branch",
    )
    max_depth: int | None = option(
        "decode.max_depth", within(1, MAX_DEPTH), default=None,
        doc="records inside records that become columns; what lies deeper becomes JSON text. By default 24, or as many as 5,000 columns hold",
    )

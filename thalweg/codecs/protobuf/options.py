"""Options of the Protobuf formats."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.options import MAX_DEPTH, at_least, boolean, duration, one_of, option, within


@dataclass(frozen=True, slots=True)
class ProtobufOptions:
    """Where the schemas are and how they become columns."""

    descriptor: str | None = option(
        "protobuf.descriptor", default=None,
        doc="format `protobuf`: a descriptor set, a `.proto` file or a folder of them, relative to the pipeline file",
    )
    message: str | None = option(
        "protobuf.message", default=None, doc="the message, such as `shop.Order`; by default the only one, or the first one of a subject's schema"
    )
    enum: str = option("protobuf.enum", one_of("string", "number"), default="string", doc="what an enum becomes: the names of its values in a dictionary, or their numbers")
    timestamp: str = option(
        "protobuf.timestamp", one_of("us", "ns"), default="us",
        doc="unit of timestamps and durations; `ns` reaches from 1677 to 2262, `us` cuts off what is finer and counts it",
    )
    defaults: bool = option("protobuf.defaults", boolean, default=False, doc="whether an unset field with a declared default holds it, instead of NULL")
    max_depth: int | None = option(
        "decode.max_depth", within(1, MAX_DEPTH), default=None,
        doc="messages inside messages that become columns; what lies deeper becomes JSON text. By default 24, or as many as 5,000 columns hold",
    )
    url: str | None = option(
        "protobuf-confluent.url", default=None,
        doc="the schema registry; a path or `file:` URL names a folder with `<id>.proto` and `<subject>.proto` files",
    )
    subject: str | None = option(
        "protobuf-confluent.subject", default=None, doc="subject whose newest schema gives the columns; by default `<topic>-value` or `<topic>-key`"
    )
    user_info: str | None = option("protobuf-confluent.basic-auth.user-info", default=None, doc="`user:password` for the registry", secret=True)
    bearer_token: str | None = option("protobuf-confluent.bearer-auth.token", default=None, doc="bearer token for the registry", secret=True)
    ca_file: str | None = option("protobuf-confluent.ssl.ca.location", default=None, doc="the authorities to trust, a PEM file")
    certificate_file: str | None = option("protobuf-confluent.ssl.certificate.location", default=None, doc="the client's certificate, a PEM file")
    key_file: str | None = option("protobuf-confluent.ssl.key.location", default=None, doc="the key of the client's certificate, a PEM file")
    timeout_ns: int = option("protobuf-confluent.timeout", at_least(1, duration), default=10_000_000_000, doc="longest wait for one answer")
    naming: str | None = None
    """No option: how an envelope's serialiser names messages, where that is not the format's usual way."""

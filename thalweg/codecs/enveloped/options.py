"""Options of the formats whose schemas lie in AWS Glue or in Apicurio Registry."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.options import MAX_DEPTH, at_least, boolean, duration, integer, one_of, option, size, within


def _width(value: str) -> int:
    """4 or 8."""
    found = integer(value)
    if found not in {4, 8}:
        message = f"expected 4 or 8, found {value!r}"
        raise ValueError(message)
    return found


@dataclass(frozen=True, slots=True)
class EnvelopedOptions:
    """Where the registry is, who asks it, and how data becomes columns."""

    endpoint: str | None = option("glue.endpoint", default=None, doc="URL of another endpoint than the region's own, such as a VPC's")
    region: str | None = option("glue.region", default=None, doc="AWS region; by default that of the environment or profile")
    registry: str = option("glue.registry", default="default-registry", doc="name of the registry")
    schema: str | None = option("glue.schema", default=None, doc="schema whose newest version gives the columns; by default it is named as the topic")
    profile: str | None = option("glue.profile", default=None, doc="profile of the AWS configuration files")
    access_key: str | None = option("glue.access-key-id", default=None, doc="access key; by default AWS's own chain finds credentials", secret=True)
    secret_key: str | None = option("glue.secret-access-key", default=None, doc="secret of the access key", secret=True)
    session_token: str | None = option("glue.session-token", default=None, doc="token of temporary credentials", secret=True)
    glue_ca: str | None = option("glue.ssl.ca.location", default=None, doc="the authorities to trust, a PEM file")
    glue_timeout_ns: int = option("glue.timeout", at_least(1, duration), default=10_000_000_000, doc="longest wait for one answer")
    url: str | None = option("apicurio.url", default=None, doc="the registry's own API, such as `http://localhost:8080/apis/registry/v3`; v2 works too")
    id: str = option(
        "apicurio.id", one_of("contentid", "globalid"), default="contentid", doc="which number payloads and headers carry: Apicurio 3 writes its content ids, 2 its global ids"
    )
    id_bytes: int = option("apicurio.id-bytes", _width, default=4, doc="bytes of the number behind the magic byte: 4, or 8 where serialisers of Apicurio 2 write it")
    message_by: str = option(
        "apicurio.message-by", one_of("ref", "indexes", "ref-indexes"), default="ref",
        doc="what stands before a Protobuf message and names it: a `Ref`, message indexes (`send-indexes` without `send-type-ref`), or one after the other (both)",
    )
    group: str = option("apicurio.group", default="default", doc="group of the artifact that gives the columns")
    artifact: str | None = option(
        "apicurio.artifact", default=None, doc="artifact whose newest version gives the columns; by default `<topic>-value` or `<topic>-key`"
    )
    user_info: str | None = option("apicurio.basic-auth.user-info", default=None, doc="`user:password` for the registry", secret=True)
    bearer_token: str | None = option("apicurio.bearer-auth.token", default=None, doc="bearer token for the registry", secret=True)
    ca_file: str | None = option("apicurio.ssl.ca.location", default=None, doc="the authorities to trust, a PEM file")
    certificate_file: str | None = option("apicurio.ssl.certificate.location", default=None, doc="the client's certificate, a PEM file")
    key_file: str | None = option("apicurio.ssl.key.location", default=None, doc="the key of the client's certificate, a PEM file")
    timeout_ns: int = option("apicurio.timeout", at_least(1, duration), default=10_000_000_000, doc="longest wait for one answer")
    union: str | None = option("avro.union", one_of("dense", "struct"), default=None, doc="as in format `avro-confluent`")
    message: str | None = option("protobuf.message", default=None, doc="as in format `protobuf-confluent`")
    enum: str | None = option("protobuf.enum", one_of("string", "number"), default=None, doc="as in format `protobuf-confluent`")
    timestamp: str | None = option("protobuf.timestamp", one_of("us", "ns"), default=None, doc="as in format `protobuf-confluent`")
    defaults: bool | None = option("protobuf.defaults", boolean, default=None, doc="as in format `protobuf-confluent`")
    max_depth: int | None = option(
        "decode.max_depth", within(1, MAX_DEPTH), default=None, doc="as in the formats `avro-confluent`, `json-confluent` and `protobuf-confluent`"
    )
    max_bytes: int | None = option("decode.max_bytes", at_least(1, size), default=None, doc="as in format `json-confluent`")

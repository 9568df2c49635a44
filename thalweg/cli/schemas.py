"""A schema in a file or a registry to the columns that a codec makes of it, exactly as a pipeline would see them."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg import registry
from thalweg.arrow import container
from thalweg.arrow.metadata import DEFAULT_PREFIX
from thalweg.errors import PipelineError, SchemaUnavailable, SchemaUnknown, UserError
from thalweg.model import options
from thalweg.model.options import redact_url
from thalweg.plan import formats
from thalweg.ports.codec import DecodeRequest
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from thalweg.ports.codec import Decoder

_MAX_BYTES = 16 << 20
_AVRO_KINDS = {"record", "enum", "fixed", "array", "map", "error"}
_FRAMED = "-confluent."
_ONE_BY_ONE = {".avsc", ".avro", ".json"}
_CODECS = {"AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json"}
_MESSAGE = "protobuf.message"


@dataclass(frozen=True, slots=True)
class Described:
    """What a schema describes."""

    kind: str
    name: str
    schema: pa.Schema
    notices: tuple[str, ...] = ()
    coarse: tuple[str, ...] = ()


def from_file(path: str, message: str | None, values: Mapping[str, str]) -> Described:
    """The columns of a schema file; ``values`` are the format's options. Raises UserError for a file that is no schema."""
    if Path(path).is_dir():
        _refuse_others(Path(path))
    if path.endswith(".proto") or Path(path).is_dir():
        return _protobuf(path, message, values)
    data = _read(path)
    if not data:
        raise UserError("the file is empty", where=path)
    if data.startswith(container.MAGIC):
        return _described(_header(path, data), message, values, path)
    if path.endswith(".avro"):
        raise UserError("the file is no Avro container: it does not begin with 'Obj' and a 1", where=path, hint="a schema's own text ends in .avsc")
    is_json = path.endswith((".avsc", ".json"))
    text = _text(data, is_json=is_json)
    try:
        spec = json.loads(text) if text is not None else None
    except (json.JSONDecodeError, RecursionError) as e:
        if is_json:
            raise UserError(f"the file is no JSON: {e}", where=path) from None
        spec = None
    if text is None and is_json:
        raise UserError("the file is no text in UTF-8", where=path)
    if spec is None or text is None:
        return _protobuf(path, message, values)
    found = RegisteredSchema(path, "AVRO" if _is_avro(path, spec) else "JSON", text)
    return _described(found, message, values, path)


def from_registry(url: str, subject: str, message: str | None, values: Mapping[str, str]) -> Described:
    """The columns of a subject's newest schema, or of ``SUBJECT:VERSION``; raises UserError where there is none, SchemaUnavailable where nobody answers."""
    name, _, version = subject.rpartition(":")
    is_numbered = bool(name) and (version.isdecimal() or version == "latest")
    where = f"{subject} at {redact_url(url)}"
    own = {key.partition(_FRAMED)[2] if _FRAMED in key else key: value for key, value in values.items()}
    plugin = "confluent" if "://" in url and not url.startswith("file:") else "static"
    asked = formats.open_registry((plugin, url.removeprefix("file:").removeprefix("//") if plugin == "static" else url), own, connect=True)
    assert asked is not None
    try:
        subject = name if is_numbered else subject
        found = asked.version(subject, int(version)) if is_numbered and version != "latest" else asked.latest(subject)
    except SchemaUnavailable as e:
        if plugin == "static":
            raise UserError(e.message, where=where, hint=e.hint) from None
        raise SchemaUnavailable(e.message, where=where) from None
    except PipelineError as e:
        raise UserError(e.message, where=where, hint=e.hint) from None
    finally:
        asked.close()
    return _described(found, message, values, where)


def _described(found: RegisteredSchema, message: str | None, values: Mapping[str, str], where: str) -> Described:
    """A schema by its kind."""
    if found.kind == "PROTOBUF":
        given = {**values, "protobuf-confluent.url": where, "protobuf-confluent.subject": where, **({_MESSAGE: message} if message else {})}
        return _made("protobuf", _resolved("protobuf-confluent", given, _OneSchema(found), where))
    if found.kind == "AVRO":
        given = {**values, "avro-confluent.url": where, "avro-confluent.subject": where}
        made = _made("avro", _resolved("avro-confluent", given, _OneSchema(found), where))
        if message is not None and message not in {made.name, made.name.rpartition(".")[2]}:
            raise UserError(f"the schema holds no record '{message}'", where=where, hint=f"it holds {made.name or 'no named type at its root'}")
        return made
    if message is not None:
        raise UserError("--message is for schemas that hold several messages; a JSON Schema is one", where=where)
    return _made("json", _resolved("json", {**values, "json.schema": found.text}, None, where))


def _protobuf(path: str, message: str | None, values: Mapping[str, str]) -> Described:
    """One message of a descriptor set, a ``.proto`` file or a folder of them: the one that is named, or the only one."""
    asked = formats.open_registry(("descriptors", path), {}, connect=False)
    given = {**values, "protobuf.descriptor": path, **({_MESSAGE: message} if message else {})}
    return _made("protobuf", _resolved("protobuf", given, asked, path))


def _resolved(form: str, values: Mapping[str, str], asked: SchemaRegistry | None, where: str) -> Decoder:
    """The decoder that a codec makes for its own options."""
    plugin = formats.codec(form)
    _refuse_unknown(plugin.options, values)
    found, errors = options.read(plugin.options, values)
    if errors:
        raise errors[0]
    request = DecodeRequest(form, None, found, None, DEFAULT_PREFIX)
    try:
        return plugin.decoder(request, asked)
    except (UserError, PipelineError) as e:
        hint = "say which with --message" if f"'{_MESSAGE}' is missing" in e.message else e.hint
        raise UserError(e.message, where=e.where or where, hint=hint) from None


def _made(kind: str, decoder: Decoder) -> Described:
    """What a decoder says of itself."""
    return Described(kind, decoder.name, decoder.schema, decoder.notices, decoder.coarse)


def _refuse_unknown(own: type, values: Mapping[str, str]) -> None:
    """Raise for an option that neither the format nor a registry reads."""
    known = [d for name in _CODECS.values() for d in options.docs(registry.load("codecs", name).options)]
    connecting = options.docs(registry.load("registries", "confluent").options)
    for key in values:
        if not options.is_known(key, known) and not options.is_known(key, connecting):
            raise options.unknown(key, [*options.docs(own), *connecting])


class _OneSchema(SchemaRegistry):
    """A registry of one schema, which is every subject's."""

    def __init__(self, found: RegisteredSchema) -> None:
        """It is there already."""
        self._found = found

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """No payload is read, so nobody asks."""
        raise SchemaUnknown(f"no schema has the id {schema_id} here")

    def latest(self, subject: str) -> RegisteredSchema:  # noqa: ARG002 - whatever the subject
        """The schema."""
        return self._found

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Nothing is written."""
        raise SchemaUnknown(f"the {schema.kind} schema of '{subject}' cannot be registered here")

    def close(self) -> None:
        """Nothing is open."""


def _header(path: str, data: bytes) -> RegisteredSchema:
    """The schema in the header of an Avro container file."""
    try:
        return RegisteredSchema(path, "AVRO", container.read_header(io.BytesIO(data)).schema)
    except container.ContainerFault as e:
        raise UserError(f"the file's header cannot be read: {e.message} (byte {e.at})", where=path) from None


def _read(path: str) -> bytes:
    """The file, bounded in size; of an Avro container its beginning."""
    try:
        file = Path(path)
        with file.open("rb") as opened:
            if opened.read(len(container.MAGIC)) == container.MAGIC:
                return container.MAGIC + opened.read(_MAX_BYTES)
        if file.stat().st_size > _MAX_BYTES:
            raise UserError(f"the file is larger than {_MAX_BYTES} bytes", where=path)
        return file.read_bytes()
    except OSError as e:
        raise UserError(f"the file cannot be read: {e.strerror}", where=path) from None


def _refuse_others(folder: Path) -> None:
    """Raise for a folder of schemas that each stand by themselves."""
    if next(folder.rglob("*.proto"), None) is None:
        others = sorted(f for f in folder.rglob("*") if f.suffix in _ONE_BY_ONE and f.is_file())
        if others:
            message = f"the folder holds no .proto files, and of {others[0].suffix} files each is described by itself"
            raise UserError(message, where=str(folder), hint=f"for example twg describe-schema {others[0]}")


def _text(data: bytes, *, is_json: bool) -> str | None:
    """UTF-8 text that could be JSON, or should be; else None."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return text if is_json or text.lstrip()[:1] in {"{", "[", '"'} else None


def _is_avro(path: str, spec: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON document is an Avro schema: by its suffix, else by what it says."""
    if path.endswith(".avsc") or not isinstance(spec, dict):
        return True
    kind = spec.get("type")
    return isinstance(kind, str) and (kind in _AVRO_KINDS - {"array"} or (kind == "array" and isinstance(spec.get("items"), str)))

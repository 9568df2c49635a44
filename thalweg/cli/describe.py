"""``twg describe-schema``: the Arrow type of every field that an Avro schema or container, JSON Schema or Protobuf descriptor set gives."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg import registry
from thalweg.arrow import container
from thalweg.arrow.described import DescribedField, describe
from thalweg.arrow.metadata import DEFAULT_PREFIX
from thalweg.arrow.protobuf import DescriptorError, arrow_schema, messages
from thalweg.cli.render import printable
from thalweg.errors import UserError
from thalweg.model import options
from thalweg.ports.codec import DecodeRequest

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_BYTES = 16 << 20
_AVRO_KINDS = {"record", "enum", "fixed", "array", "map", "error"}
_MAX_DEPTH = 24


@dataclass(frozen=True, slots=True)
class _Found:
    """What a file describes."""

    kind: str
    name: str
    schema: pa.Schema
    notices: tuple[str, ...] = ()


def describe_schema(path: str, *, message: str | None = None, format: str = "text") -> int:  # noqa: A002 - the option's own name
    """Print every field's path, Arrow type and nullability; raises UserError for a file that is no schema."""
    data = _read(path)
    text = _container(path, data) if data.startswith(container.MAGIC) else _text(data)
    try:
        spec = json.loads(text) if text is not None else None
    except (json.JSONDecodeError, RecursionError) as e:
        if path.endswith((".avsc", ".json")):
            raise UserError(f"the file is no JSON: {e}", where=path) from None
        spec = None
    if spec is None:
        found = _protobuf(path, data, message)
    else:
        assert text is not None
        found = _avro(path, text, spec, message) if _is_avro(path, spec) else _json_schema(path, text, message)
    fields = list(describe(found.schema))
    sys.stdout.write(_as_json(found, fields) if format == "json" else _as_text(found, fields))
    return 0


def _container(path: str, data: bytes) -> str:
    """The schema in the header of an Avro container file."""
    try:
        return container.read_header(io.BytesIO(data)).schema
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


def _text(data: bytes) -> str | None:
    """UTF-8 text that could be JSON, else None."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return text if text.lstrip()[:1] in {"{", "[", '"'} else None


def _is_avro(path: str, spec: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a JSON document is an Avro schema: by its suffix, else by what it says."""
    if path.endswith((".avsc", ".avro")) or not isinstance(spec, dict):
        return True
    kind = spec.get("type")
    return isinstance(kind, str) and (kind in _AVRO_KINDS - {"array"} or (kind == "array" and isinstance(spec.get("items"), str)))


def _resolve(codec: str, path: str, values: dict[str, str]) -> _Found:
    """The schema that a codec gives for its own options, exactly as a pipeline would see it."""
    plugin = registry.load("codecs", codec)
    found, errors = options.read(plugin.options, values)
    if errors:
        raise errors[0]
    request = DecodeRequest(codec, None, found, None, DEFAULT_PREFIX)
    try:
        decoder = plugin.decoder(request, None)
    except UserError as e:
        raise UserError(e.message, where=path, hint=e.hint) from None
    return _Found(codec, "", decoder.schema, decoder.notices)


def _avro(path: str, text: str, spec: Any, message: str | None) -> _Found:  # noqa: ANN401 - any JSON
    """An Avro schema."""
    found = _resolve("avro", path, {"avro.schema": text})
    short = spec.get("name", "") if isinstance(spec, dict) else ""
    name = f"{spec['namespace']}.{short}" if short and "." not in short and spec.get("namespace") else short
    if message is not None and message not in {name, short}:
        raise UserError(f"the file holds no record '{message}'", where=path, hint=f"it holds {name or 'no named type at its root'}")
    return _Found("avro", name, found.schema, found.notices)


def _json_schema(path: str, text: str, message: str | None) -> _Found:
    """A JSON Schema."""
    if message is not None:
        raise UserError("--message is for files that hold several messages; a JSON Schema is one", where=path)
    return _resolve("json", path, {"json.schema": text})


def _protobuf(path: str, data: bytes, message: str | None) -> _Found:
    """One message of a descriptor set: the one that is named, or the only one."""
    try:
        known = messages(data)
        own = [n for n in known if not n.startswith("google.protobuf.")]
        names = own if message is None else [n for n in known if message in {n, n.rpartition(".")[2]}]
        if len(names) != 1:
            said = f"holds no message '{message}'" if message is not None and not names else "holds several messages: say which with --message"
            raise UserError(f"the file {said}", where=path, hint=f"it holds {', '.join(own[:20]) or 'none'}")
        schema, cuts = arrow_schema(known[names[0]], _MAX_DEPTH)
    except DescriptorError as e:
        raise UserError(str(e), where=path, hint="make one with: protoc --include_imports --descriptor_set_out=FILE x.proto") from None
    return _Found("protobuf", names[0], schema, tuple(cuts))


def _as_text(found: _Found, fields: list[DescribedField]) -> str:
    """Three columns, aligned; notices below."""
    rows = [("field", "Arrow type", "nullable")]
    rows += [(f.path, f.short + (f" ({f.meaning})" if f.meaning else ""), "yes" if f.nullable else "no") for f in fields]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    lines = [f"{found.kind} {found.name}".rstrip()]
    lines += [f"{path:<{widths[0]}}  {kind:<{widths[1]}}  {nullable}" for path, kind, nullable in rows]
    lines += [f"warning: {notice}" for notice in found.notices]
    return "".join(f"{printable(line)}\n" for line in lines)


def _as_json(found: _Found, fields: list[DescribedField]) -> str:
    """One object: kind, name, fields, notices."""
    described = [{"path": f.path, "type": str(f.type), "nullable": f.nullable, **({"meaning": f.meaning} if f.meaning else {})} for f in fields]
    return json.dumps({"format": found.kind, "name": found.name, "fields": described, "notices": found.notices}, indent=2, ensure_ascii=False) + "\n"

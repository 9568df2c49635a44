"""A client for Apicurio Registry's own API, version 2 or 3: schemas by global or content id, and by artifact."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

from thalweg.errors import SchemaUnavailable, SchemaUnknown
from thalweg.model.clock import SystemClock
from thalweg.ports.answers import AnswerCache
from thalweg.ports.http_client import HttpClient
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry
from thalweg.registries.apicurio.options import GLOBAL

if TYPE_CHECKING:
    from thalweg.model.clock import Clock
    from thalweg.ports.http_client import Answer
    from thalweg.registries.apicurio.options import ApicurioOptions

NEGATIVE_NS: Final = 60_000_000_000
"""How long "there is no such schema" is believed."""
_MAX_REFERENCES: Final = 1_000
_API: Final = "/apis/registry/v3"
_TYPE_HEADER: Final = "X-Registry-ArtifactType"
_KINDS: Final = frozenset({"AVRO", "JSON", "PROTOBUF"})

Place = tuple[str, str, str]
"""Group, artifact and version."""


class ApicurioRegistry(SchemaRegistry):
    """Thread-safe; retries what may pass, remembers what was answered."""

    def __init__(self, url: str, options: ApicurioOptions, clock: Clock | None = None, *, wait_initial: float = 0.1) -> None:
        """Asks nobody yet. A URL without a path gets that of version 3. ``wait_initial`` is the first pause between attempts, in seconds."""
        parts = urlsplit(url)
        path = parts.path.rstrip("/") or _API
        full = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        self._http = HttpClient(full, options, example="http://localhost:8080/apis/registry/v3", wait_initial=wait_initial)
        self._second = path.endswith("/v2")
        self._ids = "globalIds" if options.id == GLOBAL else "contentIds"
        self._number = "globalId" if options.id == GLOBAL else "contentId"
        self._group = options.group
        self._cache: AnswerCache[RegisteredSchema] = AnswerCache(clock or SystemClock(), NEGATIVE_NS)

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """``/ids/globalIds/{id}`` or ``/ids/contentIds/{id}``."""
        if isinstance(schema_id, str):
            raise SchemaUnknown(f"Apicurio Registry has no schema by GUID ({schema_id}): its schemas have numbers", where=self._http.url)
        return self._cache.get(("id", schema_id), lambda: self._fetch(schema_id, {}, ()))

    def latest(self, subject: str) -> RegisteredSchema:
        """The newest version of the artifact ``subject`` of the group."""
        return self._cache.get(("artifact", subject), lambda: self._version((self._group, subject, ""), {}, ()))

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Not here: test data is written through other registries."""
        message = f"the {schema.kind} schema of '{subject}' is not registered through Apicurio's own API"
        raise SchemaUnavailable(message, where=self._http.url, hint="use its Confluent API, /apis/ccompat/v7")

    def hasten(self) -> None:
        """The run is being stopped: no question is asked a second time."""
        self._http.hasten()

    def close(self) -> None:
        """Close the connections; what was answered stays known."""
        self._http.close()

    def _version(self, place: Place, known: dict[Place, RegisteredSchema], above: tuple[Place, ...]) -> RegisteredSchema:
        """The schema of a version, the newest where that is empty; each version is asked for once."""
        if len(known) > _MAX_REFERENCES:
            raise SchemaUnknown(f"the schema has more than {_MAX_REFERENCES} references", where=self._http.url)
        if place in above:
            cycle = " -> ".join(f"{a} version {v}" for _, a, v in [*above, place])
            raise SchemaUnknown(f"the schema's references form a cycle: {cycle}", where=self._http.url)
        if place not in known:
            path = self._meta_path(place)
            meta = self._asked(path, f"artifact '{place[1]}' in group '{place[0]}'").fields
            kind = str(meta.get("artifactType") or meta.get("type") or "")
            if not isinstance(meta.get(self._number), int):
                raise SchemaUnavailable(f"the registry's answer holds no {self._number}", where=self._http.url + path)
            known[place] = self._fetch(meta[self._number], known, (*above, place), kind)
        return known[place]

    def _meta_path(self, place: Place) -> str:
        """Where the numbers of a version stand."""
        group, artifact, version = (quote(part, safe="") for part in place)
        base = f"/groups/{group}/artifacts/{artifact}"
        if self._second:
            return f"{base}/versions/{version}/meta" if version else f"{base}/meta"
        return f"{base}/versions/{version or 'branch=latest'}"

    def _fetch(self, number: int, known: dict[Place, RegisteredSchema], above: tuple[Place, ...], kind: str = "") -> RegisteredSchema:
        """A schema by its number, with all that it refers to."""
        path = f"/ids/{self._ids}/{number}"
        answer = self._asked(f"{path}?returnArtifactType=true" if self._ids == "globalIds" else path, f"schema with {self._number} {number}")
        try:
            text = answer.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise SchemaUnavailable("the registry's answer is no text in UTF-8", where=self._http.url + path) from None
        kind = kind or answer.headers.get(_TYPE_HEADER, "")
        references = self._asked(f"{path}/references", f"references of {number}").document
        return RegisteredSchema(number, kind if kind in _KINDS else kind_of(text), text, self._followed(references, path, known, above))

    def _followed(
        self, listed: Any, path: str, known: dict[Place, RegisteredSchema], above: tuple[Place, ...]  # noqa: ANN401 - any JSON
    ) -> tuple[tuple[str, RegisteredSchema], ...]:
        """The schemas that an answer lists as references."""
        try:
            wanted = [(str(r["name"]), (str(r.get("groupId") or "default"), str(r["artifactId"]), str(r.get("version") or ""))) for r in listed or ()]
        except (KeyError, TypeError, AttributeError):
            raise SchemaUnavailable("the registry's list of references makes no sense", where=self._http.url + path) from None
        return tuple((name, self._version(place, known, above)) for name, place in wanted)

    def _asked(self, path: str, what: str) -> Answer:
        """A good answer, the right error for any other."""
        answer = self._http.ask("GET", path)
        message = answer.said("title", "message", "detail", "name")
        if answer.not_found and answer.fields.get("error_code", answer.fields.get("status")) is not None:
            raise SchemaUnknown(f"the registry knows no {what}: {message}", where=self._http.url)
        if not answer.good:
            raise self._http.refusal(answer, path, message)
        return answer


def kind_of(text: str) -> str:
    """What a schema's text is, where the registry does not say: Protobuf is no JSON, and of JSON only JSON Schemas are objects without Avro's types."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "PROTOBUF"
    if not isinstance(found, dict) or "fields" in found or "symbols" in found or "name" in found:
        return "AVRO"
    return "JSON" if {"$schema", "$ref", "properties", "oneOf", "anyOf", "allOf", "$defs", "definitions"} & found.keys() or found.get("type") == "object" else "AVRO"

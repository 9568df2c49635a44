"""A client for Confluent's schema registry protocol: Confluent, Redpanda, Apicurio's ``ccompat``, Karapace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from thalweg.errors import SchemaUnavailable, SchemaUnknown
from thalweg.model.clock import SystemClock
from thalweg.ports.answers import AnswerCache
from thalweg.ports.http_client import HttpClient
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry

if TYPE_CHECKING:
    from thalweg.model.clock import Clock
    from thalweg.registries.confluent.options import ConfluentOptions

NEGATIVE_NS: Final = 60_000_000_000
"""How long "there is no such schema" is believed."""
_MAX_REFERENCES: Final = 1_000
_UNKNOWN: Final = frozenset({40401, 40402, 40403})
"""Error codes that say: subject, version or schema not found."""
_MEDIA: Final = "application/vnd.schemaregistry.v1+json"


class ConfluentRegistry(SchemaRegistry):
    """Thread-safe; retries what may pass, remembers what was answered."""

    def __init__(self, url: str, options: ConfluentOptions, clock: Clock | None = None, *, wait_initial: float = 0.1) -> None:
        """Asks nobody yet. ``wait_initial`` is the first pause between attempts, in seconds; it doubles."""
        accepted = {"Accept": f"{_MEDIA}, application/json"}
        self._http = HttpClient(url, options, example="http://localhost:8081", headers=accepted, wait_initial=wait_initial)
        self._cache: AnswerCache[RegisteredSchema] = AnswerCache(clock or SystemClock(), NEGATIVE_NS)

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """``/schemas/ids/{id}`` for a number, ``/schemas/guids/{guid}`` for a GUID."""
        kind = "ids" if isinstance(schema_id, int) else "guids"
        return self._cache.get(("id", schema_id), lambda: self._fetch(f"/schemas/{kind}/{schema_id}", schema_id))

    def latest(self, subject: str) -> RegisteredSchema:
        """``/subjects/{subject}/versions/latest``; the answer stays the same as long as the client lives."""
        return self._cache.get(("subject", subject), lambda: self._fetch(f"/subjects/{quote(subject, safe='')}/versions/latest"))

    def version(self, subject: str, number: int) -> RegisteredSchema:
        """``/subjects/{subject}/versions/{number}``."""
        return self._cache.get(("version", subject, number), lambda: self._fetch(f"/subjects/{quote(subject, safe='')}/versions/{number}"))

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """``POST /subjects/{subject}/versions``."""
        answer = self._ask("POST", f"/subjects/{quote(subject, safe='')}/versions", {"schema": schema.text, "schemaType": schema.kind})
        if not isinstance(answer.get("id"), int):
            raise SchemaUnavailable("the registry's answer holds no id", where=self._http.url)
        return int(answer["id"])

    def hasten(self) -> None:
        """The run is being stopped: no question is asked a second time."""
        self._http.hasten()

    def close(self) -> None:
        """Close the connections; what was answered stays known."""
        self._http.close()

    def _fetch(self, path: str, schema_id: int | str | None = None) -> RegisteredSchema:
        """One schema and everything that it refers to, each version asked for once."""
        return self._schema(self._ask("GET", path), path, schema_id, (), {})

    def _schema(
        self, answer: dict[str, Any], path: str, schema_id: int | str | None,
        above: tuple[tuple[str, int], ...], known: dict[tuple[str, int], RegisteredSchema],
    ) -> RegisteredSchema:
        """The schema of an answer. ``above`` are the references on the way here, ``known`` those that were asked for already."""
        try:
            text, kind = str(answer["schema"]), str(answer.get("schemaType") or "AVRO")
            wanted = [(str(r["name"]), str(r["subject"]), int(r["version"])) for r in answer.get("references") or ()]
        except (KeyError, TypeError, ValueError):
            raise SchemaUnavailable("the registry's answer holds no schema", where=self._http.url + path) from None
        references = []
        for name, subject, version in wanted:
            key = (subject, version)
            if len(known) > _MAX_REFERENCES:
                raise SchemaUnknown(f"the schema has more than {_MAX_REFERENCES} references", where=self._http.url)
            if key in above:
                cycle = " -> ".join(f"{s} version {v}" for s, v in [*above, key])
                raise SchemaUnknown(f"the schema's references form a cycle: {cycle}", where=self._http.url)
            if key not in known:
                inside = f"/subjects/{quote(subject, safe='')}/versions/{version}"
                known[key] = self._schema(self._ask("GET", inside), inside, None, (*above, key), known)
            references.append((name, known[key]))
        found = answer.get("id", path) if schema_id is None else schema_id
        return RegisteredSchema(found, kind, text, tuple(references))

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object of a good answer, the right error for any other."""
        answer = self._http.ask(method, path, body)
        message = answer.said("message")
        if answer.not_found and answer.fields.get("error_code") in _UNKNOWN:
            raise SchemaUnknown(f"the registry knows no {path.lstrip('/')}: {message}", where=self._http.url)
        if not answer.good:
            raise self._http.refusal(answer, path, message)
        return answer.fields

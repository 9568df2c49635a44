"""A client for Confluent's schema registry protocol: Confluent, Redpanda, Apicurio's ``ccompat``, Karapace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

import httpx
import stamina

from thalweg.errors import SchemaUnavailable, SchemaUnknown, UserError
from thalweg.model.clock import SystemClock
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry
from thalweg.registries.confluent.cache import AnswerCache

if TYPE_CHECKING:
    from thalweg.model.clock import Clock
    from thalweg.registries.confluent.options import ConfluentOptions

ATTEMPTS: Final = 4
NEGATIVE_NS: Final = 60_000_000_000
"""How long "there is no such schema" is believed."""
MAX_ANSWER_BYTES: Final = 16 << 20
_MAX_REFERENCES: Final = 1_000
_UNKNOWN: Final = frozenset({40401, 40402, 40403})
"""Error codes that say: subject, version or schema not found."""
_NOT_FOUND, _TOO_MANY, _SERVER_ERROR = 404, 429, 500
_MEDIA: Final = "application/vnd.schemaregistry.v1+json"
_SHOWN: Final = 200


class _TransientError(Exception):
    """An answer, or none, after which the same question may be asked again."""


class ConfluentRegistry(SchemaRegistry):
    """Thread-safe; retries what may pass, remembers what was answered."""

    def __init__(self, url: str, options: ConfluentOptions, clock: Clock | None = None, *, wait_initial: float = 0.1) -> None:
        """Asks nobody yet. ``wait_initial`` is the first pause between attempts, in seconds; it doubles."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UserError(f"{bare_url(url)} is no URL of a schema registry", hint="for example http://localhost:8081")
        self._url = bare_url(url).rstrip("/")
        self._wait_initial = wait_initial
        self._cache: AnswerCache[RegisteredSchema] = AnswerCache(clock or SystemClock(), NEGATIVE_NS)
        self._http = httpx.Client(
            auth=_basic_auth(options, parts.username, parts.password), headers=_headers(options),
            verify=options.tls() if parts.scheme == "https" else False, timeout=options.timeout_ns / 1e9,
        )

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
            raise SchemaUnavailable("the registry's answer holds no id", where=self._url)
        return int(answer["id"])

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
            raise SchemaUnavailable("the registry's answer holds no schema", where=self._url + path) from None
        references = []
        for name, subject, version in wanted:
            key = (subject, version)
            if key in above or len(known) > _MAX_REFERENCES:
                cycle = " -> ".join(f"{s} version {v}" for s, v in [*above, key])
                raise SchemaUnknown(f"the schema's references form a cycle: {cycle}", where=self._url)
            if key not in known:
                inside = f"/subjects/{quote(subject, safe='')}/versions/{version}"
                known[key] = self._schema(self._ask("GET", inside), inside, None, (*above, key), known)
            references.append((name, known[key]))
        found = answer.get("id", path) if schema_id is None else schema_id
        return RegisteredSchema(found, kind, text, tuple(references))

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One question, asked again a few times while the registry gives no answer."""
        caller = stamina.RetryingCaller(
            attempts=ATTEMPTS, wait_initial=self._wait_initial, wait_max=2.0, wait_jitter=self._wait_initial, timeout=None
        )
        try:
            return caller(_TransientError, self._ask_once, method, path, body)
        except _TransientError as e:
            message = f"the schema registry gives no answer: {e}"
            raise SchemaUnavailable(message, where=self._url + path, hint="nothing is lost: reading goes on when it is back") from None

    def _ask_once(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        """One request and its answer, bounded in size."""
        try:
            with self._http.stream(method, self._url + path, json=body) as response:
                data = bytearray()
                for chunk in response.iter_bytes():
                    data += chunk
                    if len(data) > MAX_ANSWER_BYTES:
                        raise SchemaUnavailable(f"the registry's answer is larger than {MAX_ANSWER_BYTES} bytes", where=self._url + path)
        except httpx.HTTPError as e:
            raise _TransientError(f"{type(e).__name__}: {e}"[:_SHOWN]) from None
        except RuntimeError as e:
            raise SchemaUnavailable(f"the registry's client is closed ({e})", where=self._url + path) from None
        return self._answer(response.status_code, bytes(data), path)

    def _answer(self, status: int, data: bytes, path: str) -> dict[str, Any]:
        """The JSON object of a good answer, the right error for any other."""
        if status == _TOO_MANY or status >= _SERVER_ERROR:
            raise _TransientError(f"status {status}")
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        answer = answer if isinstance(answer, dict) else {}
        message = str(answer.get("message", "no message"))[:_SHOWN]
        if status == _NOT_FOUND and answer.get("error_code") in _UNKNOWN:
            raise SchemaUnknown(f"the registry knows no {path.lstrip('/')}: {message}", where=self._url)
        if status // 100 != 2:  # noqa: PLR2004 - the class of good answers
            hint = "check the URL and the credentials"
            raise SchemaUnavailable(f"the schema registry refuses (status {status}): {message}", where=self._url + path, hint=hint)
        return answer


def bare_url(url: str) -> str:
    """A URL without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _basic_auth(options: ConfluentOptions, user: str | None, password: str | None) -> tuple[str, str] | None:
    """User and password from the option, else from the URL."""
    if options.user_info is not None:
        name, _, secret = options.user_info.partition(":")
        return name, secret
    return (user, password or "") if user is not None else None


def _headers(options: ConfluentOptions) -> dict[str, str]:
    """What every request says."""
    out = {"Accept": f"{_MEDIA}, application/json"}
    if options.bearer_token is not None:
        out["Authorization"] = f"Bearer {options.bearer_token}"
    return out

"""A client for the AWS Glue Schema Registry: ``GetSchemaVersion`` as JSON over HTTP, signed by botocore."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from thalweg.errors import SchemaUnavailable, SchemaUnknown
from thalweg.model.clock import SystemClock
from thalweg.ports.answers import AnswerCache
from thalweg.ports.http_client import HttpClient
from thalweg.ports.schemas import RegisteredSchema, SchemaRegistry
from thalweg.registries.glue.signing import Signer

if TYPE_CHECKING:
    from thalweg.model.clock import Clock
    from thalweg.ports.http_client import Answer
    from thalweg.registries.glue.options import GlueOptions

NEGATIVE_NS: Final = 60_000_000_000
"""How long "there is no such schema" is believed."""
_HEADERS: Final = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AWSGlue.GetSchemaVersion"}
_PASSING: Final = ("ThrottlingException", "Throttling", "RequestLimitExceeded", "ProvisionedThroughputExceededException", "InternalServiceException")
_UNKNOWN: Final = "EntityNotFoundException"
_AVAILABLE: Final = "AVAILABLE"


class GlueRegistry(SchemaRegistry):
    """Thread-safe; retries what may pass, remembers what was answered."""

    def __init__(self, url: str, options: GlueOptions, clock: Clock | None = None, *, wait_initial: float = 0.1) -> None:
        """Asks nobody yet; without ``url`` it is AWS's own endpoint of the region. Raises UserError where there is no region."""
        signer = Signer(options)
        example = "https://glue.eu-central-1.amazonaws.com"
        self._http = HttpClient(
            url or signer.endpoint, options, example=example, auth=signer, passing=_may_pass, wait_initial=wait_initial
        )
        self._registry = options.registry
        self._cache: AnswerCache[RegisteredSchema] = AnswerCache(clock or SystemClock(), NEGATIVE_NS)

    def by_id(self, schema_id: int | str) -> RegisteredSchema:
        """A schema version by its UUID."""
        if not isinstance(schema_id, str) or not _is_uuid(schema_id):
            raise SchemaUnknown(f"Glue has no schema version {schema_id}: its versions have UUIDs", where=self._http.url)
        return self._cache.get(("id", schema_id), lambda: self._fetch({"SchemaVersionId": schema_id}, f"schema version {schema_id}"))

    def latest(self, subject: str) -> RegisteredSchema:
        """The newest version of the schema named ``subject``."""
        body = {"SchemaId": {"RegistryName": self._registry, "SchemaName": subject}, "SchemaVersionNumber": {"LatestVersion": True}}
        return self._cache.get(("schema", subject), lambda: self._fetch(body, f"schema '{subject}' in registry '{self._registry}'"))

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Not here: Glue's ids are no numbers."""
        message = f"the {schema.kind} schema of '{subject}' is not registered in Glue from here"
        raise SchemaUnavailable(message, where=self._http.url, hint="aws glue register-schema-version")

    def hasten(self) -> None:
        """The run is being stopped: no question is asked a second time."""
        self._http.hasten()

    def close(self) -> None:
        """Close the connections; what was answered stays known."""
        self._http.close()

    def _fetch(self, body: dict[str, Any], what: str) -> RegisteredSchema:
        """One schema version; Glue has no references."""
        answer = self._http.ask("POST", "/", body, _HEADERS)
        message = answer.said("Message", "message")
        fault = _fault(answer)
        if fault == _UNKNOWN:
            raise SchemaUnknown(f"the registry knows no {what}: {message}", where=self._http.url)
        if not answer.good:
            raise self._http.refusal(answer, "", f"{fault or 'no code'}: {message}")
        found = answer.fields
        status = found.get("Status", _AVAILABLE)
        if status != _AVAILABLE:
            raise SchemaUnknown(f"{what} is not available: its status is {status}", where=self._http.url)
        try:
            return RegisteredSchema(str(found["SchemaVersionId"]), str(found["DataFormat"]), str(found["SchemaDefinition"]))
        except KeyError:
            raise SchemaUnavailable("the registry's answer holds no schema", where=self._http.url) from None


def _fault(answer: Answer) -> str:
    """The code of an error, empty for a good answer."""
    if answer.good:
        return ""
    said = str(answer.fields.get("__type") or answer.headers.get("x-amzn-ErrorType") or "")
    return said.rpartition("#")[2].partition(":")[0]


def _may_pass(answer: Answer) -> bool:
    """Whether an error is one of load: AWS says so with status 400."""
    return _fault(answer) in _PASSING


def _is_uuid(text: str) -> bool:
    """Whether a text is a UUID."""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False

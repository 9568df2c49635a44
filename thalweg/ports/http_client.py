"""Questions over HTTP, bounded in size and time, asked again while what went wrong may pass; never followed to another host."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

import httpx
import stamina

from thalweg.errors import SchemaUnavailable, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from thalweg.ports.http_options import HttpOptions

ATTEMPTS: Final = 4
MAX_ANSWER_BYTES: Final = 16 << 20
_NOT_FOUND, _TOO_MANY, _SERVER_ERROR = 404, 429, 500
_SHOWN: Final = 200


class _TransientError(Exception):
    """An answer, or none, after which the same question may be asked again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said."""

    status: int
    data: bytes
    headers: Mapping[str, str]
    """Names compare without case."""

    @property
    def good(self) -> bool:
        """Whether the status is one of success."""
        return self.status // 100 == 2  # noqa: PLR2004 - the class of good answers

    @property
    def not_found(self) -> bool:
        """Whether the status says that there is no such thing."""
        return self.status == _NOT_FOUND

    @property
    def document(self) -> Any:  # noqa: ANN401 - any JSON
        """The answer as JSON; None where it is none."""
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError):
            return None

    @property
    def fields(self) -> dict[str, Any]:
        """The answer's JSON object; empty where it is none."""
        found = self.document
        return found if isinstance(found, dict) else {}

    def said(self, *names: str) -> str:
        """The first of these members as text, cut to a line."""
        found = next((self.fields[n] for n in names if self.fields.get(n)), "no message")
        return " ".join(str(found)[:_SHOWN].split())


def _never(_answer: Answer) -> bool:
    """No answer but those of the protocol's own is passing."""
    return False


class HttpClient:
    """Thread-safe; connects when it is first asked."""

    def __init__(
        self, url: str, options: HttpOptions, *, example: str, headers: Mapping[str, str] | None = None, auth: httpx.Auth | None = None,
        passing: Callable[[Answer], bool] = _never, wait_initial: float = 0.1,
    ) -> None:
        """``wait_initial`` is the first pause between attempts, in seconds; it doubles. ``passing`` says which answers may pass besides 429 and 5xx.

        Raises UserError for a URL that is none; ``example`` is shown then.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UserError(f"{bare_url(url)} is no URL of a schema registry", hint=f"for example {example}")
        self.url = bare_url(url).rstrip("/")
        self._wait_initial, self._passing, self._seconds = wait_initial, passing, options.timeout_ns / 1e9
        self._hastened = threading.Event()
        stamina.instrumentation.set_on_retry_hooks([])  # what is tried again is said by our own log, or by the error in the end
        sent = dict(headers or {})
        if options.bearer_token is not None:
            sent["Authorization"] = f"Bearer {options.bearer_token}"
        self._http = httpx.Client(
            auth=auth or options.basic_auth(parts.username, parts.password), headers=sent, verify=options.tls() if parts.scheme == "https" else False,
            timeout=self._seconds, follow_redirects=False,
        )

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        """One question, asked again a few times while there is no answer. Raises SchemaUnavailable when there is none to the end."""
        caller = stamina.RetryingCaller(
            attempts=ATTEMPTS, wait_initial=self._wait_initial, wait_max=2.0, wait_jitter=self._wait_initial, timeout=None
        )
        data = None if body is None else json.dumps(body).encode()
        try:
            return caller(self._worth_another, self._ask_once, method, path, data, dict(headers or {}))
        except _TransientError as e:
            message = f"the schema registry gives no answer: {e}"
            raise SchemaUnavailable(message, where=self.url + path, hint="nothing is lost: records wait until it answers; a run that has ended can be started again then") from None

    def refusal(self, answer: Answer, path: str, message: str) -> SchemaUnavailable:
        """The error for an answer that says nothing about the schema."""
        hint = "check the URL and the credentials"
        if answer.status // 100 == 3:  # noqa: PLR2004 - the class of redirections
            hint = "it redirects; give the URL that it redirects to: credentials are not sent to another place"
        return SchemaUnavailable(f"the schema registry refuses (status {answer.status}): {message}", where=self.url + path, hint=hint)

    def hasten(self) -> None:
        """From now on no question is asked a second time; what is being asked has one attempt left at most. Called on any thread."""
        self._hastened.set()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _worth_another(self, error: Exception) -> bool:
        """Whether the question is asked again after this error."""
        return isinstance(error, _TransientError) and not self._hastened.is_set()

    def _ask_once(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Answer:
        """One request and its answer, bounded in size and time."""
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        ends = time.monotonic() + self._seconds
        try:
            with self._http.stream(method, self.url + path, content=data, headers=headers) as response:
                found = bytearray()
                for chunk in response.iter_bytes():
                    found += chunk
                    if len(found) > MAX_ANSWER_BYTES:
                        raise SchemaUnavailable(f"the registry's answer is larger than {MAX_ANSWER_BYTES} bytes", where=self.url + path)
                    if time.monotonic() > ends:
                        raise _TransientError(f"the answer is not complete after {self._seconds:g} s")
        except httpx.HTTPError as e:
            raise _TransientError(f"{type(e).__name__}: {e}"[:_SHOWN]) from None
        except RuntimeError as e:
            raise SchemaUnavailable(f"the registry's client is closed ({e})", where=self.url + path) from None
        answer = Answer(response.status_code, bytes(found), response.headers)
        if answer.status == _TOO_MANY or answer.status >= _SERVER_ERROR or self._passing(answer):
            raise _TransientError(f"status {answer.status}")
        return answer


def bare_url(url: str) -> str:
    """A URL without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

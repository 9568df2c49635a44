"""How a broker is reached, from the client's properties; whatever is not proved to mean the same here is refused."""

from __future__ import annotations

import contextlib
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from thalweg.native.rdkafka import Unproved
from thalweg.sources.kafka.fetch.scram import HASHES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PLAIN: Final = "PLAIN"
_MECHANISMS: Final = frozenset({PLAIN, *HASHES})
_PROTOCOLS: Final[Mapping[str, tuple[bool, bool]]] = {
    "plaintext": (False, False), "ssl": (True, False), "sasl_plaintext": (False, True), "sasl_ssl": (True, True),
}
"""Whether there is TLS, and whether there is a login."""
_FAMILIES: Final = ("ssl.", "sasl.", "security.", "socket.", "broker.address.", "plugin.")
_KNOWN: Final = frozenset({
    "security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password",
    "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem",
    "ssl.key.location", "ssl.key.pem", "ssl.key.password", "ssl.endpoint.identification.algorithm",
    # Nothing is read differently without these.
    "socket.timeout.ms", "socket.keepalive.enable", "socket.connection.setup.timeout.ms", "socket.nagle.disable", "socket.max.fails",
})
_REFUSED: Final = frozenset({"client.rack", "client.dns.lookup", "api.version.request", "broker.version.fallback"})
_FLAGS: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_MOST_BYTES: Final = 100_000_000
OVERHEAD: Final = 512
"""What the client allows an answer beside the records."""
_LONGEST_ID: Final = 1024


@dataclass(frozen=True, slots=True)
class Login:
    """Who we are, and how it is shown."""

    mechanism: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """Everything that a connection needs beside the broker's address."""

    client_id: str
    tls: ssl.SSLContext | None
    """It says as well whether the server's name is checked."""
    login: Login | None
    most_bytes: int
    """An answer that is larger is not taken."""


def access(conf: Mapping[str, str]) -> Access:
    """How the client of these properties reaches brokers; raises Unproved, with the property's name, where we would not do the same."""
    for key in conf:
        if key in _REFUSED or (key.startswith(_FAMILIES) and key not in _KNOWN):
            raise Unproved(f"'{key}' is set")
    if _flag(conf, "check.crcs", default=False):
        raise Unproved("'check.crcs' is set")
    client_id = conf.get("client.id", "rdkafka")
    if len(client_id.encode()) > _LONGEST_ID:
        raise Unproved("'client.id' is too long")
    protocol = _PROTOCOLS.get(conf.get("security.protocol", "plaintext").lower())
    if protocol is None:
        raise Unproved("'security.protocol' is not known")
    encrypted, authenticated = protocol
    return Access(client_id, _tls(conf) if encrypted else None, _login(conf) if authenticated else None, _most_bytes(conf))


def _login(conf: Mapping[str, str]) -> Login:
    """User and password; the mechanism has two names."""
    said = {conf[key] for key in ("sasl.mechanism", "sasl.mechanisms") if key in conf}
    if len(said) != 1 or not said <= _MECHANISMS:
        raise Unproved(f"'sasl.mechanism' is none of {', '.join(sorted(_MECHANISMS))}")
    for key in ("sasl.username", "sasl.password"):
        value = conf.get(key, "")
        if not value or not value.isascii() or not value.isprintable():
            raise Unproved(f"'{key}' is empty, or has characters beyond ASCII")
    return Login(said.pop(), conf["sasl.username"], conf["sasl.password"])


def _tls(conf: Mapping[str, str]) -> ssl.SSLContext:
    """Whom we trust, and who we are."""
    context = _trusting(conf)
    _certify(context, conf)
    check = conf.get("ssl.endpoint.identification.algorithm", "https").lower()
    if check not in {"https", "none"}:
        raise Unproved("'ssl.endpoint.identification.algorithm' is neither https nor none")
    verified = _flag(conf, "enable.ssl.certificate.verification", default=True)
    context.check_hostname = verified and check == "https"
    if not verified:
        context.verify_mode = ssl.CERT_NONE
    return context


def _trusting(conf: Mapping[str, str]) -> ssl.SSLContext:
    """The given authorities, or the system's."""
    key = _one_of(conf, "ssl.ca.location", "ssl.ca.pem")
    try:
        if key is None:
            context = ssl.create_default_context()
        elif key == "ssl.ca.pem":
            context = ssl.create_default_context(cadata=conf[key])
        elif Path(conf[key]).is_dir():
            context = ssl.create_default_context(capath=conf[key])
        else:
            context = ssl.create_default_context(cafile=conf[key])
    except (OSError, ValueError, TypeError) as e:
        raise _unreadable(key or "ssl.ca.location", e) from None
    # What Python has added to these checks since 3.13, one stricter and one laxer, the client does not do.
    context.verify_flags &= ~(ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN)
    return context


def _certify(context: ssl.SSLContext, conf: Mapping[str, str]) -> None:
    """Our own certificate and its key, if there are any."""
    certificate, key = _one_of(conf, "ssl.certificate.location", "ssl.certificate.pem"), _one_of(conf, "ssl.key.location", "ssl.key.pem")
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        raise Unproved("'ssl.certificate.location' and 'ssl.key.location' are not both set")
    try:
        with _file(conf, certificate) as certificate_file, _file(conf, key) as key_file:
            # Without any password, the library would ask for one on the terminal.
            context.load_cert_chain(certificate_file, key_file, password=conf.get("ssl.key.password", ""))
    except (OSError, ValueError, TypeError) as e:
        raise _unreadable(f"{certificate}' or '{key}", e) from None


@contextlib.contextmanager
def _file(conf: Mapping[str, str], name: str) -> Iterator[str]:
    """Where the content of a property lies: where it says, or for a while in a file that nobody else can read."""
    if not name.endswith(".pem"):
        yield conf[name]
        return
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(conf[name])
        file.flush()
        yield file.name


def _one_of(conf: Mapping[str, str], *keys: str) -> str | None:
    """Which of the properties is set."""
    given = [key for key in keys if key in conf]
    if len(given) > 1:
        raise Unproved(f"'{given[0]}' and '{given[1]}' are both set")
    if given and not conf[given[0]]:
        raise Unproved(f"'{given[0]}' is empty")
    return given[0] if given else None


def _unreadable(key: str, error: Exception) -> Unproved:
    """Why a file is no help, without its content."""
    reason = error.strerror if isinstance(error, OSError) else None
    return Unproved(f"'{key}' cannot be read: {reason or type(error).__name__}")


def _flag(conf: Mapping[str, str], key: str, *, default: bool) -> bool:
    """A truth value as the client reads it."""
    if key not in conf:
        return default
    found = _FLAGS.get(conf[key].lower())
    if found is None:
        raise Unproved(f"'{key}' is neither true nor false")
    return found


def _most_bytes(conf: Mapping[str, str]) -> int:
    """The largest answer; where it is not set, it follows the largest fetch."""
    fetch = _number(conf, "fetch.max.bytes", 0)
    return _number(conf, "receive.message.max.bytes", max(_MOST_BYTES, fetch + OVERHEAD))


def _number(conf: Mapping[str, str], key: str, default: int) -> int:
    """A whole number of bytes."""
    value = conf.get(key)
    if value is None:
        return default
    if not value.isascii() or not value.isdecimal() or int(value) >= 1 << 31:
        raise Unproved(f"'{key}' is no number of bytes")
    return int(value)

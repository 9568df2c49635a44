"""Which properties become a connection of our own, and that every other one is refused by its name."""

from __future__ import annotations

import ssl
import stat
import subprocess
from pathlib import Path

import pytest

from tests.services.certificates import made_certificates
from thalweg.native.rdkafka import Unproved
from thalweg.sources.kafka.fetch.access import Login, access

LOGIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "wonderland"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with certificates; the client's key lies there encrypted as well, by the word ``rabbit``."""
    folder = tmp_path_factory.mktemp("certificates")
    made_certificates(folder)
    command = ["openssl", "pkcs8", "-topk8", "-in", "client.key", "-out", "locked.key", "-passout", "pass:rabbit"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def test_what_is_not_said() -> None:
    """Without properties there is neither TLS nor a login, and the client's own limits hold."""
    found = access({})

    assert (found.client_id, found.tls, found.login, found.most_bytes) == ("rdkafka", None, None, 100_000_000)


def test_what_has_nothing_to_do_with_connections() -> None:
    """Properties of groups and fetches, and of sockets where nothing is read differently, do not matter."""
    found = access({
        "client.id": "twg-p", "group.id": "g", "fetch.min.bytes": "1", "check.crcs": "false", "client.software.name": "x",
        "socket.timeout.ms": "1000", "socket.keepalive.enable": "true", "socket.connection.setup.timeout.ms": "1000",
        "socket.nagle.disable": "true", "socket.max.fails": "3", "receive.message.max.bytes": "2000", "security.protocol": "PlainText",
    })

    assert (found.client_id, found.tls, found.login, found.most_bytes) == ("twg-p", None, None, 2000)


def test_larger_fetches_make_larger_answers() -> None:
    """The client allows what its largest fetch needs, unless told otherwise."""
    assert access({"fetch.max.bytes": "200000000"}).most_bytes == 200_000_512
    assert access({"fetch.max.bytes": "200000000", "receive.message.max.bytes": "300000000"}).most_bytes == 300_000_000


@pytest.mark.parametrize("key", [
    "ssl.crl.location", "ssl.keystore.location", "ssl.cipher.suites", "ssl.engine.id", "ssl.providers", "sasl.kerberos.keytab", "sasl.oauthbearer.config",
    "security.providers", "socket.send.buffer.bytes", "broker.address.family", "plugin.library.paths", "client.rack", "client.dns.lookup",
    "api.version.request", "broker.version.fallback",
])
def test_what_is_not_handled(key: str) -> None:
    """Whatever else has to do with connections is refused by its name, its value unseen."""
    with pytest.raises(Unproved, match=rf"^'{key}' is set$"):
        access({key: "hunter2"})


@pytest.mark.parametrize(("conf", "reason"), [
    ({"check.crcs": "true"}, "'check.crcs' is set"),
    ({"check.crcs": "maybe"}, "'check.crcs' is neither"),
    ({"client.id": "x" * 2000}, "'client.id' is too long"),
    ({"security.protocol": "tls"}, "'security.protocol' is not known"),
    ({"receive.message.max.bytes": "many"}, r"'receive\.message\.max\.bytes' is no number"),
    ({"receive.message.max.bytes": "2147483648"}, r"'receive\.message\.max\.bytes' is no number"),
    ({"fetch.max.bytes": "-1"}, r"'fetch\.max\.bytes' is no number"),
])
def test_values_that_mean_something_else(conf: dict[str, str], reason: str) -> None:
    """A value that we would read differently is refused."""
    with pytest.raises(Unproved, match=reason):
        access(conf)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("key", ["sasl.mechanism", "sasl.mechanisms"])
def test_a_login(mechanism: str, key: str) -> None:
    """The mechanism may stand under both of its names; the password shows nowhere."""
    conf = {k: v for k, v in LOGIN.items() if k != "sasl.mechanism"} | {key: mechanism}
    found = access(conf)

    assert found.login == Login(mechanism, "alice", "wonderland")
    assert "wonderland" not in repr(found)


@pytest.mark.parametrize(("more", "key"), [
    ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism"),
    ({"sasl.mechanism": "OAUTHBEARER"}, "sasl.mechanism"),
    ({"sasl.mechanism": "plain"}, "sasl.mechanism"),
    ({"sasl.mechanisms": "SCRAM-SHA-256"}, "sasl.mechanism"),
    ({"sasl.username": ""}, "sasl.username"),
    ({"sasl.username": "alícia"}, "sasl.username"),
    ({"sasl.password": ""}, "sasl.password"),
    ({"sasl.password": "wünderland"}, "sasl.password"),
    ({"sasl.password": "wonder\0land"}, "sasl.password"),
])
def test_a_login_that_is_none(more: dict[str, str], key: str) -> None:
    """Other mechanisms, missing words, and words that would have to be prepared are refused."""
    with pytest.raises(Unproved, match=f"'{key}'") as caught:
        access({**LOGIN, **more})

    assert "land" not in str(caught.value)


def test_a_mechanism_must_be_said() -> None:
    """The client's default mechanism is none of ours."""
    with pytest.raises(Unproved, match=r"'sasl\.mechanism' is none of"):
        access({key: value for key, value in LOGIN.items() if key != "sasl.mechanism"})


@pytest.mark.parametrize(("more", "verified", "named"), [
    ({}, True, True),
    ({"ssl.endpoint.identification.algorithm": "HTTPS"}, True, True),
    ({"ssl.endpoint.identification.algorithm": "none"}, True, False),
    ({"enable.ssl.certificate.verification": "False"}, False, False),
    ({"enable.ssl.certificate.verification": "1"}, True, True),
])
def test_what_is_checked(more: dict[str, str], verified: bool, named: bool) -> None:  # noqa: FBT001 - columns of a table
    """The certificate and the name are, unless told otherwise."""
    found = access({"security.protocol": "ssl", **more}).tls

    assert found is not None
    assert (found.verify_mode == ssl.CERT_REQUIRED, found.check_hostname) == (verified, named)


def authorities(**more: str) -> int:
    """How many authorities are trusted."""
    found = access({"security.protocol": "SSL", **{key.replace("_", "."): value for key, value in more.items()}}).tls

    assert found is not None

    return found.cert_store_stats()["x509_ca"]


def test_who_is_trusted(certificates: Path) -> None:
    """A file or a text names the only authorities there are; a folder is looked into later."""
    assert authorities(ssl_ca_location=str(certificates / "ca.pem")) == 1
    assert authorities(ssl_ca_pem=(certificates / "ca.pem").read_text()) == 1
    assert authorities(ssl_ca_location=str(certificates)) == 0


@pytest.mark.parametrize(("certificate", "key"), [("location", "location"), ("pem", "pem"), ("location", "pem")])
@pytest.mark.parametrize("name", ["client.key", "locked.key"])
def test_a_certificate_of_our_own(certificates: Path, monkeypatch: pytest.MonkeyPatch, certificate: str, key: str, name: str) -> None:
    """It is read from files or texts, its key encrypted or not; a text is in a file for a moment, for its owner alone."""
    load, seen = ssl.SSLContext.load_cert_chain, []

    def spied(context: ssl.SSLContext, *paths: str, password: str) -> None:
        load(context, *paths, password=password)
        seen.extend((path, stat.S_IMODE(Path(path).stat().st_mode)) for path in paths)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spied)
    conf = {"security.protocol": "ssl", "ssl.key.password": "rabbit"}
    for prefix, form, file in (("ssl.certificate", certificate, "client.pem"), ("ssl.key", key, name)):
        path = certificates / file
        conf[f"{prefix}.{form}"] = str(path) if form == "location" else path.read_text()
    found = access(conf)
    made = [(path, mode) for path, mode in seen if not path.startswith(str(certificates))]

    assert found.tls is not None
    assert len(made) == (certificate, key).count("pem")
    assert all(mode == 0o600 and not Path(path).exists() for path, mode in made)
    assert "rabbit" not in repr(found)


@pytest.mark.parametrize(("more", "reason"), [
    ({"ssl.ca.location": "{}/none.pem"}, r"'ssl\.ca\.location' cannot be read"),
    ({"ssl.ca.location": "{}/client.key"}, r"'ssl\.ca\.location' cannot be read"),
    ({"ssl.ca.location": ""}, r"'ssl\.ca\.location' is empty"),
    ({"ssl.ca.location": "{}/ca.pem", "ssl.ca.pem": "x"}, r"'ssl\.ca\.location' and 'ssl\.ca\.pem' are both set"),
    ({"ssl.ca.pem": "no certificate"}, r"'ssl\.ca\.pem' cannot be read"),
    ({"ssl.ca.pem": "nö"}, r"'ssl\.ca\.pem' cannot be read"),
    ({"ssl.certificate.location": "{}/client.pem"}, "are not both set"),
    ({"ssl.key.location": "{}/client.key"}, "are not both set"),
    ({"ssl.certificate.location": "{}/client.pem", "ssl.key.location": "{}/none.key"}, r"'ssl\.key\.location' cannot be read"),
    ({"ssl.certificate.location": "{}/client.pem", "ssl.key.location": "{}/server.key"}, r"'ssl\.key\.location' cannot be read"),
    ({"ssl.certificate.location": "{}/client.pem", "ssl.key.location": "{}/locked.key"}, r"'ssl\.key\.location' cannot be read"),
    ({"ssl.certificate.location": "{}/client.pem", "ssl.key.location": "{}/locked.key", "ssl.key.password": "hare"}, r"cannot be read"),
    ({"ssl.certificate.location": "{}/client.pem", "ssl.key.pem": "hunter2"}, r"'ssl\.key\.pem' cannot be read"),
    ({"ssl.endpoint.identification.algorithm": "dns"}, r"'ssl\.endpoint\.identification\.algorithm' is neither"),
    ({"enable.ssl.certificate.verification": "no"}, r"'enable\.ssl\.certificate\.verification' is neither"),
])
def test_files_that_are_no_help(certificates: Path, more: dict[str, str], reason: str) -> None:
    """What cannot be read, does not fit, or is said twice is refused; nobody is asked for a password, and no content shows."""
    conf = {key: value.replace("{}", str(certificates)) for key, value in more.items()}
    with pytest.raises(Unproved, match=reason) as caught:
        access({"security.protocol": "ssl", **conf})

    assert not any(word in str(caught.value) for word in ("hunter2", "hare", str(certificates)))

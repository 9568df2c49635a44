"""How a registry is reached over HTTP: credentials, certificates and time-out, the same for every kind of registry."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from thalweg.errors import UserError
from thalweg.model.options import at_least, duration, option, read

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Credentials, certificates and time-out."""

    user_info: str | None = option("basic-auth.user-info", default=None, doc="`user:password`", secret=True)
    bearer_token: str | None = option("bearer-auth.token", default=None, doc="bearer token", secret=True)
    ca_file: str | None = option("ssl.ca.location", default=None, doc="the authorities to trust, a PEM file")
    certificate_file: str | None = option("ssl.certificate.location", default=None, doc="the client's certificate, a PEM file")
    key_file: str | None = option("ssl.key.location", default=None, doc="the key of the client's certificate, a PEM file")
    timeout_ns: int = option("timeout", at_least(1, duration), default=10_000_000_000, doc="longest wait for one answer")

    def tls(self) -> ssl.SSLContext | bool:
        """What verifies the server; True for the system's own rules. Raises UserError for a file that cannot be read."""
        if self.ca_file is None and self.certificate_file is None:
            return True
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.certificate_file is not None:
                context.load_cert_chain(self.certificate_file, self.key_file)
        except OSError as e:
            raise UserError(f"the registry's TLS files cannot be read: {e}", hint="check the 'ssl.*.location' options") from None
        return context

    def basic_auth(self, user: str | None, password: str | None) -> tuple[str, str] | None:
        """User and password from the option, else those of the URL."""
        if self.user_info is not None:
            name, _, secret = self.user_info.partition(":")
            return name, secret
        return (user, password or "") if user is not None else None


def read_registry_options(cls: type[T], values: Mapping[str, str]) -> T:
    """A registry's options; keys that belong to the format are left alone. Raises the first OptionError."""
    found, errors = read(cls, values)
    if found is None:
        raise errors[0]
    return found

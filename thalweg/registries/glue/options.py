"""Where the AWS Glue Schema Registry is and who asks it."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.options import option
from thalweg.ports.http_options import HttpOptions


@dataclass(frozen=True, slots=True)
class GlueOptions(HttpOptions):
    """Region, registry, credentials."""

    region: str | None = option("region", default=None, doc="AWS region; by default that of the environment or profile")
    registry: str = option("registry", default="default-registry", doc="name of the registry")
    profile: str | None = option("profile", default=None, doc="profile of the AWS configuration files")
    access_key: str | None = option("access-key-id", default=None, doc="access key; by default AWS's own chain finds credentials", secret=True)
    secret_key: str | None = option("secret-access-key", default=None, doc="secret of the access key", secret=True)
    session_token: str | None = option("session-token", default=None, doc="token of temporary credentials", secret=True)

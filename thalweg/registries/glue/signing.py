"""AWS Signature Version 4 for each request, with the credentials that AWS's own chain finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError
from botocore.session import Session

from thalweg.errors import SchemaUnavailable, UserError

if TYPE_CHECKING:
    from collections.abc import Generator

    from thalweg.registries.glue.options import GlueOptions

_SERVICE: Final = "glue"
_SIGNED: Final = ("Authorization", "X-Amz-Date", "X-Amz-Security-Token")


class Signer(httpx.Auth):
    """Signs requests. Thread-safe: botocore renews credentials under its own lock."""

    requires_request_body = True

    def __init__(self, options: GlueOptions) -> None:
        """Find the region. Raises UserError where there is none, or where the profile or the key is incomplete."""
        if (options.access_key is None) != (options.secret_key is None):
            raise UserError("'glue.access-key-id' and 'glue.secret-access-key' belong together: one of them is missing")
        try:
            self._session = Session(profile=options.profile)
            self._region = options.region or self._session.get_config_variable("region")
        except BotoCoreError as e:
            raise UserError(f"the AWS configuration cannot be read: {e}", hint="check 'glue.profile'") from None
        if not self._region:
            raise UserError("option 'glue.region' is missing: neither the environment nor a profile names a region", hint="such as 'eu-central-1'")
        self._given = Credentials(options.access_key, options.secret_key, options.session_token) if options.access_key is not None else None

    @property
    def endpoint(self) -> str:
        """AWS's own URL for the region."""
        return f"https://glue.{self._region}.amazonaws.com{'.cn' if str(self._region).startswith('cn-') else ''}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the signature's headers."""
        kept = {name: request.headers[name] for name in ("Content-Type", "X-Amz-Target")}
        signed = AWSRequest(method=request.method, url=str(request.url), data=request.content, headers=kept)
        SigV4Auth(self._credentials(), _SERVICE, self._region).add_auth(signed)
        for name in _SIGNED:
            if name in signed.headers:
                request.headers[name] = signed.headers[name]
        yield request

    def _credentials(self) -> Any:  # noqa: ANN401 - botocore has no types
        """What signs. Raises SchemaUnavailable where the chain finds nothing."""
        try:
            found = self._given or self._session.get_credentials()
            if found is not None:
                return found.get_frozen_credentials()
        except BotoCoreError as e:
            raise SchemaUnavailable(f"AWS credentials cannot be had: {type(e).__name__}", hint="see the AWS configuration") from None
        raise SchemaUnavailable("there are no AWS credentials", hint="set them in the environment, a profile, or 'glue.access-key-id'")

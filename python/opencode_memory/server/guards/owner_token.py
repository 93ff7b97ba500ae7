"""The token of the store, which programs of its user send to endpoints that only they may use."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final

from starlette.responses import JSONResponse

from opencode_memory.server.guards.key import parse_bearer
from opencode_memory.server.guards.refusal import headers_named

if TYPE_CHECKING:
    from starlette.types import Scope

_UNAUTHORIZED: Final = 401


class OwnerToken:
    """Checks the token of requests.

    Args:
        token: The content of the token file, which only the user can read.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def is_in(self, scope: Scope) -> bool:
        """Check whether a request carries the token, and no other credentials."""
        credentials = headers_named(scope, b"authorization")
        return len(credentials) == 1 and hmac.compare_digest(parse_bearer(credentials[0]), self._token)


def refuse_without_token() -> JSONResponse:
    """Return the response to a request without the token."""
    return JSONResponse({"error": "the token of the store is required"}, status_code=_UNAUTHORIZED)

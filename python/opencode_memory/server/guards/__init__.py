"""What stands before the MCP app of a resident server and turns requests away.

Each guard is a pure ASGI middleware (``peer`` is a protocol, one floor below) that knows nothing of the others, of the
app or of the configuration: what it needs is given to it, and what it refuses it reports in one word to ``on_refused``.
From the connection inwards: ``peer`` (whose socket is it), ``fence`` (is it a browser that was led here), ``rate``,
``key``, ``body``. None of them reads a header that says on whose behalf a request comes (``X-Forwarded-For``), so the
HTTP server must not either: with uvicorn, ``proxy_headers=False``.
"""

from opencode_memory.server.guards.body import BodyLimit
from opencode_memory.server.guards.fence import Fence, default_hosts, default_origins
from opencode_memory.server.guards.key import ApiKey
from opencode_memory.server.guards.peer import guarded_protocol
from opencode_memory.server.guards.peer_owner import find_owner, supports_owner_check
from opencode_memory.server.guards.rate import RateLimit
from opencode_memory.server.guards.refusal import OnRefused

__all__ = [
    "ApiKey",
    "BodyLimit",
    "Fence",
    "OnRefused",
    "RateLimit",
    "default_hosts",
    "default_origins",
    "find_owner",
    "guarded_protocol",
    "supports_owner_check",
]

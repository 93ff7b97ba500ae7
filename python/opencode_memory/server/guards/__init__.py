"""ASGI middleware that protects the resident server: each guard refuses one kind of request.

A guard does not depend on the other guards, the app or the configuration. Its parameters are passed in. It reports each
refusal to ``on_refused`` in one word. ``peer``, ``connection_limit`` and ``header_deadline`` are the exceptions: they
are asyncio protocols, because they act before HTTP is parsed.

The order, from the connection inwards, is ``peer`` (owner of the peer's socket), ``connection_limit``,
``header_deadline``, ``fence`` (DNS rebinding and foreign pages), ``rate``, ``key``, ``body``. No guard reads
``X-Forwarded-For``, so that a client cannot spoof its address. The HTTP server must not read it either (uvicorn:
``proxy_headers=False``).
"""

from opencode_memory.server.guards.body import BodyLimit
from opencode_memory.server.guards.connection_limit import counted_protocol, divide_files
from opencode_memory.server.guards.fence import Fence, default_hosts, default_origins
from opencode_memory.server.guards.header_deadline import limited_protocol
from opencode_memory.server.guards.key import ApiKey
from opencode_memory.server.guards.peer import guarded_protocol
from opencode_memory.server.guards.rate import RateLimit
from opencode_memory.server.guards.refusal import OnRefused

__all__ = [
    "ApiKey",
    "BodyLimit",
    "Fence",
    "OnRefused",
    "RateLimit",
    "counted_protocol",
    "default_hosts",
    "default_origins",
    "divide_files",
    "guarded_protocol",
    "limited_protocol",
]

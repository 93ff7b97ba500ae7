"""WebSocket ``/bridge`` for OpenCode's plugin: JSON-RPC 2.0 in both directions.

``endpoint`` authenticates a plugin, ``json_rpc`` speaks the protocol, and ``connection`` serves one plugin.
``handlers`` answers the hooks of OpenCode, ``session_watch`` learns from its events, and ``opencode_client`` calls
OpenCode.
"""

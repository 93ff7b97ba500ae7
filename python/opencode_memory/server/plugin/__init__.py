"""The socket of OpenCode's plugin: JSON-RPC 2.0 over ``/bridge``, both ways.

``endpoint`` lets a plugin in, ``peer`` speaks the protocol, ``connection`` is one plugin with what it is doing,
``hooks`` answers what a hook of OpenCode asks, ``watch`` learns from its events, and ``opencode`` is how the server
calls OpenCode.
"""

"""The memories that a model is given without asking: with a message, in a compaction, and at the start of a session.

``decide`` selects the memories, once for each message; ``block`` renders them. This package does not know OpenCode's
hooks or sockets; ``server/plugin`` does.
"""

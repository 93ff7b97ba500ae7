"""Example notes and a conversation of an invented project, for ``opencode-memory demo``."""

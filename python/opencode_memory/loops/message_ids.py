"""Ids of messages and their parts as OpenCode makes them: each sorts after all earlier ones.

OpenCode orders messages by id. With an id of another form, later prompts of the session would end without an answer.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Final

from opencode_memory.text.clock import to_ms

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_LENGTH: Final = 14
_TIME_BITS: Final = 48
_COUNTS: Final = 0x1000
"""Ids of one millisecond; OpenCode counts from 1."""


def message_id(at: datetime) -> str:
    """Return a new id of a message."""
    return _make_id("msg", at)


def part_id(at: datetime) -> str:
    """Return a new id of a part of a message."""
    return _make_id("prt", at)


def _make_id(prefix: str, at: datetime) -> str:
    number = (to_ms(at) * _COUNTS + 1) % (1 << _TIME_BITS)
    rest = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
    return f"{prefix}_{number:012x}{rest}"

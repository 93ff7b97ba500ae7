"""Version of the rules. Each learned memory keeps it, so that memories of earlier rules can be judged again."""

from __future__ import annotations

from typing import Final

RULES: Final = 2
"""Raised when the rules would no longer learn a part of what they learned before."""
RULES_KEY: Final = "rules"
"""Member of a memory's metadata that holds the version. Memories of the first rules lack it."""

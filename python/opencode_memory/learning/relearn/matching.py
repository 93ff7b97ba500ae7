"""Decides whether a candidate of the present rules was found in the sentence that a memory was learned from."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.commands import normalise_command
from opencode_memory.models import Category, Memory

_WORD: Final = re.compile(r"\w+")
_LEAST_WORDS: Final = 4
_SHARED: Final = 0.8


def quote(memory: Memory) -> str:
    """Return the sentence or command that a memory was learned from; empty if it is unknown."""
    evidence = memory.metadata.get("evidence")
    return evidence.rstrip("…").strip() if isinstance(evidence, str) else ""


def is_command(memory: Memory) -> bool:
    """Return whether a memory records a command that succeeded."""
    return memory.category is Category.PROCEDURE and str(memory.metadata.get("rule")).startswith("succeeded")


def matches(memory: Memory, candidate: Candidate) -> bool:
    """Return whether a memory and a candidate of the same session have the same evidence.

    A command may have succeeded in several messages. Everything else was said in one.
    """
    was, now = quote(memory), candidate.evidence.rstrip("…").strip()
    if is_command(memory):
        return candidate.category is Category.PROCEDURE and normalise_command(was) == normalise_command(now)
    if memory.source.message != candidate.message:
        return False
    return was.casefold() == now.casefold() or _share_words(was, now)


def _share_words(one: str, other: str) -> bool:
    """Return whether nearly all words of the shorter text are in the longer one."""
    words, more = sorted((set(_WORD.findall(text.casefold())) for text in (one, other)), key=len)
    return len(words) >= _LEAST_WORDS and len(words & more) >= _SHARED * len(words)

"""The answer of a slash command, and the answers whose messages have not reached the server yet.

OpenCode does not tell the id of the message that a command creates. The message comes with the same typed text in the
next request for memories, so that text finds the answer.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

MOST_WAITING: Final = 100
"""Some commands create no message, for example if OpenCode is ended meanwhile. Their answers must not pile up."""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer of a slash command.

    Attributes:
        text: The text for the model.
        in_full: By id, the version of each memory that the text shows in full.
    """

    text: str
    in_full: Mapping[str, int] = field(default_factory=dict)


class WaitingAnswers:
    """The memories that answers of commands show, until their messages are known; threads may share it."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[tuple[str, str], Mapping[str, int]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, session: str, typed: str, in_full: Mapping[str, int]) -> None:
        """Add the memories that the answer of a command shows.

        Args:
            session: The session in which the user typed the command.
            typed: The command with its arguments, as the message will show it to the user.
            in_full: The versions of the memories, by their ids.
        """
        if not in_full:
            return
        with self._lock:
            self._waiting[session, typed] = in_full
            self._waiting.move_to_end((session, typed))
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popitem(last=False)

    def take(self, session: str, text: str) -> dict[str, int]:
        """Remove and return the memories that the model sees in a message.

        Args:
            session: The session of the message.
            text: What the user typed. Messages that were queued are joined by line breaks.
        """
        lines = f"\n{text}\n"
        found: dict[str, int] = {}
        with self._lock:
            for key in [key for key in self._waiting if key[0] == session and f"\n{key[1]}\n" in lines]:
                found |= self._waiting.pop(key)
        return found

"""Access to the pages: a link that works once, and the session of the browser that opened it.

A command of the same user asks for a code with the token of the store. The browser exchanges it for a cookie. Neither
is stored on disk, so both end with the server.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

CODE_SECONDS: Final = 120.0
SESSION_SECONDS: Final = 12 * 3600.0
_MOST_CODES: Final = 20
_MOST_SESSIONS: Final = 50
_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A sentence about what was done, shown once.

    Attributes:
        text: The sentence.
        operation: The operation that can be undone; None for none.
    """

    text: str
    operation: int | None = None


@dataclass(slots=True, kw_only=True)
class Visit:
    """The session of a browser.

    Attributes:
        form: Secret that every form carries, so that no other page can send one.
        until: End of the session, on the clock of ``Access``.
        said: Sentences for the next page.
    """

    form: str
    until: float
    said: list[Said] = field(default_factory=list)


class Access:
    """The codes and sessions of one server.

    Args:
        clock: Returns seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: OrderedDict[str, float] = OrderedDict()
        self._visits: OrderedDict[str, Visit] = OrderedDict()

    def new_code(self) -> str:
        """Return a code that opens one session within two minutes."""
        code = secrets.token_urlsafe(_BYTES)
        self._codes[_hash(code)] = self._clock() + CODE_SECONDS
        while len(self._codes) > _MOST_CODES:
            self._codes.popitem(last=False)
        return code

    def enter(self, code: str) -> str | None:
        """Exchange a code for the cookie of a new session; None if it was used or has ended."""
        until = self._codes.pop(_hash(code), 0.0)
        now = self._clock()
        if until <= now:
            return None
        cookie = secrets.token_urlsafe(_BYTES)
        self._visits[_hash(cookie)] = Visit(form=secrets.token_urlsafe(_BYTES), until=now + SESSION_SECONDS)
        while len(self._visits) > _MOST_SESSIONS:
            self._visits.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> Visit | None:
        """Return the session of a cookie, and renew it; None if there is none."""
        name, now = _hash(cookie), self._clock()
        visit = self._visits.get(name)
        if visit is None:
            return None
        if visit.until <= now:
            del self._visits[name]
            return None
        visit.until = now + SESSION_SECONDS
        self._visits.move_to_end(name)
        return visit

    @staticmethod
    def is_own_form(visit: Visit, given: str) -> bool:
        """Return whether a form was made for this session."""
        return hmac.compare_digest(visit.form.encode(), given.encode())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

"""The delay for which a server asks in the header ``Retry-After``."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_LONGEST_SECONDS: Final = 86_400.0
_SECONDS: Final = re.compile(r"\d{1,9}")


def parse_retry_after(written: str | None, *, at: datetime) -> float | None:
    """Return the delay in seconds, at most a day; None if there is none, or if it has another form."""
    if written is None:
        return None
    if _SECONDS.fullmatch(written.strip()):
        return limit_delay(float(written))
    try:
        moment = parsedate_to_datetime(written)
    except (ValueError, OverflowError):
        return None
    # HTTP dates are in GMT, even if the zone is missing.
    return limit_delay(((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - at).total_seconds())


def limit_delay(seconds: float) -> float:
    """Return a delay that is not negative and at most a day."""
    return min(max(seconds, 0.0), _LONGEST_SECONDS)

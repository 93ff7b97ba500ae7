"""Finds a server of the store one of whose tasks has failed. It answers, but refuses its clients."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.server import LOG_FILE
from opencode_memory.service.port_holder import PortHolder, find_port_holder

LEAST_UPTIME_SECONDS: Final = 60
"""Age of a failed server from which on it is replaced. So servers that fail at once are started once a minute."""


def find_failed(host: str, port: int) -> PortHolder | None:
    """Return the server at an address if one of its tasks has failed."""
    holder = find_port_holder(host, port)
    return holder if holder is not None and holder.has_failed else None


def is_too_young(failed: PortHolder) -> bool:
    """Return whether a failed server is not replaced yet."""
    return failed.uptime_seconds is None or failed.uptime_seconds < LEAST_UPTIME_SECONDS


def explain_failed(failed: PortHolder, data_dir: Path) -> OpencodeMemoryError:
    """Return the error of a caller that needs a server which can be used."""
    reported = "; ".join(failed.problems) or "a task of the server has failed"
    error = OpencodeMemoryError(f"the server (process {failed.pid}) cannot be used: {reported}")
    error.hint = (
        f"the log of a server in the background is {data_dir / LOG_FILE}; `opencode-memory serve --detach` replaces the"
        f" server {LEAST_UPTIME_SECONDS} s after its start, and `opencode-memory stop` ends it now"
    )
    return error

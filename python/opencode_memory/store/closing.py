"""Closes the engine of a store."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from opencode_memory.errors import FormatVersionError

if TYPE_CHECKING:
    from opencode_memory._core import Engine

_log: Final = logging.getLogger(__name__)


def close_engine(engine: Engine) -> None:
    """Close an engine, also if a newer version has upgraded its store meanwhile. Its last uses are lost then."""
    try:
        engine.close()
    except FormatVersionError as error:
        # The files are closed. Every acknowledged write is durable, and uses are statistics only.
        _log.warning("the last uses of memories were not counted: %s", error)

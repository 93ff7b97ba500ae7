"""What an export or import did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What was written.

    Attributes:
        format: Name of the format.
        counts: Kind (``memory``, ``link`` …) to how many.
    """

    format: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What was read, and what became of it.

    Attributes:
        format: Name of the format that was recognised.
        dry_run: Whether nothing was written.
        counts: Kind (``memory``, ``link`` …) to what happened (``stored``, ``updated``, ``unchanged``; in a dry run
            ``found``) to how many.
        skipped: What was passed over, and why.
        trusted: Whether memories kept the trust that the source gave them; else they have that of an import, and
            directives among them wait for review.
    """

    format: str
    dry_run: bool
    counts: Mapping[str, Mapping[str, int]]
    skipped: tuple[str, ...] = ()
    trusted: bool = False

    def total(self, kind: str) -> int:
        """How many of a kind the source held."""
        return sum(self.counts.get(kind, {}).values())

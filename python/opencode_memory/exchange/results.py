"""Results of exports and imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """The result of an export.

    Attributes:
        format: Name of the format.
        counts: Number of rows by kind (``memory``, ``link`` …).
        refused: Damaged records of plans and loops, and their problems. No import accepts the file because of them.
    """

    format: str
    counts: Mapping[str, int]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of an import.

    Attributes:
        format: Name of the detected format.
        dry_run: Whether the import only checked and counted.
        counts: For each kind (``memory``, ``link`` …) the numbers by outcome (``stored``, ``updated``, ``unchanged``;
            in a dry run ``found``).
        skipped: Skipped parts, and why.
        trusted: Whether memories kept the trust that the source gave them. Otherwise they have the trust of an import,
            and directives and procedures wait for review.
        instructions: Number of directives and procedures in the source that agents follow from now on if ``trusted``,
            or that otherwise wait for review.
    """

    format: str
    dry_run: bool
    counts: Mapping[str, Mapping[str, int]]
    skipped: tuple[str, ...] = ()
    trusted: bool = False
    instructions: int = 0

    def total(self, kind: str) -> int:
        """Return how many rows of a kind the source held."""
        return sum(self.counts.get(kind, {}).values())

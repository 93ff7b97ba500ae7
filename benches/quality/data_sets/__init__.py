"""Readers of the question sets in their published layouts. A new set needs one module and one line here."""

from __future__ import annotations

from typing import Final

from . import beam, devmembench, locomo, longmemeval, sde

QUESTION_SETS: Final = {
    question_set.name: question_set
    for question_set in (locomo.LOCOMO, beam.BEAM, devmembench.DEVMEMBENCH, longmemeval.LONGMEMEVAL, sde.SDE)
}
"""Question sets by name."""

DEFAULT_SETS: Final = (locomo.LOCOMO.name, beam.BEAM.name, devmembench.DEVMEMBENCH.name)
"""Sets of a run without ``--set``. LongMemEval is left out, because embedding its 500 haystacks takes hours."""

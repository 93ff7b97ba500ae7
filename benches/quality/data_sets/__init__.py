"""The question sets, each in the layout in which it is published; a new one is one module and a line here."""

from __future__ import annotations

from typing import Final

from . import beam, devmembench, locomo, longmemeval

QUESTION_SETS: Final = {
    one.name: one for one in (locomo.LOCOMO, beam.BEAM, devmembench.DEVMEMBENCH, longmemeval.LONGMEMEVAL)
}
"""By name."""

DEFAULT_SETS: Final = (locomo.LOCOMO.name, beam.BEAM.name, devmembench.DEVMEMBENCH.name)
"""LongMemEval is left out: embedding its 500 haystacks takes hours the first time."""

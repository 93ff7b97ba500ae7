"""Trigger words: a cheap test that leaves out the sentences in which no form of the gate can match."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_TRIGGERS: Final = frozenset(
    _WORD.findall(
        "always never ever whenever henceforth forward forwards onwards future now every everywhere each all any only "
        "exclusively default preferred recommended prefer favor favour rather instead fan longer anymore more times time "
        "rule rules remember memorize memorise forget record note mind bear remind told asked said make put set save store add "
        "write document keep treat convention conventions guideline guidelines memory preference preferences agents claude "
        "decided agreed settled opted committed chose chosen concluded decision switch switched switching moved moving "
        "migrated migrating changed changing drop dropped dropping ditch scrap retired deprecated abandoned replaced removed "
        "go going stick sticking stay staying settle settling standardize standardise keeping use uses using run blocked "
        "waiting eventually later someday line matter circumstances circumstance want avoid don't do dont stop not no without "
        "before after when then take choose pick should must shouldn't call support supports "
        "manually myself hand own needn't won't mustn't must used"
    )
)


def has_trigger(sentence: str) -> bool:
    """Return whether a sentence has a word that a form of the gate needs."""
    return not _TRIGGERS.isdisjoint(_WORD.findall(sentence.lower()))

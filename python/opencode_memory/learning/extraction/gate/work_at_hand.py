"""Work at hand: recognises sentences about the current edit, defect or test, which say nothing for next month."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.clauses import INVERTED

_THING: Final = (
    r"(?:file|files|function|line|lines|test|tests|branch|time|edit|edits|change|changes|one|ones|step|part|"
    r"section|button|page|component|"
    r"issue|issues|bug|bugs|task|tasks|pr|commit|message|case|error|errors|code|class|method|script|block|point|"
    r"session|conversation|chat|feature|"
    r"screen|view|field|column|row|table|value|prompt|phase|plan|doc|document|way|thing|things|stuff|variable|"
    r"module|option|problem|warning|"
    r"check|flag|list|number|key|text|name|parameter|config|setting|approach|logic|note|example|image|video|"
    r"dialog|modal|menu|tab|icon|link)"
)
_AT_HAND: Final = re.compile(
    r"(?<!^)\b(?:anything|everything|nothing|something|anyone|everyone|whatever) else\b|\b(?:all|any|"
    rf"the)?\s?other (?:\w+ )?{_THING}\b"
    r"|\b(?:this|"
    r"(?<!is )(?<!sure )(?<!so )(?<!such )(?<!says )(?<!means )(?<!remember )(?<!mind )(?<!rule )(?<!note )(?<!decided )(?<!agreed )(?<!ensure )(?<!important )(?<!md )that|"
    r"these|those|the (?:same|current|existing|last|first|next|new|old|previous|second|following|"
    rf"above)) (?:(?!the |a |an |our |we |you |all |each |every |my |your )[\w.-]+ ){{0,2}}{_THING}\b"
    r"|\b(?:(?<!from )here(?!,? (?:never|not)\b)|yet|today|tonight|tomorrow|this week|right now|at this point|"
    r"at the moment|for the moment|for this(?! (?:project|repo|repository|codebase|code base|monorepo)\b)|in this case|this time|as[- ]is|itself|so far|in progress)\b"
    r"|\bfor now\b|\b(?:see|as|the|code|shown|listed|described|mentioned) (?:above|below)\b|\b(?:above|"
    r"below)\s*(?:[:.,]|$)|\bstep \d|\(\d+-\d+\)|\b(?:lines?) \d",
    re.IGNORECASE,
)
_COMPLAINT: Final = re.compile(
    r"\b(?:still|keeps?|kept|broken|bug|bugs|buggy|crash(?:es|ed)?|fail(?:s|ed|ing)?|error(?:s|ed)?|wrong|stuck|"
    r"hangs?|hung|weird|strange|odd|"
    r"does(?:n'?t| not) (?:work|show|load|seem|appear|update|do|change)|did(?:n'?t| not)|is(?:n'?t|"
    r" not) (?:working|showing|loading|right|there)|"
    r"(?:i'?m|i am|we'?re|we are) (?:\w+ )?(?:seeing|getting|having)|it (?:looks|seems|appears)|supposed to|was|"
    r"were|why|shows? up|happen(?:s|ed|ing)?|noticed?|turns out)\b",
    re.IGNORECASE,
)
_HYPOTHESIS: Final = re.compile(
    r"\b(?:maybe|perhaps|might|probably|possibly|i guess|i suppose|not sure|wonder(?:ing)?|what if|suppose|"
    r"imagine|assuming|in theory|theoretically|"
    r"i think|i thought|would it|could we|should we|it would be|let'?s (?:see|try|say|start)|i(?:'m|"
    r" am) (?:thinking|considering))\b",
    re.IGNORECASE,
)


def is_about_work_at_hand(text: str) -> bool:
    """Return whether a sentence is about the current edit, for example "do not touch any other files"."""
    return bool(_AT_HAND.search(text.replace(INVERTED, "")))


def is_complaint(text: str) -> bool:
    """Return whether a sentence describes a defect, for example "the list never loads and shows an error"."""
    return bool(_COMPLAINT.search(text))


def is_hypothesis(text: str) -> bool:
    """Return whether the speaker is only thinking about something."""
    return bool(_HYPOTHESIS.search(text))

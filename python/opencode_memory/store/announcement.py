"""Recognises the first words of a session that changes something settled earlier.

People rarely say "amendment". They say what was settled ("we'd agreed on 5 retries"), what happened since, and what
holds now ("three it is from here on"). Each kind of such words is a cue with a weight. Questions and requests speak
against it. The weights were fitted to two sets of written openings; docs/quality.md has the figures.
"""

from __future__ import annotations

import re
from typing import Final

_READ_CHARACTERS: Final = 600
_MOST_COUNTED: Final = 2
"""Times that a cue counts at most."""
_BIAS: Final = -1.55
_MONTHS: Final = "january|february|march|april|may|june|july|august|september|october|november|december"
_SETTLED: Final = (
    "said|set|settled|agreed|decided|chose|picked|fixed|drew|wrote down|put|limited|capped|concluded|promised|granted"
    "|insisted|locked|imposed|worked out|signed up|laid|told you|asked you|gave you|banned|froze|exempted|left out|wanted"
    "|going with|sticking to|holding|used to"
)
_SPOKE: Final = (
    "says?|said|wants?|told|asked|objected|signed|cleared|confirmed|called|mailed|accepts?|requires?|approved|finds?|hates?"
    "|won|would"
)


def _cue(weight: float, *forms: str) -> tuple[float, re.Pattern[str]]:
    return weight, re.compile("|".join(forms), re.IGNORECASE)


_CUES: Final = (
    # What the user calls a change, or an earlier decision.
    _cue(
        3.0,
        r"\bamend(?:ment|ments|ed|ing)?\b",
        r"\b(?:updates?|changes?|corrections?|revisions?|follow[- ]?ups?) (?:to|of|on|for) (?:the|our|that|my|what|how)"
        r" (?:\w+ )?(?:rules?|polic(?:y|ies)|decisions?|conventions?|limits?|agreements?|we|settled)\b",
        r"\b(?:revisit|reopen|overturn|roll back|walk back)\w*\b",
        r"\bchanged? (?:my|our) minds?\b",
        r"\b(?:rule|policy|decision|convention|limit|setting|plan) (?:from|of) (?:last|the other|a few|two|three)\b",
    ),
    # What was settled.
    _cue(
        1.5,
        r"\b(?:we|you and i|i|they|you)(?:'d|'ve| had| have|'d all)?"
        rf"(?: (?:all|both|once|only|just|explicitly|originally|had|have|been))* (?:{_SETTLED})\b",
    ),
    _cue(
        1.5,
        r"\b(?:our|that|the|those|this|your|my) (?:[\w'\"-]+ ){0,3}(?:rules?|polic(?:y|ies)|bans?|agreements?|decisions?"
        r"|conventions?|guidelines?|thing|bit|freeze|embargo|principle|arrangement|promise)\b",
    ),
    _cue(
        0.5,
        r"\b(?:rules?|polic(?:y|ies)|bans?|limits?|caps?|thresholds?|conventions?|guidelines?|agreements?|decisions?"
        r"|exceptions?|requirements?|freeze|embargo|principle|arrangement|ceiling|quota|budget|retention|window|deadline"
        r"|standard|scheme|law|promise)\b",
    ),
    _cue(
        1.3,
        r"\b(?:earlier|back then|originally|at the time|in our (?:last|previous)|when we|remember|you'll recall"
        r"|the other day|last (?:time|week|month|sprint|session|year|spring|summer|fall|autumn|winter)"
        rf"|(?:in|since|back in) (?:{_MONTHS}|spring|summer|autumn|winter)"
        r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    ),
    # What holds now, and who wanted it.
    _cue(
        1.7,
        r"\b(?:from now on|as of|until|go with|it is from here|not \d|rather than \d|after all|any ?more|takes? (?:it|that"
        r"|this|half)? ?back|overrul\w+|lifted|on (?:hold|ice)|goes away|relax|suspend|pause|un-?ban|forget what"
        r"|scratch (?:the|that)|turns? out|i was wrong|mistake|misremembered|overkill|too (?:strict|lax|twitchy|tight|long"
        r"|short|low|high)|exception|except|carve|exempt|allowed|may (?:be|also|now)|loosen|tighten|raise it|lower it"
        r"|is off|obsolete|pointless|correction)\b",
    ),
    _cue(1.3, r"\bnow\b"),
    _cue(
        0.9,
        r"\b(?:stays?|remains?|unchanged|stands|as (?:it was|before|they were)|the rest|(?:every(?:one|thing)|others?|all)"
        r" (?:else|keep|stay|repos)|only for|just for|still)\b",
    ),
    _cue(
        1.0,
        r"\b(?:not|rather than|instead of|down from|up from|down to|up to|goes? to|moves? to|becomes?) (?:\w+ )?[\d\u00b1]",
        r"\bso (?:it(?:'s| is)|we(?:'re| are)|use|go|make|put|for|\d)",
        r"\bmake (?:it|that|those) \w*\d",
        r"\bputs? it at\b",
    ),
    _cue(
        0.8,
        r"\b(?:legal|auditors?|counsel|compliance|the lead|boss|manager|ceo|ciso|finance|marketing|sales|customers?|client"
        r"|vendor|supplier|partner|publisher|director|council|regulator|team voted|privacy|dpo|lawyers?|support|ops|product|security) (?:\w+ ){0,3}"
        rf"(?:{_SPOKE})\b",
    ),
    # Requests, questions, and rules that are only applied.
    _cue(
        -1.1,
        r"\b(?:following (?:the|our)|according to (?:the|our)|as (?:we )?(?:agreed|decided|discussed|planned)|per (?:our|the)"
        r"|in line with|respects?|whether|follow our|sticks? to the|breaks? the|for what we"
        r"|what we (?:decided|agreed|settled))\b",
    ),
    _cue(
        -1.6,
        r"\A(?:hi|hey|hello|ok|so|please|pls|quick one)?[,!.: ]*(?:how|why|what|which|where|who|does|do|is|are|can|could"
        r"|would|should|explain|write|fix|show|tell|help|review|check|convert|build|add|find|give|list|generate|make|set up"
        r"|update|create|implement|draft|look|refactor|migrate|rename|run|summari[sz]e)\b",
    ),
    _cue(-0.75, r"\?"),
    _cue(
        -1.3,
        r"\b(?:can you|could you|please (?:write|check|fix|add|review|look|explain|put|group|tell|show|help|find)|tell me"
        r"|help me|i need (?:a|you|to)|what i need|explain|write (?:a|me|the)|show me|any idea|where do i|how do i"
        r"|do you remember|find out)\b",
    ),
)


def announces_change(text: str) -> bool:
    """Return whether the beginning of a session says that it changes an earlier decision.

    The session index stores the answer. If this rule changes, increase ``LAYOUT`` in ``store/turns.rs``, so that the
    index is built again.

    >>> announces_change("Amendment to the merge rule from last month.")
    True
    >>> announces_change("We'd agreed on 5 retries. The vendor throttles us after 3, so three from now on.")
    True
    >>> announces_change("Let's change the colour of the button.")
    False
    """
    read = text[:_READ_CHARACTERS]
    return _BIAS + sum(weight * min(_MOST_COUNTED, _count(form, read)) for weight, form in _CUES) > 0


def _count(form: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in form.finditer(text))

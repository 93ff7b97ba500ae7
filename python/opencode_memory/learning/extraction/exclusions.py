"""Exclusions: recognises sentences that are no statement of their speaker, even if they contain cues."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.authored_text import QUOTE
from opencode_memory.learning.extraction.polite_orders import is_polite_order
from opencode_memory.learning.extraction.sentences import Sentence

_LONGEST: Final = 700
_HYPOTHETICAL: Final = re.compile(
    r"^(?:what if|suppose|supposing|imagine|assuming|let'?s (?:say|assume|suppose|pretend|imagine)|say we|"
    r"hypothetically|in theory|if (?:we|i|they|it|he|she|"
    r"somebody|someone|anyone) (?:were|was|had|used|ever|went|moved|switched|did|wanted|could|would|chose|kept|"
    r"dropped|started|stored|put|ran|"
    r"added|made|built|split|decided|rewrote|replaced|took|gave|just))\b"
    r"|\b(?:what if|would(?:n't| not)? (?:we|i|it|you|that|this|they|there|have|be (?:better|easier|faster|"
    r"possible|simpler|overkill))|could we|should we|hypothetically|in theory|"
    r"were to|just (?:thinking|wondering|musing|brainstorming)|thinking out loud|i wonder|wondering|"
    r"i could imagine|devil'?s advocate)\b",
    re.IGNORECASE,
)
_REPORTED: Final = re.compile(
    r"\b(?:according to|the (?:readme|docs?|documentation|wiki|article|blog|book|comment|ticket|issue|error|log|"
    r"spec|rfc|tutorial|changelog|linter|page|guide|manual|"
    r"contributing|standard|docstring|commit message|message|banner|faq|style guide|"
    r"release notes)\b[\w ]{0,30}\b(?:says?|states?|said|mentions?|claims?|reads|recommends?|tells?|wants|warns?|"
    r"suggests?|insists)|it says|says here|quote|quoting|i read that|"
    r"i(?:'ve)? (?:heard|read|saw)|people (?:say|usually|always|recommend|prefer|often|tend)|they say|\b(?!(?:we|"
    r"i|you)\b)[a-z]+ (?:says|said|claims?|recommends|suggests|argues|told (?:me|us)) (?:that )?(?:you|we|to|one|"
    r"it|never|always)\b|some(?:one| people| folks| devs?) (?:say|said|prefer|told|wrote|suggested|argue)|"
    r"best practice(?:s)? (?:is|are|say)|everyone (?:online|says|on))\b",
    re.IGNORECASE,
)
_SARCASM: Final = re.compile(
    r"^(?:great,|oh great|wonderful|fantastic|brilliant|lovely|awesome,? (?:another|now)|love how|love it when|"
    r"i (?:just )?love (?:how|it when)|gotta love|nice,? another|"
    r"yeah,? right|sure,? because|because of course|of course it|oh joy|oh sure|ah yes|wow,|best \w+ ever|"
    r"just what i (?:needed|wanted)|so much for|clearly the best)|\b(?:lmao|rofl|/s|haha|hahaha)\s*[.!]*$|🙄|😂|🤣|😅|"
    r"/s\b|\bwhat could (?:possibly )?go wrong\b|"
    r"\b(?:in cobol|works great, never|as long as nobody)\b",
    re.IGNORECASE,
)
_REQUIREMENT: Final = re.compile(
    r"^(?:[A-Z]+-\d+:? )?as an? [\w -]{2,40},? i (?:want|need|can|should|would|must|wish)\b|\bso that i\b|"
    r"\bacceptance criteria\b|\buser stor(?:y|ies)\b|^(?:given|when|then) (?:a|an|the|i) \w+|"
    r"^(?:scenario|feature|story|requirements?|ac|spec|ticket|epic|description|steps to reproduce|expected|"
    r"actual)(?: \w+)? ?[:#-]|"
    r"^(?:the )?(?:users?|customers?|clients?|members?|visitors?|admins?|guests?|players?|patients?|students?|"
    r"subscribers?|app|application|system|page|button|screen|"
    r"dialog|modal|form|widget|command|flag|output|api|endpoint|function|method|tool|cli|bot|service|field|list|"
    r"table|export|report|report|import|importer)s? (?:\w+ )?(?:must|should|shall|has to|have to|needs? to|may)\b",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"`[^`]+`")
_LANGUAGE: Final = (
    r"(?:german|english|french|spanish|italian|dutch|polish|portuguese|japanese|chinese|swedish|finnish|norwegian|"
    r"danish|turkish|czech|korean|"
    r"russian|ukrainian|arabic|hindi)"
)
_ORDERED_TEXT: Final = re.compile(
    rf"\b(?:translate|proof-?read|paraphrase|summari[sz]e|reword|rephrase|tl;?dr)\b.{{0,60}}(?:\bto {_LANGUAGE}\b|"
    r"\b(?:this|following|these|below|text|paragraph|thread|"
    rf"message|mail|notes?)\b|:\s*$)|^(?:in|into|to) {_LANGUAGE}\b.{{0,12}}$|"
    r"(?<!i'll )(?<!i will )(?<!we'll )\b(?:write|draft|generate|compose|invent|come up with|prepare|put together|"
    r"produce|give me|i need|make me|create) (?:me |us |up )?(?:a|an|the|some|this|my|our|two|three|\d+|a few|"
    r"short|new)?\s?"
    r"(?:[\w-]+ ){0,3}(?:readme|contributing(?:\.md)?|agents\.md|claude\.md|guidelines?|style ?guide|blog ?post|"
    r"post|article|e-?mail|mail|announcement|release notes|"
    r"stor(?:y|ies)|tweet|slides?|talk|speech|prompt|poem|limerick|tutorial|policy|policies|handbook|wiki page|"
    r"onboarding doc|message to|letter|job ad|faq|"
    r"sample data|example data|dummy|lorem|made-up|fictional|fake (?:chat|conversation|data))\b|"
    r"\b(?:sample|dummy|made-up|fictional|placeholder|fake|example) (?:data|text|content|conversation|chat|"
    r"messages?|config|rules?)\b.{0,40}\b(?:for|that|with|where)\b|"
    r"\b(?:pretend|role-?play|act as (?:a|an|if|my)|you are (?:now )?(?:a|an) \w+|you'?re (?:now )?(?:a|"
    r"an) (?:grumpy|senior|angry|strict|pirate|\w+ (?:cto|interviewer|customer|teacher|coach))|"
    r"play the|imagine you|interview me)\b|"
    r"\b(?:that says|saying|titled|with the (?:text|title|heading|sentence)|reading):? ?" + re.escape(QUOTE),
    re.IGNORECASE,
)
_TURNS_AWAY: Final = re.compile(
    r"^(?:btw|by the way|separately|unrelated|on another note|one more thing|another thing|aside from that|"
    r"apart from that|also,|fyi|and for (?:you|the record)|"
    r"anyway|back to|ok stop|stop\b|for the code|in the code)",
    re.IGNORECASE,
)


def is_hypothetical_or_reported(sentence: Sentence) -> bool:
    """Return whether a sentence is hypothetical, reports the content of a document, or is too long."""
    if len(sentence.core) > _LONGEST:
        return True
    is_hypothetical = _HYPOTHETICAL.search(sentence.core) and not is_polite_order(sentence.core)
    return bool(is_hypothetical or _REPORTED.search(sentence.text))


def is_sarcasm(sentence: Sentence) -> bool:
    """Return whether a sentence is sarcastic."""
    return bool(_SARCASM.search(sentence.text))


def is_text_request(sentence: Sentence) -> bool:
    """Return whether a sentence asks for a text (written, translated or role-played), so that the rest is no statement."""
    return bool(_ORDERED_TEXT.search(_CODE.sub("`…`", sentence.text)))


def starts_requirements(sentence: Sentence) -> bool:
    """Return whether a sentence starts a list of requirements for the product."""
    return bool(_REQUIREMENT.search(sentence.core)) and not sentence.is_question


def changes_subject(sentence: Sentence) -> bool:
    """Return whether the speaker changes the subject."""
    return sentence.is_aside or bool(_TURNS_AWAY.match(sentence.text))

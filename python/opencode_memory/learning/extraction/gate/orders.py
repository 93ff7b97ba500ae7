"""Orders with a word of time or generality, addressed to the agent: "always …", "from now on …", "whenever you …"."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.gate.fragments import ALL_PROJECTS, EACH_TIME, FROM_NOW, LEAD, VERB
from opencode_memory.learning.extraction.gate.subjects_of_work import is_about_product, is_about_work
from opencode_memory.learning.extraction.gate.verdict import Verdict, make_verdict
from opencode_memory.models import Category

_START: Final = r"(?:^|[:;,(–—]\s*|\.\s+|\bplease\s+)"
_ALWAYS: Final = r"(?:always|never|never ever|don'?t ever|do not ever|under no circumstances|at all times)"
_ORDER: Final = re.compile(rf"{_START}{LEAD}{_ALWAYS},?\s+(?:please )?(?P<verb>{VERB})", re.IGNORECASE)
_OPENS_AS_ORDER: Final = re.compile(
    rf"^{LEAD}(?:always|never|don'?t|do not|no\b|use|run|you|u|we|i|please|only|avoid|under|at all|from|"
    rf"in (?:the )?future|going|for|when|whenever|every|each|before|after|general|global|new rule|rule|{ALL_PROJECTS})\b",
    re.IGNORECASE,
)
"""Beginning of a sentence whose later clause may be an order. In "add a workflow; never from forks" the clause is a detail."""
_TEAM: Final = re.compile(
    rf"^{LEAD}{FROM_NOW}[,:]?\s+(?:please |let'?s |we(?:'ll| will|'re going to| should| must| are going to|"
    r" gonna)? |you (?:should|must|will|can) |i(?:'d like| want) (?:you|us) to |i want |i prefer |always |never |"
    r"don'?t |do not |only |make sure |all |every )*"
    r"(?!i\b|it\b|there\b|you\b|they\b|he\b|she\b|the\b|this\b|that\b|if\b|is\b|my\b|our\b|a\b|an\b|and\b|but\b|"
    r"so\b|as\b|in\b|on\b|to\b|of\b|more\b|no\b)[a-z][a-z'-]+",
    re.IGNORECASE,
)
_TAIL_OF_ORDER: Final = re.compile(
    rf"^{LEAD}(?:(?:please|let'?s|don'?t|do not|use|run|ask|tell|show|make|keep|write|put|add|commit|check|avoid|"
    r"only|stop|work|read|call|name|store|save|test|create|give|include|prefix|follow|treat|stick|respond|answer|"
    r"reply|skip|wait|verify|update|document|start|split|prefer|format|leave|do|go|consider|focus|limit|assume|ignore|disregard)\b|"
    r"we (?:should|must|will|want to|need to|have to|use|do|are going to|gonna|'ll|keep|only|don'?t|do not|"
    rf"always)\b).*\b(?:{FROM_NOW}|at all times|every ?time|each time|always|ever again|no matter what|"
    r"any ?more)[\s.!,)]*(?:please)?\W*$",
    re.IGNORECASE,
)
_MOMENT: Final = r"(?!'re|'ve|are\b|have\b|were\b|had\b|finish|complete|get\b|start|begin|continue|proceed|do\b|make\b|code\b|go\b|implement\b|move\b|answer\b|fix|last\b|first\b|can\b|could\b)"
"""Verbs after "when you …" that name this moment instead of a recurring one: "when you are done"."""
_WHENEVER: Final = re.compile(
    rf"^{LEAD}(?:{EACH_TIME}|before|after|when|if) (?:you|we) {_MOMENT}[^,]{{2,80}},\s*(?:then |"
    r"please )*(?:always |never |do not |don'?t |you (?:should|must|need to|have to) |make sure |can you |"
    r"could you |i want you to |i'd like you to )"
    rf"|^{LEAD}{EACH_TIME} (?:you|we) [^,]{{2,80}},\s*(?:then |please |we (?:should|must|always|will) )*(?!i\b|"
    rf"it\b|the\b|there\b|this\b|that\b|they\b|we\b|you\b|what\b|why\b|my\b|our\b|a\b|nothing\b|all\b){VERB}",
    re.IGNORECASE,
)
_GENERIC_MOMENT: Final = re.compile(
    rf"^{LEAD}when(?:ever)? (?:you|we) (?:explain|write|show|answer|refactor|name|commit|respond|summari[sz]e|"
    r"review|create|add|report|propose|suggest|test|build|deploy|change|work with|working with|touch|edit|use|"
    r"call|run|log|import|document|generate|need) "
    rf"(?:(?!\b(?:the|this|that|these|those|it|them|one)\b)[^,]){{2,70}},\s*(?:then |please )*(?!i\b|it\b|the\b|"
    r"there\b|this\b|that\b|they\b|we\b|you\b|what\b|why\b|my\b|our\b|a\b|an\b|nothing\b|all\b|some\b|sometimes\b|"
    rf"can\b|could\b){VERB}"
    rf"|^{LEAD}when working (?:with|on|in) (?:(?!\b(?:the|this|that|these|those|"
    rf"it)\b)[^,]){{2,60}},\s*(?:please )?{VERB}"
    rf"|^{LEAD}(?:before|after|for|on) (?:any|every|each)(?: new)? [^,]{{3,60}}?,? (?:always |please |"
    r"first )*(?:show|run|ask|tell|check|make|wait|write|read|add|create|update|commit|verify|test|explain|"
    r"confirm|do not|don'?t|never)\b",
    re.IGNORECASE,
)
"""A recurring moment: the clause names things of a kind ("when you write tests"), not one thing ("when you fix the test")."""
_WHEN_I_SAY: Final = re.compile(
    rf"^{LEAD}(?:{EACH_TIME}|when|if) i (?:say|type|write|ask (?:you|for)|tell you)\b.{{2,80}}?(?:,| then|"
    r" you) (?!it\b|the\b|i (?!mean)|there\b|nothing\b|they\b|that\b)[a-z]",
    re.IGNORECASE,
)
_NO_MATTER: Final = re.compile(
    r"\b(?:no matter what|under no circumstances?)\b.*\b(?:don'?t|do not|never|must|should|always)\b|\b(?:don'?t|"
    r"do not|never)\b.*\b(?:no matter what|under (?:no|any) circumstances?)\b",
    re.IGNORECASE,
)
_OF_TEAM: Final = re.compile(r"^(?:(?:so|and|but|then|also)\s+)*(?:we|i)\b", re.IGNORECASE)
_CLAUSE_PLACE: Final = re.compile(r"\b(?:exclusively|only) (?:in|on|inside|within)\b", re.IGNORECASE)


def find_order(sentence: str) -> Verdict | None:
    """Return the standing order of a sentence; a directive, unless it holds for a place or for the team."""
    is_order = (_OPENS_AS_ORDER.match(sentence) and _ORDER.search(sentence)) or any(
        form.search(sentence) for form in (_TEAM, _WHENEVER, _GENERIC_MOMENT, _WHEN_I_SAY, _TAIL_OF_ORDER)
    )
    if is_order and (is_about_work(sentence) or not is_about_product(sentence)):
        # An order that names a place, "work only in the app folder", holds until the next such order.
        is_local = _CLAUSE_PLACE.search(sentence) or _OF_TEAM.search(sentence)
        return make_verdict(Category.CONVENTION if is_local else Category.DIRECTIVE, "standing order", sentence)
    if _NO_MATTER.search(sentence):
        return make_verdict(Category.CONVENTION, "standing order", sentence)
    return None

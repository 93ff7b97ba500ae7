"""Cues of procedures that the user explains."""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.cues.base import Kind, cue
from opencode_memory.models import Category

_GOAL: Final = (
    r"(?:deploy|release|publish|build|test|run|reset|seed|regenerate|generate|migrate|start|restart|debug|reproduce|install|set ?up|bootstrap|"
    r"roll ?back|rollback|update|upgrade|bump|add a|create a|get|connect|log ?in|access|rotate|renew|sync|refresh|rebuild|clean|verify|"
    r"provision|restore|back ?up|import|export|record|profile|benchmark|cut|tag|promote|sign|flash|ship|unlock|clear|invalidate|onboard|dump|lint|check)"
)
_DO: Final = r"(?:run|use|do|call|execute|type|hit|start|set|export|go|open|edit|copy|add|you (?:have|need|must|first|just|can|run|do|use)|we (?:run|do|use|have|first)|first|just|make|push|merge|tag|bump|`|it'?s)"

PROCEDURES: Final = Kind(
    Category.PROCEDURE,
    (
        cue(
            "to do this, do that",
            0.72,
            rf"^(?:if you (?:want|need|have) )?to {_GOAL}\b.{{0,70}}?[,:] ?(?:\w+ )?{_DO}",
            rf"\bto {_GOAL}\b.{{0,60}}\byou(?:'ll)? (?:have|need|must|first|just|can|run|do)\b",
            r"\bthe (?:way|trick|procedure|steps?|process|recipe|command|routine|drill|order|dance|incantation) (?:to|for|is|are|we|here)\b.{3,}",
            r"\b(?:releas|deploy|publish|reset|seed|regenerat|migrat|rotat|rebuild|restor|onboard|provision)(?:ing|es?|ments?|s)? (?:\w+ ){0,3}(?:works?|goes|is done|happens?|are done|means?|is|are)(?: like (?:this|so))?:? .*(?:`|then|first|run|via|through|from)",
            rf"\b(?:how|the way) (?:we|you) {_GOAL}\b.{{0,60}}(?:is|:)",
        ),
        cue(
            "first, then",
            0.66,
            r"\bfirst\b.{3,120}\b(?:then|after that|afterwards|and only then|followed by|next)\b.*(?:`|\brun\b|\bmake\b|\bscript|\bpush|\bdeploy|\bmerge|\btag|\bbump|\bmigrat|\brestart|\bseed|\./|\bnpm|\bdocker|\bkubectl)",
            r"\b(?:you|we) (?:have|need|must|got) to (?:first )?(?:run|call|execute|start|source|export|regenerate|rebuild|seed|restart|log in|login|connect|bump|tag|push|set|warm|flush)\b.{2,80}\b(?:before|first|after|otherwise|or else|or it|again|every|each|whenever|when|in order)\b",
            r"\b(?:run|call|execute|source|export|start) `?[\w./-]+.{0,60}\b(?:before|after|first,? then|and then|then)\b.{0,80}\b(?:otherwise|or else|every time|whenever|always|to (?:deploy|release|publish|reset|regenerate|rebuild|migrate))\b",
        ),
    ),
    (
        cue(
            "a request",
            0.35,
            r"^(?:please |pls |can you |could you |now |ok )*(?:first,? )?(?:run|fix|add|make|write|check|look|commit|create|rename|remove|do|test)\b(?!.*\b(?:always|every|whenever|in general|to (?:deploy|release|publish))\b)",
        ),
        cue("a question", 0.5, r"\?\s*$"),
        cue("the task at hand", 0.3, r"\b(?:for now|this time|now|today)\b"),
    ),
)

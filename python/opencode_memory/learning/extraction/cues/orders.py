"""Cues of directives: standing orders to the agent, beyond the current task."""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.cues.base import TOOLING, VERBS, Kind, cue
from opencode_memory.models import Category

DIRECTIVES: Final = Kind(
    Category.DIRECTIVE,
    (
        cue(
            "from now on",
            0.85,
            r"\bfrom (?:now|here|today|this point|tomorrow|here on) (?:on(?:wards?)?|out|forward)\b",
            r"\b(?:going|moving) forward\b",
            r"\bhenceforth\b|\bin (?:the )?future,? (?!we|i\b|it|this|there)",
            r"\bfor (?:the )?future (?:reference|runs|sessions|changes|work|tasks|prs)\b",
            r"\bfor all (?:future|further|later|next)\b",
            r"\b(?:as of|starting|effective) (?:now|today|immediately|this week)\b",
            r"\bnext time\b(?! we meet).*\b(?:please|use|run|ask|don'?t|do|make|check|call|just|tell)\b",
        ),
        cue(
            "standing order",
            0.75,
            rf"^(?:always|never|do not ever|don'?t ever|under no circumstances?|at no point|only ever|please always|you must always|"
            rf"you must never|you should always|you should never|you always|you never) (?:\w+ly )?(?:ever )?{VERBS}\b",
            rf",? (?:and|but|so|then|also|please|or) (?:please )?(?:always|never) (?:\w+ly )?{VERBS}\b",
            rf"[,:(–—-] ?(?:please )?(?:never|don'?t ever|do not ever|always) (?:ever )?{VERBS}\b",
            r"\bmake it a (?:habit|rule)\b|\bmake a habit of\b|\bas a (?:general )?rule\b|\brule of thumb\b|\bhouse rules?\b|\bgolden rule\b",
            r"\b(?:standing|permanent|general|hard|strict) (?:order|rule|instruction|requirement)s?\b",
        ),
        cue(
            "every time",
            0.72,
            rf"\b(?:every time|each time|whenever|any ?time|always when) (?:you|we|i|someone|somebody|anybody|anyone|there|the|it)\b.*\b{VERBS}\b",
            r"\b(?:before|after) (?:you|each|every|any|committing|pushing|merging|opening|every single)\b.*\b(?:always|every|each|any|anything)\b",
            r"\b(?:before|after) (?:every|each|any) (?:\w+ )?(?:commit|push|merge|pr|release|deploy(?:ment)?|change|edit|migration|pull request|test run|upgrade)\b",
            rf"^(?:before|after) (?:you )?(?:commit|push|merg|open|deploy|releas|publish|creat|mak|chang|touch|add|edit|upgrad|bump)\w*\b.{{2,80}},? (?:always |please |first |make sure |you )*{VERBS}\b",
            rf"\b{VERBS} .{{2,60}} before (?:you )?(?:commit|push|open|merg|releas|deploy)(?:ting|ing)?\b(?! it\b| this\b| that\b)(?:.*\banything\b)?",
            rf"\bif you (?:\w+ly |ever |have to |need to |must )?(?:touch|change|edit|add|modify|rename|create|write|remove|delete|bump|upgrade|see|find|hit|run into|are unsure|need|want)\b.{{2,90}}(?:,|then|please|also) (?:always |please |also |you (?:have|need) to |then |make sure |don'?t |never |do not )*{VERBS}\b",
        ),
        cue(
            "hands off",
            0.7,
            r"\bhands off\b|\boff[- ]limits\b|\b(?:is|are) (?:a )?no[- ]go\b|\bnever ever\b|\bdo not (?:ever )?(?:touch|edit|modify) (?:any|anything)\b",
            r"\b(?:don'?t|do not|never) (?:ever )?(?:touch|edit|modify|change|commit|hand[- ]edit|reformat)\b.{0,50}\b(?:generated|vendored?|gen/|dist/|vendor/|third[- ]party|lock ?files?|migrations?|snapshots?|legacy|by hand|manually|directly)\b",
            r"\b(?:without|unless) (?:me |i |my )?(?:asking|explicitly|approv|saying so|permission|confirm|ask|say|tell|a (?:review|ticket|test)|an? (?:ok|approval))\w*\b",
            r"\bask (?:me )?(?:first|before|for (?:permission|confirmation|approval))\b|\bcheck with me (?:first|before)\b|\bclear it with me\b",
        ),
        cue(
            "keep in mind",
            0.62,
            r"\b(?:keep|bear) (?:that|this|it) in mind\b|\bremember (?:that|this|to|for)\b|\bplease remember\b|\bdon'?t forget (?:that|to)\b.*\b(?:always|every|each|any)\b|\bmake a note\b",
            r"\bfor (?:every|each|any|all) (?:new |future )?(?:\w+ )?(?:commits?|prs?|changes?|features?|endpoints?|modules?|components?|tests?|scripts?|services?|migrations?|functions?|files?|releases?|tickets?|bugs?)\b,? .*\b(?:must|always|should|needs?|have to|has to|add|write|use|run)\b",
            r"\b(?:must|should) (?:never|always)\b",
            rf"\bno {TOOLING} (?:without|unless|until)\b",
            r",? (?:ever|period|full stop|no exceptions?|non[- ]negotiable|under any circumstances)[.! ]*$",
        ),
    ),
    (
        cue(
            "the task at hand",
            0.35,
            r"\b(?:for now|this time|just this once|right now|for the moment|at the moment|today only|in this (?:function|method|test|file|loop|case|pr|branch|commit|one|ticket|screen|view|class))\b",
        ),
        cue(
            "this code",
            0.3,
            r"\b(?:this (?:function|method|test|loop|class|component|endpoint|page|button|field|column|query|script|handler|view|modal|form|dialog|table|list|flag|command|parser|service)|the (?:output|button|page|modal|dialog|list|result|response|field|form|dropdown|header|footer|sidebar|tooltip|menu|function|method|endpoint|table header|user|users|customer|customers|client)) (?:should|must|needs?|has|have|can|may|will|shall)\b",
        ),
        cue(
            "what the product does",
            0.3,
            r"\b(?:users?|customers?|clients?|members?|visitors?|admins?|guests?|players?|patients?|students?|subscribers?|buyers?|sellers?|drivers?) (?:must|should|can|may|always|never|have to|need to|are|is|will)\b",
        ),
    ),
)

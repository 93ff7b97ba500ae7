"""Cues of the user's lasting preferences, likes and dislikes, and of corrections."""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.cues.base import Kind, cue
from opencode_memory.models import Category

_WORK: Final = (
    r"(?:answers?|explanations?|repl(?:y|ies)|responses?|messages?|summar(?:y|ies)|diffs?|commits?|commit messages?|prs?|comments?|tests?|functions?|code|"
    r"names?|variables?|lines?|files?|docs?|types?|output|numbers?|steps?|changes?|edits?|plans?|lists?|bullets?|emojis?|prose|english|reviews?|"
    r"imports?|loops?|libraries|libs?|dependencies|abstractions?|classes|patches|branches|snippets?|logs?|wrappers?|helpers?|refactor\w*|style|"
    r"indentation|tabs|spaces|commands?|flags?|tools?|editor|shell|terminal|errors?|exceptions?|one-liners?|macros?|mocks?|asserts?|fixtures?)"
)

PREFERENCES: Final = Kind(
    Category.PREFERENCE,
    (
        cue(
            "I prefer",
            0.8,
            r"\bi (?:(?:really|strongly|generally|usually|much|always|personally|kinda|still|do|would|tend to|very much|definitely|slightly|actually|mostly) )*prefer\b",
            r"\bi(?:'d| would) (?:much |always |generally |really |usually )?(?:rather|prefer)\b",
            r"\bmy (?:personal |own |strong )?preference\b|\bi(?:'m| am) (?:a (?:big )?fan|partial|allergic|old[- ]school|picky|not a (?:big |huge )?fan|no fan)\b|\bpet peeve\b",
            r"\bpreferably\b.*\balways\b|\bi favou?r\b",
        ),
        cue(
            "I never want",
            0.75,
            r"\bi (?:never|always|only(?: ever)?) (?:want|need|read|look at|use|write|work|like|expect|see|accept|merge|review)\b",
            r"\bi (?:really |just |absolutely |seriously |honestly |genuinely )?(?:hate|can'?t stand|cannot stand|loathe|despise|dislike|detest|don'?t like|do not like|don'?t want|do not want|don'?t (?:ever )?(?:need|care)|do not (?:need|care)|couldn'?t care less|don'?t trust)\b",
            r"\bi (?:really |just |actually )?(?:like|love|want|need|expect) (?:my|your|all|every|each|small|short|long|plain|to (?:see|read|review|know|understand|have|be)|when|it when|having|seeing|things|code|tests|commits|functions|types|explicit|it (?:short|brief|terse|simple|explicit))\b",
            r"\bi (?:only )?care about\b|\b(?:drives|driving) me (?:nuts|mad|crazy|insane|up the wall)\b|\b(?:bugs|bugging|annoys|annoying|bothers|bothering|irritates) me\b|\bgets on my nerves\b|\bmakes my (?:eyes|skin|blood)\b",
            r"\bi (?:find|consider) .{2,60} (?:harder|easier|unreadable|ugly|noisy|annoying|confusing|distracting|cleaner|clearer|nicer)\b",
        ),
        cue(
            "when you do it, do it so",
            0.7,
            r"\bwhen(?:ever)? (?:you|i ask you to|i ask for|i say|i want|writing|showing|explaining|you'?re|giving|reporting|proposing|suggesting|naming|committing|adding|creating|editing|reviewing|refactoring)\b.{2,80}(?:,| please | then | just | i (?:want|need|mean|expect|prefer)| don'?t | do not | always | never | use | give | start | show)",
            rf"\bkeep (?:your |the |all |any |my )?{_WORK}(?: \w+)? (?:short|brief|terse|small|concise|minimal|simple|focused|separate|tiny|readable|under|to (?:a|one|two|the)|in (?:english|one))\b",
            rf"\b(?:stop|quit|enough with|no more|spare me|skip|drop|lose|cut|less|fewer) (?:with )?(?:the |all the |all these |these |those |your |any )?(?:\w+ing\b|\w+ ){{0,2}}{_WORK}\b",
            r"\b(?:please )?(?:stop|quit) (?:always )?\w+ing\b",
            r"\b(?:talk|speak|answer|reply|write|respond|explain|address) (?:to me |me )?(?:in|like|as) (?:english|german|french|spanish|plain|simple|bullet|short|full|a |an )",
        ),
        cue(
            "please no such things",
            0.55,
            rf"\b(?:please |pls |plz )?(?:don'?t|do not|never|no need to) (?:ever )?(?:write|add|put|use|give|create|generate|make|send|leave|include|start|end|explain|repeat|apologi[sz]e|ask|tell|show|say|call|name|insert|sprinkle|sneak|wrap|invent|produce|hand|paste|dump|commit|bring|touch|reformat|reorder|rewrite|sort|introduce|pull in|reach for|suggest|propose)\b.{{0,60}}\b(?:me|anymore|any more|again|ever|everywhere|all the time|every|each|any|that (?:just |only |merely )?(?:repeat|restate|say|describe)|unless|without|by default|{_WORK[3:-1]})\b",
            r"\b(?:no|without|zero) (?:emojis?|emoticons?|exclamation|comments?|docstrings?|summar(?:y|ies)|boilerplate|filler|fluff|preamble|apolog\w+|disclaimers?|abbreviations?|magic|one[- ]letter|single[- ]letter|nested|semicolons?|default exports?|any\b|mocks?|globals?|lombok|lodash|jquery|orms?)\b",
            r"\b(?:at most|no more than|max(?:imum)?|under|less than|up to) (?:\d+|one|two|three|four|five|a couple of|a handful of) (?:\w+ )?(?:lines?|sentences?|words?|bullets?|paragraphs?|points?)\b",
            r"\b(?:too (?:verbose|chatty|wordy|long[- ]winded)|tl;?dr (?:first|style)|just (?:the |show me the |give me the )(?:diff|code|command|answer|patch|facts))\b",
            r"\bfor me (?:it'?s|that'?s|personally)\b|\bmy (?:style|way|habit|taste|editor|shell|terminal|keyboard|setup|machine|laptop) (?:is|has|uses|runs)\b",
            r"\bi(?:'m| am) (?:on|using|running|colou?r[- ]?blind|dyslexic|left[- ]handed|a (?:vim|emacs|vscode|neovim|fish|zsh)|not (?:a native|very|that|good|familiar|used))\b",
        ),
        cue(
            "how it should be worded",
            0.5,
            r"\b(?:small|smaller|atomic|tiny|short|shorter|early|explicit|guard|plain|boring|functional|descriptive|full|meaningful) (?:commits?|functions?|prs?|methods?|returns?|types?|clauses?|names?|sentences?|code|style|words?) (?:please|over|instead|rather|are|always)\b",
            r"\b(?:over|rather than|instead of|not) (?:inheritance|classes|mocks?|comments?|callbacks?|abbreviations?|nesting|clever\w*|cleverness|magic|exceptions?|globals?|singletons?)\b",
        ),
    ),
    (
        cue(
            "a request",
            0.5,
            r"\bi(?:'d| would) (?:like|love|want) (?:you )?to\b|\bi (?:want|need) (?:you )?to (?:add|fix|make|get|build|write|create|change|update|implement|know (?:if|why|what|how|whether)|see (?:if|why|what|how|whether|where)|understand (?:why|how|what|where))\b|\bi (?:want|need) (?:a|an|the|this|that|some|another|it to)\b",
        ),
        cue(
            "the task at hand",
            0.3,
            r"\b(?:for now|this time|just this once|right now|for the moment|in this (?:function|method|test|file|loop|case|pr|branch|commit|one|ticket|screen|view|class)|yet|anything yet)\b",
        ),
        cue(
            "praise or grumbling",
            0.5,
            r"\b(?:i (?:like|love|hate|don'?t like) (?:it|this|that|computers|mondays|you|how|the (?:idea|result|new|look|second|first|way))(?:\b(?! when)|$))|\bi (?:don'?t|do not) (?:want|need|like|care) (?:it|this|that|to (?:know|break|change|touch|lose|wait|spend|deal|bother|go|do|be|have to))\b",
        ),
        cue(
            "does not matter",
            0.5,
            r"\bi (?:don'?t|do not) care (?:which|what|how|either|if|whether|much)\b|\bi don'?t (?:want|need) (?:any(?:thing)?|more|another|you) (?:yet|now)\b",
        ),
        cue(
            "a thing of the product",
            0.4,
            r"\b(?:the|this|that) (?:button|page|modal|dialog|dropdown|header|footer|sidebar|tooltip|menu|form|banner|popup|animation|spinner)\b",
        ),
    ),
)

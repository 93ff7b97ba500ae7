"""Cues of decisions: alternatives that were chosen or rejected."""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.cues.base import Kind, cue
from opencode_memory.models import Category

DECISIONS: Final = Kind(
    Category.DECISION,
    (
        cue(
            "decided",
            0.85,
            r"\b(?:i|we|i've|we've|i have|we have|team|management|the (?:team|group|board|architects?)) (?:(?:just|now|finally|also|all|both|have|had|already|ended up|jointly|together) )*(?:decided|agreed|settled|opted|chose|chosen|voted|concluded|landed|committed)\b(?! (?:not )?yet)",
            r"\b(?:decided|agreed|settled|signed off) (?:on|to|that|against|for)\b",
            r"\bdecision(?: made| is| was|:| on| taken| from)\b|\bthe (?:final )?(?:call|verdict|decision) is\b|\bmy call\b|\bfinal (?:answer|decision|call)\b",
            r"\bthat'?s (?:settled|decided|final|a decision|the plan of record|locked in)\b|\b(?:is|are) (?:now )?(?:settled|decided|final|locked in)\b|\bconsider (?:it|that) decided\b",
            r"\bchange of plans?\b|\bwe(?:'re| are) (?:now )?(?:officially|definitely)\b|\bmade up (?:my|our) mind\b|\bended up (?:going with|choosing|picking)\b",
        ),
        cue(
            "it is then",
            0.78,
            r"\b[\w.+#/-]+ it is\b(?! (?:a|an|the|not|very|too|so|just|only|really|still|also|because|possible|failing|broken|null|set|used|in|on)\b)",
            r"\b(?:going|go|went|stick(?:ing)?|stay(?:ing)?|run(?:ning)?|roll(?:ing)?) with (?!it\b|that error|this error|the (?:tests?|build)\b)[\w`\"'(]",
            r"\b(?:option|variant|approach|alternative|proposal|plan|number|solution|version|design) (?:#?\d|[a-d]\b|one|two|three)(?!.*\b(?:explain|elaborate|detail|mean|about)\b)",
            r"^#?(?:\d|[a-d])[.),:]? (?:please|then|it is|sounds|is (?:fine|good|better|what)|[a-z]+ (?:table|queue|cache|approach|pattern|way|one))\b",
            r"^(?:the )?(?:first|second|third|last|former|latter)(?: one| option| approach| variant| way)?(?:,| please| then| it is| sounds| is fine)\b",
        ),
        cue(
            "we are going to",
            0.74,
            r"\bwe(?:'re| are) (?:now |not |no longer |just |also |all |definitely |really )*(?:going with|dropping|keeping|moving|switching|migrating|sticking|staying|using|standardi[sz]ing|adopting|replacing|retiring|deprecating|killing|sunsetting|going (?:to (?:use|keep|drop|go|stay|stick|store|support|build|do|move|switch|have|make)|all in|full|serverless|monorepo)|not (?:going|doing|supporting|using|building)|building|targeting|supporting|shipping|splitting|merging|settling|leaving|ditching|removing|abandoning|freezing|pinning|licensing|open[- ]sourcing)\b",
            r"\b(?:let'?s|lets|let us) (?:just |rather |simply |all |then |please |also |instead |really |definitely |not |actually )*(?:go(?! (?:over|through|back|ahead|on|deeper|step|for a walk|home)\b)|use|keep|stick|drop|stay|settle|switch|move|ditch|avoid|leave|have|store|put|do (?!it again|the same|that (?:first|next|now)|this (?:first|next|now)|another|one more|some)[\w`]|make|take|pick|choose|adopt|standardi[sz]e|not|treat|model|support|target|skip|call it|name it|cap|limit|require|split|pin|say|write|expose|build|version|default|serve|host|deploy|retire|replace|migrate|model)\b",
            r"\bwe(?:'ll| will| shall) (?:just |rather |simply |then |also |only |not |never |always |definitely |instead |now )*(?:use|go|keep|stick|drop|hold|store|build|target|support|stay|switch|ship|not|have|do|take|put|cache|require|leave|live|write|model|version|host|deploy|expose|serve|treat|accept|call|name|default|cap|limit|pin|split|be (?:using|going|on)|start (?:with|using)|move to|make|retire|replace|generate|publish|poll|push|implement|rely|return|wrap|vendor|handle|standardi[sz]e|adopt|pay|roll)\b",
            r"\bwe won'?t (?:be )?(?:use|using|support|supporting|need|do|doing|build|building|add|adding|ship|shipping|go|going|implement|migrate|have|offer|bother|touch|keep|store)\b",
        ),
        cue(
            "in or out",
            0.6,
            r"\b(?:no|not) [\w./+-]+(?: [\w./+-]+)? (?:after all|at all|whatsoever|period|for this project|in this project|in v?\d)\b",
            r"\b(?:is|are|'s|'re|stays?|goes?|remains?) (?:out|in|gone|off the table|out of scope|in scope|dead|cut|dropped)\b(?: (?:for|of|from|in|until|this|then|now|:)| ?[,.;:!]| ?$)",
            r"\bships? without\b|\bout of scope\b|\bnot (?:in|for) (?:v|version |release |milestone )?\d|\bwon'?t (?:make|be in|be part of|get into|go into)\b",
            r"\b(?:instead of|rather than|over|in favou?r of|and not|not) .{2,50}\b(?:we(?:'ll| will|'re)|it(?:'ll| will))\b|\bwe(?:'ll| will|'re)\b.{2,80}\b(?:instead of|rather than|in favou?r of)\b",
            r"\b(?:leave|keep|do|put|make|handle|move|push|store|have) (?:it|that|this|them|those|these)(?: \w+){0,6} then\b",
            r"^(?:leave|keep) (?:it|that|this|them|.{3,50}) (?:to|in|as|on|at|with|out of) (?:the )?\w+",
            r"\b(?:replaces?|supersedes?|takes over from) (?:the|our|what)\b|\bin favou?r of\b",
        ),
    ),
    (
        cue(
            "undecided",
            0.9,
            r"\b(?:nothing(?:'s| is)? (?:\w+ )?(?:decided|settled|final)|not (?:yet )?(?:decided|settled|agreed)|haven'?t (?:\w+ )?(?:decided|agreed|settled)|undecided|to be decided|tbd|before (?:we|i) decide|until (?:we|i) decide|have to decide|need to decide|must decide|who decided|let me decide|you decide|can'?t decide|decide (?:later|whether|if|between))\b",
        ),
        cue(
            "the task at hand",
            0.45,
            r"\b(?:for now|this time|just this once|for the moment|for today|today|right now|until then|the rest later|next step|first step|later today)\b",
        ),
        cue(
            "what is done next",
            0.5,
            r"\b(?:let'?s|lets|let us|we(?:'ll| will)) (?:\w+ )?(?:go (?:over|through|back|ahead|on|deeper|one|step)|do (?:it|that|this|the|these|those|another|one|some|both|a)\b|take (?:a|another|it from|this|care)|see|look|call it a (?:day|night)|have a (?:look|chat|go)|make (?:sure|it (?:work|green|pass|compile))|put (?:it back|that (?:aside|back|on hold))|leave (?:it )?(?:at that|there|for today)|move on|get (?:back|going|started)|start|try|write (?:a|the|some|one)|build (?:it|and)|say (?:that|there|we|it|you|i|a)|not (?:worry|get|bother|waste|go there|overthink|forget|rush|touch (?:it|that|this)|do (?:it|that|this)\b))\b",
        ),
        cue(
            "perhaps",
            0.5,
            r"\b(?:maybe|perhaps|might|probably|possibly|i guess|i think|i suppose|not sure|leaning|could|thinking (?:about|of)|considering|tempted|we'?ll see|unless)\b",
        ),
    ),
)

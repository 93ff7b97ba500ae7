"""Cues of blockers, plans and ideas."""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.cues.base import Kind, cue
from opencode_memory.models import Category

_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH: Final = r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_WHEN: Final = (
    rf"(?:(?:next|this coming|the following) (?:week|month|sprint|release|quarter|year|iteration|milestone|version|{_DAY}|summer|winter|spring|fall|autumn|{_MONTH})|"
    rf"tomorrow|tonight|(?:on|by|until|till|from|before|after|this) {_DAY}s?|(?:in|by|until|from|early|late|mid|before|end of|after) {_MONTH}\b|(?:in|by|for) q[1-4]|"
    r"(?:over|on|at) the weekend|later (?:this|today|on)|after (?:the|this|that|we|our|i|v?\d)\s?\w*\s?(?:release|launch|migration|demo|freeze|holidays?|merge|sprint|vacation|refactor\w*|upgrade|deadline|go|ship\w*|cut|done|lands?)?|"
    r"(?:in|within) (?:a|two|three|four|\d+|a few|a couple of) (?:days?|weeks?|months?|sprints?)|once (?:the|this|that|we|it|i)\b|as soon as|when (?:the|that|we|it|this) (?:\w+ ){0,3}(?:lands?|ships?|is (?:done|out|merged|live|released|ready))|"
    r"eod|eow|end of (?:the )?(?:day|week|month|sprint|year|quarter)|first thing|in the (?:next|coming|following) (?:sprint|release|weeks?|days?|months?|version|milestone)|in v?\d+\.\d+|for (?:v|version )?\d+\.\d+|for (?:the )?(?:2\.0|next release|next version))"
)

BLOCKERS: Final = Kind(
    Category.BLOCKER,
    (
        cue(
            "blocked",
            0.85,
            r"\b(?:i'm|i am|we're|we are|is|are|am|was|still|currently|completely|remains?|gets?|totally|be|'s|it's|got) (?:\w+ )?(?:blocked|stuck|stalled|on hold|held up)(?: (?:by|on|until|because|for|waiting|till|from|with|here)|[,.:;]|$)",
            r"^(?:blocked|stuck|stalled) (?:by|on|until|because|waiting|with|here)\b|\bblocker\b(?! (?:is )?(?:gone|resolved|fixed))|\bblocks? (?:us|me|the (?:release|rollout|deploy\w*|merge|migration|launch|work|whole|upgrade))\b|\bblocking (?:us|me|the|everything|our)\b|\bshow[- ]?stopper\b",
        ),
        cue(
            "waiting",
            0.72,
            r"\b(?:i'm|we're|i am|we are|still|just|currently|now|am|are|is) (?:\w+ )?waiting (?:for|on|until)\b|^waiting (?:for|on) (?!the tests|the build|it\b|you\b)|\b(?:pending|awaiting) (?:approval|review|access|the|a|an|legal|security|sign|from|their|his|her)\b",
            r"\b(?:can'?t|cannot|can not|not able to|unable to|won'?t be able to|impossible to|no way to|not allowed to|no point in|couldn'?t) .{2,90}\b(?:until|till|before|unless|as long as|without)\b(?! (?:a|an|the|any)? ?(?:warning|error|restart\w*|reload\w*))",
            r"\b(?:until|till|unless|as long as) .{2,90},? (?:we|i|nobody|nothing|no one) (?:can'?t|cannot|can|are|is|have to wait|won'?t)\b",
            r"\b(?:don'?t|do not|doesn'?t|haven'?t|still (?:don'?t )?(?:have|need)|didn'?t) (?:\w+ )?(?:get|got|have|had|received?|need) (?:\w+ ){0,3}(?:access|credentials?|permissions?|keys?|approval|license|quota|certificate|token|account|hardware|budget|sign[- ]?off|vpn)\b.{0,80}",
            r"\bis (?:still )?(?:down|unavailable|unreachable|out of order|frozen|locked)(?: (?:until|since|for|again|because|and|so|till|at)\b|[,.]|$)",
            r"\b(?:needs?|requires?|waiting) (?:\w+ )?(?:sign[- ]?off|approval|a decision|clearance|an answer|access) from\b|\b(?:nothing|not much) (?:we|i) can do (?:until|before|without)\b|\bon hold\b|\bpark(?:ed)? (?:it|this|that)\b",
        ),
    ),
    (
        cue(
            "a program waits",
            0.5,
            r"\b(?:thread|process|query|request|request|main loop|coroutine|goroutine|event loop|mutex|lock|socket|ui|page|button|spinner|cursor|animation|promise|scroll\w*|test|deploy script) (?:is |gets? |are )?(?:blocked|stuck|waiting|blocking)\b|\bblock(?:s|ing)? (?:the )?(?:ui|main thread|event loop|thread|rendering|io|i/o|request)\b|\bstuck in a loop\b",
        ),
        cue(
            "over",
            0.5,
            r"\b(?:unblocked|no longer (?:blocked|stuck)|not blocked|isn'?t blocked|was blocked|were blocked|used to be)\b",
        ),
    ),
)

PLANS: Final = Kind(
    Category.PLAN,
    (
        cue(
            "intended for a time",
            0.75,
            rf"\b{_WHEN}\b.{{0,60}}\b(?:i'?ll|i will|we'?ll|we will|i'?m (?:going to|gonna)|we'?re (?:going to|gonna)|i'm|we're|i want to|we want to|i plan|we plan|i need to|we need to|gets?|goes|moves?|comes?|will|is going to|planned|planning|let'?s|is next|starts?|begins?|happens?|follows?)\b",
            rf"\b(?:i'?ll|i will|we'?ll|we will|i'?m (?:going to|gonna)|we'?re (?:going to|gonna)|i(?:'m| am)|we(?:'re| are)|i (?:want|intend|plan|aim|hope|have|need) to|we (?:want|intend|plan|aim|hope|have|need) to|will|planned|scheduled|due|gets?|moves?|goes) .{{2,120}}\b{_WHEN}(?:\b|$)",
            r"\b(?:the |our |my |long[- ]term |current )?(?:plan|roadmap|goal|aim|milestone|deadline|target) (?:is|for|are|:)(?! (?:this|the) (?:function|test|bug|fix))\b",
        ),
        cue(
            "promised",
            0.72,
            r"\bi(?:'ve| have)? ?(?:promised|committed|commit to|pledged|signed up|volunteered|owe)\b|\bcommitting to\b|\bi'?ll (?:take care of|handle|own|do|write|add|prepare|send|review|file|open|look (?:at|into)|get|hook|set|follow up|talk|ask|finish|bring|draft|schedule|deal)\b.{2,80}\b(?:later|myself|tomorrow|afterwards|separately|tonight|weekend|monday|tuesday|wednesday|thursday|friday|week|soon|when)\b",
            r"\b(?:on|in) (?:the|our|my) (?:roadmap|backlog|todo list|to-do list|agenda|plan|schedule)\b|\b(?:is|are) (?:planned|scheduled|slated|due|penciled in|targeted) (?:for|to|by|in|on|next)\b|\bwe(?:'re| are) planning (?:to|on|for|a)\b|\bi(?:'m| am) planning\b|\bwe (?:plan|intend) to\b|\bi (?:plan|intend) to\b",
            r"\b(?:step|phase|part|milestone) (?:one|two|three|\d)\b.{0,40}\b(?:will|is|then|comes|later|next)\b|\bafter that,? we(?:'ll| will|'re| are)\b|\bthe next (?:big )?(?:step|thing|milestone|phase) (?:is|will|after)\b|\beventually we(?:'ll| will| want| need)\b",
        ),
    ),
    (
        cue(
            "the task at hand",
            0.4,
            r"\b(?:i'?ll|we'?ll|i will) (?:see|look|check|test|try|be (?:back|right|there)|take it from here|let you know|wait|go|sleep|think|commit|push|merge)\b(?!.*\b(?:week|month|sprint|friday|monday|tuesday|wednesday|thursday|weekend)\b)|\bwill look tomorrow\b|\bgotta run\b|\bsee you\b|\btalk (?:later|tomorrow)\b",
        ),
        cue("perhaps", 0.3, r"\b(?:maybe|perhaps|might|possibly|could|not sure|some ?day|one day|at some point)\b"),
        cue("the past", 0.4, r"\b(?:yesterday|last (?:week|month|night|sprint|year|friday|monday)|ago)\b"),
        cue(
            "what a program does",
            0.4,
            r"\b(?:users?|customers?|the (?:button|page|modal|job|request|query|loop|function|test|app)) will\b|\bwill (?:fail|crash|break|throw|return|render|show|be (?:null|empty|called))\b",
        ),
    ),
)

IDEAS: Final = Kind(
    Category.IDEA,
    (
        cue(
            "some day",
            0.76,
            r"\b(?:maybe|perhaps|possibly|might|could|would be|can|should|we|i'd|consider|worth).{0,80}\b(?:later|some ?day|one day|eventually|down the (?:road|line)|in the (?:long run|long term|distant future|future)|at some point|some time|sometime|in a later|in a future|further out|when we have time|if we (?:ever|find time|get bored)|once things)\b",
            r"\b(?:some ?day|one day|eventually|down the (?:road|line)|at some point|in the (?:long run|long term|future)|longer[- ]term|sometime|later on|for later|in a later version|in v2|for v2),? .{0,60}\b(?:maybe|perhaps|could|might|would|may|want|nice|should|worth|we|i)\b",
            r"\b(?:back burner|nice[- ]to[- ]have|parking lot|wish ?list|food for thought|shower thought|wild idea|crazy idea|random (?:idea|thought)|idea for later|just an idea|an idea:|idea:|for the backlog|someday/maybe|blue sky|future idea)\b",
        ),
        cue(
            "worth a thought",
            0.62,
            r"\b(?:might|may|could|would) be (?:nice|cool|worth|fun|interesting|great|neat|useful|good|handy|an option|a thing) (?:to|if|for|some|one|having)?\b.{0,60}\b(?:later|some ?day|one day|at some point|eventually|too|not now|not yet|as well|future|in mind|though)?\b",
            r"\b(?:not (?:now|yet|today|this (?:year|quarter|sprint|release|month))|out of scope for now|no rush|low prio(?:rity)?|nothing for now|not urgent),? (?:but|though|just)\b|\b(?:but|though),? (?:not (?:now|yet|today|this (?:year|quarter|sprint|release|month)))\b|\bsomething to (?:keep in mind|consider|think about|explore|look into|revisit)\b|\bworth (?:considering|exploring|revisiting|a look|a thought|a spike)\b|\bi(?:'ve| have) been (?:toying|playing) with (?:the idea|the thought)\b|\bone could\b",
        ),
    ),
    (
        cue(
            "a request",
            0.4,
            r"^(?:please |can you |could you |would you |maybe |perhaps )*(?:add|fix|implement|make|create|write|rename|change|update|remove|move|try|use|check|look|show)\b(?!.*\b(?:some ?day|later|at some point|eventually)\b)",
        ),
        cue(
            "about the code",
            0.3,
            r"\b(?:would be (?:nice|great|good|cool|helpful|useful) if you|could be (?:null|empty|wrong|the|a bug|that|better|because|related|caused)|might be (?:the|a bug|null|wrong|related|because|that|caused|missing))\b",
        ),
    ),
)

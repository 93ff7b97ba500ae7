"""Cues of conventions: rules that the project always follows."""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.cues.base import TOOLING, WE, Kind, cue
from opencode_memory.models import Category

_DO: Final = (
    r"(?:use|keep|put|write|name|prefix|suffix|squash|rebase|merge|stick|follow|avoid|run|deploy|release|tag|commit|ship|target|"
    r"support|pin|format|log|store|track|test|mock|place|group|sort|order|indent|call|version|document|review|require|allow|forbid|"
    r"import|export|load|generate|vendor|wrap|raise|throw|return|expose|pass|inject|cut|branch|sign|do|don'?t|do not|go|build|host|"
    r"model|represent|encode|serialize|work|default|cache|batch|publish|lint|type|validate|handle|translate|localize|round|seed|"
    r"soft[- ]delete|delete|never|always|only|avoid|prefer|have (?:a|one|two|three|our|the|no|strict)|start|end|bump|cherry[- ]?pick|backport|"
    r"abbreviate|capitali[sz]e|hardcode|assert|annotate|check in|register|declare|define|maintain|treat|count|measure|spell)"
)

CONVENTIONS: Final = Kind(
    Category.CONVENTION,
    (
        cue(
            "we always",
            0.78,
            rf"{WE} (?:\w+ )?(?:always|never|usually|generally|normally|typically|traditionally|consistently|strictly|exclusively|only ever) {_DO}",
            rf"{WE} only (?:ever )?(?:use|support|target|merge|deploy|release|commit|write|allow|accept|ship|log|test|run|push|import)\b",
            r"\b(?:our|the|a|this|house|team|project|repo|naming|coding|commit) (?:\w+ )?(?:convention|style guide|styleguide|house style|naming scheme|guideline|coding standard|standard|policy|practice|rule)s?\b(?: \w+){0,3} (?:is|are|says?|here|to|that|:|requires?|forbids?|for)\b",
            r"\b(?:by|per) (?:our )?convention\b|\bthe convention\b|\bconvention (?:here|in this|is|:)\b|\bthat'?s (?:how|the way) we\b|\bthe way we (?:do|name|write|structure|organi[sz]e|handle)\b",
            r"\b(?:in|across|throughout|for) (?:this|our|the (?:whole|entire)|all (?:our|of our)) (?:repo(?:sitory)?|project|code ?base|monorepo|org(?:anization)?|team|company|services?|repos|packages|workspace|app)\b.{0,40}\b(?:always|never|use|uses|we|are|is|go|live|sit|must|only|every|all|there'?s|no)\b",
        ),
        cue(
            "we do it so",
            0.68,
            rf"{WE} {_DO} .{{0,100}}\b(?:here|everywhere|in this (?:repo|project|code ?base|package|service|team|org|app|monorepo)|throughout|across|by default|for everything|for all|for every|instead of|rather than|not|never|only|exclusively|with(?:out)?|via|through)\b",
            rf"{WE} (?:don'?t|do not|never) (?:ever |really |generally )?(?:use|do|write|commit|mock|allow|rebase|squash|merge|deploy|release|push|import|add|log|store|hardcode|check in|abbreviate|bump|touch|put|keep|catch|throw|ship|support|test|nest|inherit|share|call|return|expose|want|accept|vendor|pin|make|have (?:any )?(?:default|global|circular|a))\b",
            rf"\b(?:all|every|each|any|only) (?:of (?:our|the) |our |the |new |public |internal |single )*(?:[\w/-]+ ){{0,2}}{TOOLING}\b.{{0,60}}\b(?:are|is|must|should|shall|have to|has to|needs? to|need to|go(?:es)?|lives?|starts?|ends?|uses?|gets?|carr(?:y|ies)|includes?|comes? with|ha(?:s|ve)|follows?|belongs?|runs?|sits?|begins?|returns?|takes?|extends?|inherits?|implements?)\b",
            rf"\b{TOOLING}\b (?:\w+ )?(?:always |never |only |must |should |have to |has to |need to |needs to |are to |is to )+(?:be |go |live |start|end|use|have|follow|come|contain|begin|return|get |match|include|carry|sit|run|stay|extend|cross|import|point|take|reference|mention|depend|know|read|write)\b",
            rf"\b{TOOLING}\b (?:here |in here |in this (?:repo|project|code ?base) |\w+ )?(?:go|goes|live|lives|sit|sits|belong|belongs|reside|resides|start|starts|begin|begins|end|ends) (?:right |directly |always |only |all |up )?(?:in|into|under|next to|beside|besides|alongside|with|at|on|to|right|inside|behind|below|together)\b",
        ),
        cue(
            "a rule of the project",
            0.6,
            rf"{WE} (?:use|follow|stick (?:to|with)|standardi[sz]ed on|rely on|have) (?!to\b)[\w`@./-]+",
            rf"\b{TOOLING}\b (?:here |in this (?:repo|project) )?(?:are|is|get|gets) (?:all |always |only |never |written|named|prefixed|stored|kept|formatted|sorted|generated|in (?:english|utc|cents|snake|kebab|camel|pascal|minor|iso|lower|upper|the imperative)|snake|kebab|camel|pascal|lower|upper|utc|iso|immutable|uuid|ulid|squash|rebased|signed|semver|conventional|css modules|tested|reviewed|versioned|imported|injected|wrapped|logged)\b",
            r"\b(?:snake[_ -]?case|kebab[- ]?case|camel ?case|pascal ?case|screaming[_ ]snake|conventional commits?|semver|semantic versioning|trunk[- ]based|git ?flow|utc|iso[- ]?8601|css modules|bem|hungarian|minor units|arrange[- ]act[- ]assert|given[- ]when[- ]then)\b.{0,60}\b(?:everywhere|here|always|only|please|for (?:all|every|everything|the)|in (?:this|the|our))\b",
            r"\b(?:here|in this (?:repo|project|code ?base)|around here|over here)\b.{0,60}\b(?:starts? with|ends? with|always|never|have to|must|go(?:es)? (?:in|under|to)|use[sd]?\b|are (?:written|named|kept|in))\b",
            r"\b(?:starts?|begins?|ends?|prefixed|suffixed) with (?:the|a|an|our) (?:\w+ )?(?:ticket|jira|issue|scope|type|prefix|number|key|initials?|emoji|verb|name|underscore|test_|module)\b",
            r"\bone (?:class|component|migration|test|assertion|concept|export|commit|function|model|type|test file|responsibility|package|branch) per (?:\w+)\b|\bnever (?:floats?|doubles?|null|any|default exports?)\b|\bno (?:default exports?|barrel files?|__tests__|relative imports?|wildcard imports?|star imports?|any types?|raw sql|inline styles?|magic numbers?|floats?)\b",
            r"\b(?:4|2|two|four|eight|8)[- ]spaces?\b|\btabs,? not spaces\b|\bspaces,? not tabs\b|\b(?:80|88|100|120)[- ](?:chars?|characters?|columns?|cols?)\b.{0,30}\b(?:limit|max|line)",
        ),
    ),
    (
        cue(
            "past or intended",
            0.45,
            rf"{WE} (?:used to|had|were|should|could|might|may|need to|have to|must|want|wanted|would|can|can'?t)\b",
        ),
        cue(
            "the task at hand",
            0.35,
            r"\b(?:for now|this time|just this once|right now|in this (?:function|method|test|file|loop|case|pr|branch|commit|one|ticket|screen|view)|add|fix|implement|make sure) (?:the|a|an|that|this|these|it)\b",
        ),
        cue(
            "what the product does",
            0.35,
            r"\b(?:users?|customers?|clients?|members?|visitors?|admins?|guests?|players?|the (?:button|page|modal|dialog|list|form|user|app|ui|screen|output|result|report|table|export)) (?:must|should|can|may|always|never|has to|have to|needs? to|shows?|gets?)\b",
        ),
        cue(
            "broken",
            0.4,
            r"\b(?:fail(?:s|ed|ing)?|broken?|crash\w*|wrong|bug|doesn'?t work|not working|error(?:s|ed)?(?: out)?|hangs?|flaky|red|weird|slow|missing)\b",
        ),
    ),
)

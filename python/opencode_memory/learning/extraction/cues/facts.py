"""Cues of facts about the project and its environment, and of an agent's findings."""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.extraction.cues.base import Kind, cue
from opencode_memory.models import Category

_PLACES: Final = (
    r"(?:staging|prod(?:uction)?|ci|the ci|qa|uat|sandbox|dev|preview|canary|jenkins|github actions|gitlab|the (?:\w+ ){0,3}(?:db|database|server|"
    r"cluster|api|gateway|proxy|cron(?:job)?|job|queue|broker|runners?|build (?:box|server|machine|agent)|box|vm|host|registry|bucket|cache|"
    r"load balancer|firewall|vpn|cdn|mirror|replica|instance|service|backend|frontend|endpoint|webhook|sandbox|scheduler|worker|monorepo|repo|"
    r"image|container|license|licen[cs]e server|token|certificate|cert|account|subscription|tenant|schema|legacy \w+|vendor|client|sdk|compiler|"
    r"toolchain|device|board|sensor|printer|hardware|partition|network|importer|exporter|parser|index|dump|dataset|mainframe|lib(?:rary)?|"
    r"framework|plugin|driver|firmware|pipeline|bot|app store|feed|topic|contract|team|customer|users? table)s?|our (?:[\w-]+ ){0,3}[\w-]+|"
    r"[a-z]+'s (?:api|database|db|sandbox|staging|sdk|server|cluster))"
)
_STATE: Final = (
    r"(?:is|are|has|have|runs?|lives?|needs?|requires?|can'?t|cannot|doesn'?t|don'?t|won'?t|does not|gets?|sits?|listens?|expires?|takes?|allows?|"
    r"rejects?|points?|only|expects?|returns?|uses?|supports?|depends?|comes?|caps?|limits?|throttles?|rate[- ]limits?|rotates?|resets?|restarts?|"
    r"talks?|speaks?|stores?|holds?|keeps?|belongs?|ignores?|strips?|assumes?|counts?|stays?|still|never|always|drops?|closes?|blocks?|caches?|"
    r"refuses?|accepts?|blows? up|isn'?t|aren'?t|goes|go|costs?|ships?|fails?|breaks?|was|were|got|writes?|reads?|deletes?|wipes?|pulls?|polls?|"
    r"truncates?|rounds?|mirrors?|syncs?|hosts?|serves?|exposes?|skips?)"
)
_PARTICULAR: Final = (
    r"(?:\d|`[^`]{1,80}`|\b[a-z]{1,30}[_-]\w|\b\w{1,30}\.\w{1,5}\b|\b[A-Z]{2,}\b|/\w+|\bread[- ]only\b|\bonly\b|\bsince\b|\buntil\b|\bbehind\b|\bstuck on\b|"
    r"\breplica\b|\blimit\w*\b|\bquota\b|\bexpires?\b|\bshared?\b|\bversion\b|\bhardcoded\b|\bport\b|\btimezone\b|\bmax(?:imum)?\b|\bmanual(?:ly)?\b|"
    r"\bself[- ]hosted\b|\bdeprecated\b|\bcase[- ]sensitive\b|\bnightly\b|\bevery (?:night|day|hour|\w+day|week|month)\b|\bfrozen\b|\beol\b|\bbecause\b)"
)

FACTS: Final = Kind(
    Category.FACT,
    (
        cue(
            "to be known",
            0.7,
            r"\b(?:fyi|for your information|heads[- ]up|just so you know|so you know|for (?:your )?reference|for context|for the record|good to know|worth knowing|be aware|beware|careful|watch out|mind you|gotcha|caveat|note that|note:|keep in mind|bear in mind|in case you (?:wonder|need|run|see|hit))\b",
            r"\b(?:don'?t be (?:confused|surprised|fooled|alarmed)|you(?:'ll| will| might| may) (?:see|notice|get|run into|find)|that'?s (?:expected|normal|by design|intentional|on purpose|known|a known))\b",
        ),
        cue(
            "a cause",
            0.68,
            r"\broot cause\b|\bthe (?:real |actual |underlying )?(?:reason|cause|culprit|catch|trick|problem) (?:is|was|being|turned out|here)\b|\bturn(?:s|ed) out\b|\bit'?s because\b|\bthat'?s because\b|\bbecause of (?:the|our|a)\b|\bwhich is why\b|\bthat'?s why\b",
        ),
        cue(
            "how a place is",
            0.62,
            rf"\b{_PLACES}\b(?: \w+){{0,4}} {_STATE}\b.*{_PARTICULAR}",
            rf"{_PARTICULAR}.*\b{_PLACES}\b(?: \w+){{0,3}} {_STATE}\b",
            r"\bthere(?:'s| is| are|'re) (?:no|only|a|an|one|two|three|\d+|also|already|currently|just) .{3,80}\b(?:in|on|at|behind|for|per|between|running|that|which|called|named|until|since)\b.*(?:\d|`|\b[A-Z]{2,}\b|\bonly\b|\bno\b|\bbehind\b|\bcalled\b|_)",
            r"\b(?:lives?|sits?|runs?|listens?|hosted|stored|documented|deployed|kept|found|located|mounted|mirrored) (?:in|on|at|under|behind|inside|via) (?:`|/|port|the \w+ (?:repo|bucket|cluster|server|vault|folder|wiki|namespace)|\w+[-_.]\w+|[A-Z]\w+|aws|gcp|azure|vault|confluence|notion|s3|k8s|kubernetes)",
            r"\b(?:port|version|python|node|java|jdk|go|ruby|php|postgres(?:ql)?|mysql|redis|kubernetes|k8s|ubuntu|debian|alpine|terraform|gcc|clang|\.net|rust|django|rails|react|angular|vue|spring)\b ?v?\d+(?:\.\d+)*\b.{0,60}\b(?:only|until|since|because|not|still|max|or|and|in|on|everywhere|there)\b",
            r"\b(?:stuck|frozen|pinned|capped|limited|locked) (?:on|at|to)\b|\bread[- ]only\b|\brate[- ]limit\w*\b|\bread replica\b|\bend[- ]of[- ]life\b|\bno longer (?:maintained|supported|exists?|works?|used)\b|\bis deprecated\b",
            r"\bwe (?:have|run|host|pay|own|get|share|deploy|inherited|support|ship|serve|store|are on|'re on|are still on|still (?:have|run|use|support)) (?!to\b).*(?:\d|`|\b[A-Z]{2,}\b|\bonly\b|\bstill\b|\bself[- ]hosted\b)",
        ),
        cue(
            "how things stand",
            0.5,
            r"\b(?:is|are) (?:actually |really |in fact |still |only |just |all )*(?:a|an|the|our|owned by|generated (?:from|by)|managed by|maintained by|shared (?:by|with|between)|used by|called|named|defined in|based on|built (?:with|by|from)|written in|derived from|mounted|served|signed by|protected|encrypted|compressed|cached|synced|replicated|backed by|named after|tied to|hardcoded|configured|located|meant|responsible)\b.*(?:\d|`|_|/|\b[A-Z][\w]*[A-Z]\w*\b|\b[A-Z]{2,}\b|\bonly\b|\bnot\b)",
        ),
    ),
    (
        cue(
            "a bug report",
            0.4,
            r"\b(?:doesn'?t work|not working|broken?|crash(?:es|ed|ing)?|flickers?|wrong|(?:throws?|threw|getting|get|gives?|gave) (?:me )?(?:an? )?(?:\w+ )?(?:error|exception|500|404|null|nan)|too (?:large|slow|small|long|big|wide|late|early)|blank|looks? (?:off|weird|broken|ugly)|weird|bug|regression|blew up|freezes?|stuck at|duplicated?|twice|cut off|overlaps?|misaligned|off by one|chokes?|times? out|leaks?|flaky|stopped working|keeps? (?:failing|crashing|restarting)|fails?|failed|failing)\b",
        ),
        cue(
            "a request",
            0.5,
            r"^(?:please |pls |can you |could you |now |then |next |first )*(?:add|fix|implement|make|create|write|refactor|rename|change|update|remove|delete|move|bump|build|check|look|find|explain|show|run|investigate|debug|replace|convert|port|extract|split|merge|clean|set|generate|use|do|put|try|give|tell|help|migrate|wire|hook|expose|return|let|have|get|take|start|stop|revert|undo|test|document|improve|optimi[sz]e|review|commit|push|deploy|install|upgrade|switch|turn|sort|filter|handle|validate|parse|render|display|hide|align|style|i want|i need|i'd like|we need|we want)\b",
        ),
        cue(
            "unsure",
            0.5,
            r"\b(?:maybe|perhaps|might|probably|possibly|i think|i guess|i suppose|not sure|no idea|seems?|looks like|apparently|afaik|iirc|i believe|could be|supposedly|likely|suspect)\b",
        ),
        cue("what the product should do", 0.5, r"\b(?:should|must|needs? to|has to|have to|ought to|supposed to)\b"),
        cue(
            "small talk",
            0.4,
            r"\b(?:coffee|weekend|lunch|tired|haha|lol|kid|cat|dog|weather|beer|sleep|vacation|holiday|thanks|thank you)\b",
        ),
    ),
)

FINDINGS: Final = Kind(
    Category.FACT,
    (
        cue(
            "found out",
            0.75,
            r"\b(?:the )?(?:root|actual|real|underlying) (?:cause|reason|problem|issue)\b",
            r"\bturn(?:s|ed) out\b|\bthe (?:culprit|cause|reason|bug|problem|catch|explanation) (?:is|was|lies|turned out)\b|\bfound (?:it|the (?:cause|bug|problem|reason|culprit|leak|issue))\b|\b(?:is|was|are|were) caused by\b|\bthe failure (?:is|was|comes?|came)\b.*\b(?:because|from|due)\b",
            r"\b(?:this|that|it|which) (?:happens|happened|fails|failed|breaks|broke|occurs|occurred|is|was) (?:only )?(?:because|when|since|whenever|due to)\b",
        ),
        cue(
            "learned of the project",
            0.68,
            r"\b(?:i )?(?:found|discovered|noticed|learned|confirmed|verified|determined|established) (?:out )?that\b|^(?:note|heads[- ]up|important|careful|worth noting|one caveat|caveat|finding|conclusion|diagnosis|confirmed)\b[:,]?",
            r"\b(?:only|never|always|silently|no longer|does not|doesn'?t|cannot|can'?t|requires?|expects?|ignores?|overrides?|assumes?|depends on|defaults? to|is limited to|caps?|truncates?|rounds?|drops?|swallows?|strips?|leaves out|lacks?|is (?:generated|read|set|loaded|cached|shared|hardcoded|shadowed|overwritten|ignored|missing|skipped|called) (?:from|by|in|at|only|twice|before|after|when|on|per|with))\b.{0,120}(?:`|\d|_|\b\w+\.\w{1,5}\b|\b[A-Z]{2,}\b|\b[a-z]+[A-Z]\w+)",
        ),
        cue(
            "because",
            0.55,
            r"\b(?:because|since|due to|as) (?:the|a|an|its|their|it|they|`|no|both|only|every|each|\w+ (?:is|was|are|has|does|can|do|leaves|uses|expects|returns))\b.*(?:`|\d|_|\b\w+\.\w{1,5}\b|\b[A-Z]{2,}\b|\b[a-z]+[A-Z]\w+)",
        ),
    ),
    (
        cue(
            "announcing",
            0.7,
            r"\b(?:let me|i'?ll|i will|i'm going to|i am going to|next,? i|now i|i'?m (?:now )?(?:checking|looking|running|trying|adding|going)|let'?s|going to|first,? i|i need to|i should|we (?:can|could|should|need))\b",
        ),
        cue(
            "unsure",
            0.6,
            r"\b(?:maybe|perhaps|might|may|probably|possibly|could|i think|i guess|i suspect|seems?|looks like|appears?|likely|suggests?|not sure|hmm|would|if you|unless you|assuming|whether)\b",
        ),
        cue(
            "what was done",
            0.45,
            r"^(?:i(?:'ve| have)? |it |this |all |both |now |done|fixed|the \w+ (?:now|is (?:now|in place|done|gone|fixed|there)))?(?:\w+ )?(?:added|fixed|updated|changed|removed|renamed|created|moved|replaced|implemented|refactored|wrote|rewrote|cleaned|reverted|restored|bumped|installed|ran|extracted|split|converted|committed|pushed|done|passes?|compiles?|builds? again|works? now)\b",
        ),
        cue(
            "an offer",
            0.7,
            r"\b(?:do you want|would you like|shall i|should i|want me to|let me know|happy to|if you'?d like|i can|i could|i'd (?:recommend|suggest|lean|go)|options?|alternatively|you could|you can|you might|recommend)\b",
        ),
        cue(
            "an apology",
            0.6,
            r"\b(?:sorry|apologi[sz]e|my mistake|you'?re right|good catch|understood|got it|noted|makes sense|as you said|as you mentioned|as requested)\b",
        ),
        cue(
            "teaching",
            0.35,
            r"\b(?:in general|generally|typically|usually|in (?:python|javascript|rust|go|java|sql|postgres|react|git|docker|kubernetes|typescript),|by definition|is a (?:function|method|library|tool|pattern|technique|way)|stands for|means that|for example|e\.g\.|best practice)\b",
        ),
        cue(
            "from memory",
            0.8,
            r"\b(?:from memory|as the (?:project )?memory says|according to (?:the )?memory|i remember|memory says|my notes|the notes say|the (?:readme|docs|documentation|changelog|page|article|issue) (?:says?|states?|mentions?|recommends?))\b",
        ),
    ),
)

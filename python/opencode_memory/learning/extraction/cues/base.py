"""Cues, and their combination into a score for a category."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from opencode_memory.models import Category

_MORE: Final = 0.08
_MOST_MORE: Final = 0.16


@dataclass(frozen=True, slots=True)
class Cue:
    """A pattern with its weight.

    Attributes:
        name: Name that is shown to users as the rule.
        pattern: Pattern that is searched for anywhere in a sentence, ignoring case.
        weight: 0 to 1.
    """

    name: str
    pattern: re.Pattern[str]
    weight: float


@dataclass(frozen=True, slots=True)
class Kind:
    """Cues of one category.

    Attributes:
        category: Category of the memory.
        cues: Cues that indicate the category.
        against: Cues that contradict it; their weights are subtracted.
    """

    category: Category
    cues: tuple[Cue, ...]
    against: tuple[Cue, ...] = field(default=())

    def judge(self, sentence: str) -> tuple[float, str]:
        """Return the combined confidence of the cues in a sentence, and the name of the strongest cue."""
        found = sorted((cue for cue in self.cues if cue.pattern.search(sentence)), key=lambda cue: -cue.weight)
        if not found:
            return 0.0, ""
        more = min(_MOST_MORE, _MORE * (len(found) - 1))
        less = sum(cue.weight for cue in self.against if cue.pattern.search(sentence))
        return max(0.0, found[0].weight + more - less), found[0].name


def cue(name: str, weight: float, *patterns: str) -> Cue:
    """Build a cue from alternative patterns."""
    return Cue(name, re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE), weight)


WE: Final = r"\b(?:we|our team|the team|everyone|everybody|y'all|us)\b"
VERBS: Final = (
    r"(?:run|use|do|add|write|put|make|keep|commit|push|merge|rebase|squash|touch|edit|change|modify|create|delete|remove|install|"
    r"upgrade|bump|test|lint|format|ask|tell|check|open|close|start|stop|include|leave|mention|explain|show|give|name|call|prefix|"
    r"sign|tag|deploy|release|publish|ship|import|export|mock|stub|log|print|wrap|return|throw|raise|catch|handle|store|read|send|"
    r"load|regenerate|generate|build|review|document|comment|refactor|rewrite|rename|move|copy|import|skip|disable|enable|assume|"
    r"guess|hardcode|commit|amend|revert|force[- ]push|update|follow|stick|prefer|avoid|pin|quote|cite|answer|reply|respond|summari[sz]e|"
    r"verify|validate|confirm|propose|suggest|split|group|sort|order|reach|go|pull|fetch|cherry[- ]?pick|stage|stash|apply|execute|"
    r"invoke|hit|talk|work|let|set|get|take|try|look|say|put|end|begin|indent|align|escape|encode|version|migrate|seed|restart|kill|"
    r"reset|clean|drop|truncate|hand[- ]edit|bypass|ignore|suppress|silence|swallow|retry|reformat|inline|extract|duplicate|reuse|back|"
    r"bring|drag|sneak|slip|chain|nest|cast|type|annotate|declare|define|expose|query|join|wait|sleep|poll|cache|render|paste)"
)
"""Verbs with which a directive to an agent may begin."""
TOOLING: Final = (
    r"(?:tests?|specs?|fixtures?|mocks?|snapshots?|migrations?|commits?|commit messages?|messages?|branch(?:es)?|branch names?|tags?|prs?|"
    r"mrs?|pull requests?|merge requests?|reviews?|releases?|changelogs?|docs?|docstrings?|comments?|todos?|file ?names?|files?|folders?|"
    r"director(?:y|ies)|modules?|packages?|components?|classes|functions?|methods?|variables?|constants?|types?|interfaces?|enums?|"
    r"imports?|exports?|endpoints?|routes?|urls?|handlers?|controllers?|models?|schemas?|tables?|columns?|indexes|queries|ids?|keys?|"
    r"timestamps?|dates?|times?|durations?|amounts?|prices?|money|currency|units?|env(?:ironment)? vars?|environment variables?|configs?|"
    r"configuration|settings|secrets?|credentials?|flags?|feature flags?|logs?|logging|errors?|exceptions?|error messages?|"
    r"translations?|strings?|styles?|css|colou?rs?|icons?|assets?|images?|scripts?|jobs?|pipelines?|workflows?|deployments?|deploys?|"
    r"builds?|artifacts?|versions?|dependencies|deps|lockfiles?|libraries|services?|queues?|topics?|events?|payloads?|"
    r"responses?|requests?|headers?|apis?|hooks?|helpers?|utilities|utils|scripts|code|source|generated (?:code|files)|protos?|"
    r"db access|database access|sql|state|stores?|caches?|state changes?|side effects?|io|i/o)"
)
"""Subjects of a project's conventions."""

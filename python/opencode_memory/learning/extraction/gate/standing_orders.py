"""Standing orders: orders, habits and rules with a word of time or generality, for example "always run the linter".

The same words stand in complaints ("it never loads", "always shows 0") and in requirements for the product ("the button
should always be blue"). Therefore a form needs more than the word: an imperative, a subject of the team (you, we, I),
or a subject that belongs to the work, such as commits or tests.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from opencode_memory.learning.extraction.gate.fixed_values import find_fixed_value
from opencode_memory.learning.extraction.gate.habits import find_habit, names_only_way
from opencode_memory.learning.extraction.gate.orders import find_order
from opencode_memory.learning.extraction.gate.subjects_of_work import is_about_product, is_about_work
from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.learning.extraction.gate.work_at_hand import is_about_work_at_hand
from opencode_memory.learning.extraction.gate.work_rules import find_work_rule
from opencode_memory.models import Category

_TASK: Final = re.compile(
    r"^(?:(?:please|now|then|also|can you|could you|i want you to|let'?s)[,:]? )*(?:write|implement|create|build|"
    r"generate|draft|design|fix|refactor|spec|add|translate|summari[sz]e|explain)\b(?! (?:a |an |another |this |"
    r"that |the )?(?:\w+ )?(?:rule|guideline|instruction|docstring|test|type)s?\b)|\bthat(?:'s| is) the (?:bug|"
    r"problem|issue|reason)\b",
    re.IGNORECASE,
)
_FOR_NOW: Final = re.compile(r"\s*\bfor now\b", re.IGNORECASE)
_HERE: Final = re.compile(r"(?<=\w)(?: over)? here\b(?=\W|$)", re.IGNORECASE)
_HABIT: Final = re.compile(r"\bwe (?:always|never|only|use|don'?t|do not|keep|write)\b", re.IGNORECASE)
_THOSE: Final = re.compile(r"(?<=\bnever want )(?:to see |to get )?(?:those|these)\b", re.IGNORECASE)


def find_standing_order(sentence: str) -> Verdict | None:
    """Return the standing order that a sentence states, if any."""
    # "We only test on SQLite for now" is a choice; any other sentence with "for now" is about the work at hand.
    lasting = _FOR_NOW.sub("", sentence) if names_only_way(sentence) else sentence
    # "We always use tabs here": here is the project.
    placed = _HERE.sub("", lasting) if _HABIT.search(lasting) else lasting
    if is_about_work_at_hand(_THOSE.sub("", placed)) or _TASK.search(sentence):
        return None
    verdict = find_order(lasting) or find_fixed_value(lasting)
    if verdict is None and (is_about_work(lasting) or not is_about_product(lasting)):
        verdict = find_habit(lasting) or find_work_rule(lasting)
    if verdict is None or lasting == sentence:
        return verdict
    return replace(verdict, category=Category.DECISION, text=sentence)

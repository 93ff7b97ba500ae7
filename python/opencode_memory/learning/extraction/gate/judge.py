"""Judges a sentence of the user: asks the forms of the gate in order."""

from __future__ import annotations

from opencode_memory.learning.extraction.gate.explicit_orders import find_explicit_order
from opencode_memory.learning.extraction.gate.intentions import find_intention
from opencode_memory.learning.extraction.gate.replacements import find_replacement
from opencode_memory.learning.extraction.gate.standing_orders import find_standing_order
from opencode_memory.learning.extraction.gate.triggers import has_trigger
from opencode_memory.learning.extraction.gate.verdict import Verdict
from opencode_memory.learning.extraction.gate.work_at_hand import is_hypothesis


def judge(text: str, core: str, before: str) -> Verdict | None:
    """Return the lasting statement of a sentence, if it has one.

    Args:
        text: The sentence.
        core: The sentence without introductory words such as "ok, so".
        before: The sentence before it; empty if there is none.
    """
    text, core = text.replace("’", "'"), core.replace("’", "'")
    if not has_trigger(text):
        return None
    ordered = find_explicit_order(text)
    if ordered is not None:
        return ordered
    if is_hypothesis(core):
        return None
    return find_replacement(core, before) or find_standing_order(core) or find_intention(core)

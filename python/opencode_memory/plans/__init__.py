"""Plans: what a model proposes to do, in Markdown, until the user approves it.

``text`` reads the Markdown, ``plan`` has the data classes, and ``plans`` keeps them with all their versions.
"""

from __future__ import annotations

from opencode_memory.plans.plan import Approval, Mode, Plan, PlanStatus
from opencode_memory.plans.plans import Plans, Written
from opencode_memory.plans.text import PlanText, Section, read_plan

__all__ = ["Approval", "Mode", "Plan", "PlanStatus", "PlanText", "Plans", "Section", "Written", "read_plan"]

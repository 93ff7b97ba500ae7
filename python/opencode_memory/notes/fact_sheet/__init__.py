"""Fact sheet: one memory with the name, the purpose, the package manager and the commands of a project.

The facts come from manifests and the README. No code of the project is run, and instructions for agents (AGENTS.md) are
not copied, because OpenCode reads them itself.
"""

from __future__ import annotations

from opencode_memory.notes.fact_sheet.memory import SOURCE, update_fact_sheet
from opencode_memory.notes.fact_sheet.sheet import describe_project

__all__ = ["SOURCE", "describe_project", "update_fact_sheet"]

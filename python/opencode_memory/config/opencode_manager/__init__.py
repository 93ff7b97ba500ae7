"""``memory-config.jsonc``: what people who come from @opencode-manager/memory have configured there.

``places`` says where it is and copies it once from where it was before, ``parse`` makes values of its text, ``keys`` is
the table of what may stand in it and what that means here, ``reading`` brings the three together. Nothing in here
raises because of what a file holds: what is wrong with it becomes a ``Notice``, and the rest of it counts.
"""

from __future__ import annotations

from opencode_memory.config.opencode_manager.file import find, migrate
from opencode_memory.config.opencode_manager.notices import Notice, log_notices

__all__ = ["Notice", "find", "log_notices", "migrate"]

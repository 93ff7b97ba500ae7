"""Compatibility with ``memory-config.jsonc``, the configuration file of @opencode-manager/memory.

``file`` finds the file and copies it once from its old location, ``parse`` parses its text, ``keys`` maps its keys to
our settings, and ``read`` combines them. The content of the file never raises an error: each problem becomes a
``Notice``, and the valid keys still apply.
"""

from __future__ import annotations

from opencode_memory.config.opencode_manager.file import find, migrate
from opencode_memory.config.opencode_manager.notices import Notice, log_notices

__all__ = ["Notice", "find", "log_notices", "migrate"]

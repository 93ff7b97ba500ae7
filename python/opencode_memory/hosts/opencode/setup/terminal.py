"""The file that makes OpenCode's terminal load our part of the sidebar.

OpenCode reads ``tui.json`` and ``tui.jsonc`` of a folder, and adds their plugins. So setup writes the one that is
missing, and edits none of the user's.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

NAMES: Final = ("tui.json", "tui.jsonc")
PLUGIN: Final = "plugin/opencode-memory/tui.tsx"


def render_terminal(folder: Path) -> str:
    """Return the text of the file for a configuration folder."""
    return json.dumps({"plugin": [(folder / PLUGIN).as_uri()]}, indent=2) + "\n"


def choose_terminal_file(folder: Path) -> Path | None:
    """Return the file to write: ours, or else the one that is missing; None if the user has both."""
    text = render_terminal(folder)
    for name in NAMES:
        try:
            # Opening a FIFO would block.
            if (folder / name).is_file() and (folder / name).read_text(encoding="utf-8") == text:
                return folder / name
        except (OSError, UnicodeDecodeError):
            continue
    return next((folder / name for name in NAMES if not os.path.lexists(folder / name)), None)

"""The keys of the pages, which the script adds."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pytest

SCRIPT: Final = files("opencode_memory.server.pages") / "static" / "app.js"
NODE: Final = shutil.which("node")


def press(*keys: str) -> dict[str, Any]:
    """Press keys in a review of three memories."""
    assert NODE is not None
    command = [NODE, str(Path(__file__).with_name("pressed_keys.mjs")), str(SCRIPT), json.dumps(keys)]
    seen: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    return seen


pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")


def test_key_decides_on_the_chosen_memory() -> None:
    assert press("j", "j", "a")["clicked"] == ['[data-key="accept"] 1']


def test_key_without_a_chosen_memory_decides_nothing() -> None:
    assert press("a", "e", "r", "x", "Enter")["clicked"] == []


def test_held_key_decides_nothing() -> None:
    assert press("j", "held a", "held e", "held r", "held x", "held Enter")["clicked"] == []


def test_chosen_memory_is_marked_and_has_the_focus() -> None:
    assert press("j", "held j", "held j", "k") == {"clicked": [], "chosen": [False, True, False], "focused": 1}

"""Memories in OpenCode's real terminal: sidebar, review, browse, search, edit, undo, and messages about what was learned."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import opencode_memory
from e2e.plugged import Plugged, until
from e2e.repositories import SHOP
from e2e.screen import screen
from e2e.scripted_model import ScriptedModel
from opencode_memory import Trust


def learn(plugged: Plugged, text: str, category: str = "fact") -> str:
    """Store something as learning does."""
    with opencode_memory.open(plugged.data_dir, actor="extracted", background=False) as store:
        return store.remember(text, project=SHOP, category=category, trust=Trust.EXTRACTED).id


def status(plugged: Plugged, id: str) -> str:
    with opencode_memory.open(plugged.data_dir, read_only=True) as store:
        return store.get(id).status


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_memories_are_seen_and_changed_in_the_terminal(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url)
    with plugged.served() as server:
        deploys = plugged.remember(shop, "We deploy on Thursdays.", "decision")
        waiting = learn(plugged, "Always answer in short sentences.", "directive")
        with screen(plugged, shop) as terminal:
            server.until_warm()
            model.script("On Thursdays.")
            terminal.press("When do we deploy?", "Enter")
            terminal.until_shows("On Thursdays.")
            terminal.until_shows("Memory 0.", "beside this session", "1 waits for review")

            # A message tells what is learned meanwhile.
            learn(plugged, "The tests need Redis.")
            terminal.until_shows("remembered: The tests need Redis.")

            terminal.run("Memory: Review")
            terminal.until_shows("Waits for review", "Always answer in short sentences.")
            terminal.press("Enter")
            terminal.until_shows("Reject", "Accept")
            terminal.pick("Reject", hides="Accept")
            until(lambda: status(plugged, waiting) == "archived", "it was not rejected")

            terminal.run("Memory: Why is this here?")
            terminal.until_shows("Shown beside this session", "We deploy on Thursdays.")
            terminal.press("Enter")
            terminal.until_shows("Archive", "Back")
            terminal.pick("Archive", hides="Back")
            until(lambda: status(plugged, deploys) == "archived", "it was not archived")

            terminal.run("Memory: Undo")
            until(lambda: status(plugged, deploys) == "active", "it was not undone")

            terminal.run("Memory: Search")
            terminal.until_shows("Search the memory")
            terminal.press("redis for the tests", "Enter")
            terminal.until_shows("The tests need Redis.")
            terminal.press("Escape")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_terminal_without_a_sidebar_knows_what_was_shown(
    opencode_binary: Path, tmp_path: Path, model: ScriptedModel, shop: Path
) -> None:
    plugged = Plugged.set_up(opencode_binary, tmp_path / "home", model.url)
    with plugged.served() as server:
        plugged.remember(shop, "We deploy on Thursdays.", "decision")
        with screen(plugged, shop, columns=80) as terminal:
            server.until_warm()
            model.script("On Thursdays.")
            terminal.press("When do we deploy?", "Enter")
            terminal.until_shows("On Thursdays.")
            terminal.run("Memory: Why is this here?")
            terminal.until_shows("Shown beside this session", "We deploy on Thursdays.")

"""Corrections in the real OpenCode: the later word of the user replaces a stored statement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.plugged import Plugged, until
from e2e.repositories import SHOP, repository
from e2e.scripted_model import ScriptedModel
from support.corrections import Correction, read_corrections

WANTED = (
    ("package manager", "remember"),
    ("port", "agent"),
    ("tool", "remember"),
    ("path", "agent"),
    ("branch", "remember"),
    ("person", "typed"),
    ("version", "typed"),
    ("no longer", "typed"),
    ("forget", "remember"),
)
"""Kinds of pairs that are run here, and how their first statement is stored."""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


def select_pairs() -> list[Correction]:
    """Return one pair of each wanted kind."""
    chosen: dict[tuple[str, str], Correction] = {}
    for pair in read_corrections("pairs"):
        if (pair.kind, pair.how) in WANTED:
            chosen.setdefault((pair.kind, pair.how), pair)
    assert len(chosen) == len(WANTED)
    return list(chosen.values())


def test_later_word_in_another_session_replaces_the_stored_statement(
    opencode_binary: Path, model: ScriptedModel, tmp_path: Path
) -> None:
    shop = repository(tmp_path / "shop", remote=f"https://{SHOP}.git")
    pairs = select_pairs()
    plugged = Plugged.set_up(
        opencode_binary,
        tmp_path / "home",
        model.url,
        "--tools",
        "plugin",
        learning_sources="live",
        learning_rest_seconds="1",
    )

    def contents() -> list[str]:
        return [memory["content"] for memory in plugged.listed(shop) if memory["category"] != "conversation"]

    with plugged.served(), plugged.running(shop) as instance:
        for pair in pairs:
            session = instance.session()
            model.script(
                *(("memory-write", {"content": pair.stored, "scope": pair.scope}),) * (pair.how == "agent"), "Noted."
            )
            if pair.how == "remember":
                instance.command(session, "remember", pair.first)
            else:
                instance.prompt(session, pair.first)
        until(lambda: all(holds(contents(), pair.gone) for pair in pairs), "a first statement was not stored", 40)
        for pair in pairs:
            model.script("Done.")
            instance.prompt(instance.session(), pair.then)
        until(lambda: all(holds(contents(), pair.wanted) for pair in pairs), "a later statement was not stored", 40)
    for pair in pairs:
        assert not holds(contents(), pair.gone), pair


def holds(contents: list[str], pattern: str) -> bool:
    return any(words.casefold() in content.casefold() for content in contents for words in pattern.split("|"))

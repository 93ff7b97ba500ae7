"""Fixtures of the tests of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.machine import DIRECTIVE, MESSAGE, PROCEDURE, QUESTION, SESSION, Machine


@pytest.fixture(scope="session")
def used_machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with two memories and one session of OpenCode. Tests copy it, and never change it."""
    machine = Machine.prepare(tmp_path_factory.mktemp("machine") / "home")
    machine.remember(DIRECTIVE, "directive", "--global")
    machine.remember(PROCEDURE, "procedure")
    with machine.plugin() as plugin:
        plugin.shown(MESSAGE, QUESTION, session=SESSION)
        plugin.flush()
    return machine


@pytest.fixture
def machine(used_machine: Machine, tmp_path: Path) -> Machine:
    """A copy of ``used_machine`` for one test."""
    return used_machine.copy(tmp_path / "home")

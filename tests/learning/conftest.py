"""Fixtures for tests of learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.models import Category
from support.opencode import FakeOpenCode


def candidate(text: str) -> Candidate:
    """Build an instruction that the person did not type, so that it waits for them."""
    return Candidate(
        category=Category.DIRECTIVE,
        content=text,
        confidence=0.8,
        rule="standing order",
        evidence=text,
        normal_form=f"directive:{text}",
    )


@pytest.fixture
def unsure(monkeypatch) -> Callable[..., Any]:
    """Replace extraction from user texts: each text that begins with "Sort" gives a candidate that waits."""
    from opencode_memory.learning.extraction import session

    def extract_from_user(text: str, before: Any) -> tuple[Candidate, ...]:
        return (candidate(text),) if text.startswith("Sort") else ()

    monkeypatch.setattr(session, "extract_from_user", extract_from_user)
    return extract_from_user


@pytest.fixture
def opencode(tmp_path):
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        yield fake

"""Fixtures for tests of learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from opencode_memory import MemoryStore
from opencode_memory.models import Category
from support.learning import (
    refuse,
)
from support.opencode import FakeOpenCode


def candidate(store: MemoryStore, text: str = "Sort imports by length.", of: str = "ses_a") -> Any:
    """Build an uncertain candidate as the rules would."""
    from dataclasses import replace

    from support.learning import find_candidates

    (one,) = [
        one for one in find_candidates(refuse("please show the plan of it")) if one.category is Category.PREFERENCE
    ]
    return replace(one, content=text, confidence=0.5, normal_form=f"preference:{text}", topic=None)


@pytest.fixture
def unsure(monkeypatch) -> Callable[..., Any]:
    """Replace extraction from user texts: each text that begins with "Sort" gives one uncertain candidate."""
    from opencode_memory.learning.extraction import session

    def extract_from_user(text: str, before: Any) -> tuple[Any, ...]:
        return (candidate(None, text),) if text.startswith("Sort") else ()

    monkeypatch.setattr(session, "extract_from_user", extract_from_user)
    return extract_from_user


@pytest.fixture
def opencode(tmp_path):
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        yield fake

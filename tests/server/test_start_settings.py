"""Settings of the interpreter while a server starts."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from opencode_memory.server.start_settings import start_settings


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Return the objects of the tests to the collector."""
    yield
    gc.unfreeze()


def settings() -> tuple[bool, float]:
    return gc.isenabled(), sys.getswitchinterval()


def test_settings_change_until_the_start_is_complete() -> None:
    usual = settings()
    with start_settings() as complete:
        is_collecting, turn_seconds = settings()
        assert not is_collecting
        assert turn_seconds < usual[1]
        complete()
        assert settings() == usual
        assert gc.get_freeze_count() > 0
    assert settings() == usual


def test_settings_are_restored_when_the_start_fails() -> None:
    usual = settings()
    with pytest.raises(OSError, match="port"), start_settings():
        raise OSError("port")
    assert settings() == usual

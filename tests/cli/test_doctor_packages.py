"""The doctor's check for packages with our names."""

from __future__ import annotations

from importlib import metadata

import pytest

import opencode_memory
from opencode_memory.cli.doctor.packages import check_other_packages
from opencode_memory.config.distribution import DISTRIBUTION


def test_other_packages_are_named_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"opencode-memory": "0.4.2", "opencode-semantic-memory": "1.0"}

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(metadata, "version", version)
    found = list(check_other_packages())
    assert ["opencode-memory 0.4.2" in found[0].text, "predecessor" in found[1].text] == [True, True]
    assert all(check.level == "problem" and "ocm-memory" in str(check.hint) for check in found)
    installed.clear()
    assert list(check_other_packages()) == []


def test_our_own_package_has_its_name() -> None:
    assert metadata.version(DISTRIBUTION) == opencode_memory.__version__

"""Checks for packages in the same environment whose files or commands have our names."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from typing import Final

from opencode_memory.cli.doctor.checks import Check, Level
from opencode_memory.config.distribution import DISTRIBUTION

_OTHERS: Final = {
    "opencode-memory": "another project, or an early build of this one",
    "opencode-semantic-memory": "the predecessor, whose modules have the same name",
}


def check_other_packages() -> Iterator[Check]:
    """Report packages that may have replaced our files, or that ours may have replaced."""
    for name, about in _OTHERS.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        text = f"the package {name} {version} is installed in the same environment: {about}"
        hint = f"pip uninstall {name}, then pip install --force-reinstall {DISTRIBUTION}"
        yield Check("packages", Level.PROBLEM, text, hint)

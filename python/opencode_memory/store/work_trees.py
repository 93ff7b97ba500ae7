"""The work trees of projects in which a client works."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

WorkTrees = Mapping[str | None, tuple[str, ...]]
"""Absolute paths of work trees, by project. Files below them are named by their relative paths."""
NO_WORK_TREES: Final[WorkTrees] = MappingProxyType({})

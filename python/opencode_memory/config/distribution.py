"""The name of this package on the package index, where ``opencode-memory`` belongs to another project."""

from __future__ import annotations

from typing import Final

DISTRIBUTION: Final = "ocm-memory"

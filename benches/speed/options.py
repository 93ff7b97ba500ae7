"""Common options of the benchmarks in this folder, with their defaults."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse

RESULTS: Final = Path(__file__).parents[1] / "results"
WORK: Final = Path(tempfile.gettempdir()) / "opencode-memory-bench"


def add_options(parser: argparse.ArgumentParser, n: int) -> None:
    """Add the common options; ``n`` is the default size of the store."""
    parser.add_argument("--n", type=int, default=n, help="memories in the store (default %(default)s)")
    parser.add_argument("--work", type=Path, default=WORK, help="where data and stores are kept (default %(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON goes (default benches/results)")
    parser.add_argument("--reuse", action="store_true", help="keep stores that an earlier run built")

"""Samples of a server with its worker: memory, descriptors, threads, files of the store, and rows of every table."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_KB: Final = 1024
_MB: Final = 1024 * 1024


def sample_process(name: str, pid: int) -> dict[str, float]:
    """Return the memory of a process in MB, and its descriptors and threads; nothing if it has ended.

    ``anonymous`` is memory of the process alone. ``resident`` includes pages of files, which the kernel takes back.
    """
    try:
        fields = dict(line.split(":", 1) for line in (_PROC / str(pid) / "status").read_text().splitlines())
        descriptors = len(list((_PROC / str(pid) / "fd").iterdir()))
        return {
            f"{name}: anonymous MB": int(fields["RssAnon"].split()[0]) * _KB / _MB,
            f"{name}: resident MB": int(fields["VmRSS"].split()[0]) * _KB / _MB,
            f"{name}: descriptors": descriptors,
            f"{name}: threads": int(fields["Threads"]),
        }
    except (OSError, KeyError):
        return {}


def sample_files(folder: Path) -> dict[str, float]:
    """Return the sizes of a store's files in MB, and the number of segments of its full-text index."""
    sizes: dict[str, float] = {}
    for name in ("store.db", "store.db-wal"):
        file = folder / name
        sizes[f"files: {name} MB"] = file.stat().st_size / _MB if file.exists() else 0
    segments = {path.name.split(".")[0] for path in (folder / "lexical").glob("*.term")}
    return {**sizes, "files: segments": len(segments)}


def sample_rows(folder: Path) -> dict[str, float]:
    """Return the number of rows of every table."""
    address = f"file:{folder / 'store.db'}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=30)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
        return {f"rows: {name}": connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in tables}


def find_child(pid: int) -> int | None:
    """Return the process id of the first child; None if there is none."""
    try:
        tasks = list((_PROC / str(pid) / "task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return None
    return children[0] if children else None


class Samples:
    """Time series by name: seconds since the beginning, and a value."""

    def __init__(self) -> None:
        self.series: dict[str, list[tuple[float, float]]] = {}

    def add(self, seconds: float, values: Mapping[str, float]) -> None:
        """Add values of one moment."""
        for name, value in values.items():
            self.series.setdefault(name, []).append((seconds, value))

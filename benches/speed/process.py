"""Figures of the operating system: memory and cores of a process, bytes on disk."""

from __future__ import annotations

import os
import platform
import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SINGLE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKIO_WORKER_THREADS": "1",
    "LANCE_CPU_THREADS": "1",
}
"""Environment that keeps every engine to one thread."""

QUIET: Final = {"LANCEDB_LOG": "error", "ANONYMIZED_TELEMETRY": "False", "HF_HUB_OFFLINE": "1"}
"""Environment that keeps engines from logging per query and from looking for a network."""

_STATUS: Final = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class Resident:
    """Resident memory in bytes: current, current without files, and peak."""

    now: int
    anonymous: int
    peak: int


def resident() -> Resident:
    """Read this process's resident memory; where there is no procfs, the peak stands for all three."""
    if not _STATUS.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        return Resident(peak, peak, peak)
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    now, anonymous, peak = (int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon", "VmHWM"))
    return Resident(now, anonymous, peak)


def last_core() -> int | None:
    """Return the last core that this process may run on, or None where cores cannot be chosen."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def pin(core: int | None) -> None:
    """Keep this process, and all threads it will start, on one core."""
    if core is not None:
        os.sched_setaffinity(0, {core})


def disk_bytes(directory: Path) -> int:
    """Return the size of a directory on disk. Sparse files count by their blocks, not by their length."""
    return sum(path.lstat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())


def machine() -> dict[str, str | int]:
    """Describe this machine for a report."""
    info = Path("/proc/cpuinfo")
    model, flags = platform.processor() or platform.machine(), ""
    if info.exists():
        fields = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
        fields = {name.strip(): value.strip() for name, value in fields.items()}
        model = fields.get("model name", model)
        known = set(fields.get("flags", "").split())
        flags = " ".join(flag for flag in ("avx2", "f16c", "avx512f", "avx512_vnni") if flag in known)
    return {
        "processor": model,
        "cores": os.cpu_count() or 1,
        "instructions": flags,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }

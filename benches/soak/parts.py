"""The parts of a soak: long forms of tests that run for some seconds in continuous integration."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Part:
    """A command of a soak.

    The command gets ``SOAK_MINUTES``, a decimal number, and ``SOAK_REPORT``, a folder for ``report.md`` and pictures.
    It exits with 0 if its promise held.

    Attributes:
        name: Name in the report, and of the folder.
        promise: The promise that the part tests.
        command: Command line, run in the folder of the repository.
        share: Its share of the whole time, relative to the other parts.
    """

    name: str
    promise: str
    command: tuple[str, ...]
    share: float


def _cargo(test: str) -> tuple[str, ...]:
    core = ("--package", "opencode-memory-core", "--features", "crash-points")
    return ("cargo", "test", "--release", "--locked", *core, "--test", test, "--", "--nocapture")


def _pytest(file: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", "--quiet", "--timeout=0", file)


PARTS: Final = (
    Part(
        "life",
        "A server and its worker stay within bounds: memory, descriptors, WAL, segments and rows.",
        (sys.executable, "-m", "benches.soak.life"),
        0.5,
    ),
    Part(
        "histories",
        "Values, topics and claims are linearizable, and own writes are found first, under kills and clock jumps.",
        _pytest("tests/server/test_histories.py"),
        0.2,
    ),
    Part("brute_force", "A recall by meaning equals a comparison of all memories.", _cargo("brute_force"), 0.1),
    Part("fused_scores", "Scores of recalls equal those of a naive scorer.", _cargo("fused_scores"), 0.05),
    Part(
        "fuzz",
        "Any call, request and damaged file is answered or refused, and the store stays sound.",
        _pytest("tests/fuzz"),
        0.1,
    ),
    Part(
        "loops",
        "A loop whose server dies at any write sends no prompt twice and loses no commit.",
        (*_pytest("tests/loops/test_runner.py"), "-k", "deaths"),
        0.05,
    ),
    Part(
        "loop_kills",
        "A loop in the real OpenCode under random SIGKILLs of both programs: no prompt twice, no commit lost.",
        (*_pytest("tests/e2e/test_loops_kills.py"), "--capture=no"),
        0.3,
    ),
    Part("disk", "A loss of power or a failing disk loses no acknowledged write.", _cargo("disk"), 0.1),
    Part("kill", "An acknowledged write survives the death of any process.", _cargo("kill"), 0.2),
)

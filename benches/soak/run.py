"""Runs the parts of a soak and writes one report: ``python -m benches.soak.run``."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .parts import PARTS, Part

_MINUTES: Final = 60.0
_REPOSITORY: Final = Path(__file__).resolve().parents[2]
_REPORT: Final = _REPOSITORY / "target" / "soak"
_LAST_LINES: Final = 40


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a part: its exit code, its duration in seconds, and the last lines of its output."""

    part: Part
    code: int
    seconds: float
    output: str


def run_part(part: Part, minutes: float, folder: Path) -> Outcome:
    """Run a part and pass its output through."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"SOAK_MINUTES": f"{minutes:.3f}", "SOAK_REPORT": str(folder)}
    print(f"== {part.name}: {minutes:.1f} min", flush=True)
    begun, lines = time.monotonic(), []
    with subprocess.Popen(
        part.command, env=environment, cwd=_REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return Outcome(part, process.returncode, time.monotonic() - begun, "".join(lines[-_LAST_LINES:]))


def render(outcomes: Sequence[Outcome], folder: Path) -> str:
    """Render the report in Markdown."""
    today = dt.datetime.now(tz=dt.UTC).date()
    lines = [f"# Soak of {today}", "", "| part | promise | minutes | result |", "|---|---|---|---|"]
    lines += [
        f"| {outcome.part.name} | {outcome.part.promise} | {outcome.seconds / 60:.1f} "
        f"| {'held' if outcome.code == 0 else f'**failed** (exit code {outcome.code})'} |"
        for outcome in outcomes
    ]
    for outcome in outcomes:
        own = folder / outcome.part.name / "report.md"
        if own.exists():
            lines += ["", f"## {outcome.part.name}", "", own.read_text(encoding="utf-8").strip()]
        if outcome.code != 0:
            lines += ["", f"## Output of {outcome.part.name}", "", "```", outcome.output.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run all parts, or those of the command line; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=[part.name for part in PARTS], help="run only this part")
    only = parser.parse_args().only
    minutes = float(os.environ.get("SOAK_MINUTES", _MINUTES))
    parts = [part for part in PARTS if only is None or part.name in only]
    total = sum(part.share for part in parts)
    outcomes = [run_part(part, minutes * part.share / total, _REPORT / part.name) for part in parts]
    report = _REPORT / "report.md"
    report.write_text(render(outcomes, _REPORT), encoding="utf-8")
    print(f"report: {report}")
    return int(any(outcome.code for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())

"""Measures the first message after a cold start of OpenCode: ``python -m benches.speed.first_message``.

The real OpenCode, a scripted model, and no memory server when OpenCode starts. Each start sends its first message as
early as it can: ``opencode run`` with the message, ``opencode serve`` whose first request is the message, and the
terminal UI with ``--prompt``. Processes that only count keep some cores busy meanwhile. For each kind of start the
results are the number of first messages with their block, of turns whose system prompt and tools stay the same, and
of turns that have the tools of the memory from the first request on.

OpenCode comes from ``scripts/install_third_party.py``, the programs that drive it from ``tests/e2e``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from .options import RESULTS
from .process import machine

_ROOT: Final = Path(__file__).parents[2]
_MEMORIES: Final = (
    ("directive", "Always run the linter before committing."),
    ("procedure", "The walrus build needs make -j1: parallel builds corrupt the archive."),
)
_QUESTION: Final = "How do I build the walrus archive?"


@contextmanager
def _busy_cores(count: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _measure(folder: Path, kinds: list[str], starts: int) -> list[dict[str, object]]:
    # The programs that drive OpenCode are a package of the tests, which is not installed.
    sys.path.insert(0, str(_ROOT / "tests"))
    from e2e.cold_start import Kind, start_cold, stop_server  # noqa: PLC0415  as explained
    from e2e.plugged import Plugged  # noqa: PLC0415  as explained
    from e2e.repositories import repository  # noqa: PLC0415  as explained
    from e2e.scripted_model import ScriptedModel  # noqa: PLC0415  as explained

    install = [sys.executable, str(_ROOT / "scripts" / "install_third_party.py"), "opencode"]
    binary = Path(subprocess.run(install, check=True, capture_output=True, text=True).stdout.strip())
    shop = repository(folder / "shop", remote="https://forge.example/team/shop.git")
    results: list[dict[str, object]] = []
    with ScriptedModel() as model:
        plugged = Plugged.set_up(binary, folder / "home", model.url, starts=True)
        for category, content in _MEMORIES:
            plugged.remember(shop, content, category)
        for kind in kinds:
            turns, seconds = [], []
            for _ in range(starts):
                begun = time.perf_counter()
                turns.append(start_cold(plugged, Kind(kind), shop, model, _QUESTION))
                seconds.append(time.perf_counter() - begun)
            result = {
                "kind": kind,
                "starts": starts,
                "blocks": sum(turn.has_block for turn in turns),
                "stable": sum(turn.is_stable for turn in turns),
                "tools": sum(turn.has_tools for turn in turns),
                "seconds": round(median(seconds), 1),
            }
            print(result, flush=True)
            results.append(result)
        stop_server(plugged)
    return results


def main() -> None:
    """Run the benchmark and save its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=20, help="cold starts of each kind (default %(default)s)")
    parser.add_argument("--busy", type=int, default=2, help="cores to keep busy (default %(default)s)")
    parser.add_argument("--kinds", default="run,serve,tui", help="kinds of starts (default %(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the JSON goes (default benches/results)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _busy_cores(options.busy):
        results = _measure(Path(folder), options.kinds.split(","), options.starts)
    options.results.mkdir(parents=True, exist_ok=True)
    file = options.results / "first-message.json"
    file.write_text(json.dumps({"machine": machine(), "busy": options.busy, "results": results}, indent=2))


if __name__ == "__main__":
    main()

"""Measures cold starts: ``python -m benches.speed.cold``.

Whole processes, from start to exit, on all cores, with the file cache warm: the command line's help and one recall, an
import, and the first answer of a large store. The stores hold looked-up vectors under the bundled model's id: the
command line loads the real model for its query and searches as it would anywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from .data import Dataset, DataShape, prepare
from .options import add_options
from .process import machine
from .remote import Remote
from .results import Figure, save_figures
from .stores import Stores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RECALL_GOAL, HELP_GOAL, OPEN_GOAL, GREETING_GOAL = "at most 900", "below 150", "at most 500", "at most 300"


def _process_ms(command: Sequence[str], times: int, environment: Mapping[str, str]) -> float:
    """Return the median duration of a whole process, which must succeed."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
        taken.append(1_000 * (time.perf_counter() - start))
    return median(taken)


def _greeting_ms(command: str, times: int, environment: Mapping[str, str]) -> float:
    """Return the median from starting a server on standard input and output to its answer to ``initialize``."""
    client = {"name": "bench", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    greeting = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}) + "\n"
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        with subprocess.Popen(
            [command, "serve", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(greeting)
            process.stdin.flush()
            assert "protocolVersion" in process.stdout.readline()
            taken.append(1_000 * (time.perf_counter() - start))
            process.stdin.close()
    return median(taken)


def _first_answer_ms(dataset: Dataset, directory: Path, times: int) -> float:
    """Return the median from opening a store in a fresh process, library imported, to its first answer."""
    taken: list[float] = []
    for _ in range(times):
        with Remote("ours", dataset, directory, core=None) as remote:
            start = remote.ask("open")
            taken.append(start["open_ms"] + start["first_ms"])
            remote.ask("close")
    return median(taken)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed.cold", description=__doc__)
    add_options(parser, n=10_000)
    parser.add_argument("--large", type=int, default=100_000, help="memories in the large store (default %(default)s)")
    parser.add_argument("--times", type=int, default=10, help="starts of each kind (default %(default)s)")
    options = parser.parse_args(arguments)
    small, large = (prepare(options.work, DataShape(n)) for n in (options.n, options.large))
    directories = []
    for dataset in (small, large):
        stores = Stores(dataset, reuse=options.reuse, core=None)
        stores.built("ours")
        directories.append(stores.copy("ours"))
    query = small.queries("general")[0]
    command = str(Path(sys.executable).with_name("opencode-memory"))
    place = {"OPENCODE_MEMORY_DATA_DIR": str(directories[0]), "OPENCODE_MEMORY_PROJECT": query.project}

    def ms(*parts: str) -> float:
        return _process_ms(parts, options.times, place)

    first = _first_answer_ms(large, directories[1], options.times)
    sdk = ms(sys.executable, "-c", "import mcp.server")
    greeting = _greeting_ms(command, options.times, place)
    figures = [
        Figure(f"opencode-memory recall, {options.n:,} memories", ms(command, "recall", query.text), "ms", RECALL_GOAL),
        Figure("opencode-memory --help", ms(command, "--help"), "ms", HELP_GOAL),
        Figure("python -c 'import opencode_memory'", ms(sys.executable, "-c", "import opencode_memory"), "ms"),
        Figure("python -c 'pass', for comparison", ms(sys.executable, "-c", "pass"), "ms"),
        Figure("serve --stdio to the answer to initialize", greeting, "ms"),
        Figure("python -c 'import mcp.server', for comparison", sdk, "ms"),
        Figure("the difference of both", greeting - sdk, "ms", GREETING_GOAL),
        Figure(f"open {options.large:,} memories to the first answer", first, "ms", OPEN_GOAL),
    ]
    save_figures(options.results / "cold.json", "Starting from nothing", machine(), figures)
    print("\n".join(map(str, figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures whether requests wait for background work: ``python -m benches.speed.served``.

Paced clients of the resident server call recall and remember over HTTP, once without other load and once while
the worker embeds a backlog. Both phases send the same requests to stores with the same content. Rounds alternate, so
other load of the machine affects both. Clients run in their own process, and a failed call ends the run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

import opencode_memory

from .data import DataShape, prepare
from .options import add_options
from .process import machine
from .results import Figure, save_figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SERVES: Final = "serves http"
_CALLS: Final = ("recall", "recall", "recall", "remember")
"""Calls that a client repeats. Agents recall more often than they remember."""


@dataclass(slots=True)
class Phase:
    """The times of one phase in milliseconds, by tool, and the number of memories that the worker embedded."""

    times: dict[str, list[float]] = field(default_factory=lambda: {"recall": [], "remember": []})
    embedded: int = 0
    seconds: float = 0.0


@contextmanager
def served(home: Path, *, with_worker: bool) -> Iterator[str]:
    """Run a resident server on a store below ``home``; yields its address."""
    command = [sys.executable, "-m", "opencode_memory.cli", "serve", "--port", "0"]
    command += [] if with_worker else ["--no-worker"]
    environment = {**os.environ, "HOME": str(home), "OPENCODE_MEMORY_RATE_LIMIT": "0"}
    environment.pop("XDG_DATA_HOME", None)
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = next((line for line in process.stderr if _SERVES in line), None)
        if line is None:
            raise RuntimeError("the server did not start")
        yield next(word for word in line.split() if word.startswith("http")).removesuffix("/mcp")
    finally:
        process.terminate()
        process.wait()


def pending(address: str) -> int:
    """Ask a server how many memories wait for their vectors."""
    with urllib.request.urlopen(f"{address}/stats") as answer:
        return int(json.load(answer)["store"]["pending_embeddings"])


async def client(address: str, number: int, questions: Sequence[str], seconds: float, pause: float) -> Phase:
    """Call one tool after the other, with pauses of random length, until the time is over."""
    from mcp.client import Client  # noqa: PLC0415  only the clients' process needs it

    phase = Phase()
    chance = random.Random(number)
    async with Client(f"{address}/mcp") as session:
        await session.call_tool("recall", {"query": questions[number % len(questions)]})
        ends = time.perf_counter() + seconds
        turn = number
        while time.perf_counter() < ends:
            await asyncio.sleep(chance.uniform(0, 2 * pause))
            name = _CALLS[turn % len(_CALLS)]
            text = questions[(turn * 31 + number) % len(questions)]
            arguments = (
                {"query": text} if name == "recall" else {"content": f"{number}.{turn} {text}", "category": "fact"}
            )
            turn += 1
            begun = time.perf_counter()
            result = await session.call_tool(name, arguments)
            phase.times[name].append((time.perf_counter() - begun) * 1000)
            if result.is_error:
                raise RuntimeError(result.content)
    return phase


def run_clients(address: str, clients: int, questions: Sequence[str], seconds: float, pause: float) -> Phase:
    """Run all clients at once; the times of all."""

    async def run() -> list[Phase]:
        jobs = (client(address, number, questions, seconds, pause) for number in range(clients))
        return await asyncio.gather(*jobs)

    waiting, begun = pending(address), time.perf_counter()
    phases = asyncio.run(run())
    total = Phase(seconds=time.perf_counter() - begun)
    for phase in phases:
        for name, times in phase.times.items():
            total.times[name] += times
    written = len(total.times["remember"])
    total.embedded = waiting + written - pending(address)
    return total


def fill(home: Path, texts: Sequence[str], *, embedded: int) -> None:
    """Write a store of which the first memories have their vectors and the others wait."""
    folder = home / ".local/share/opencode-memory/store"
    with opencode_memory.open(folder, background=False) as store:
        store.remember_many({"content": text} for text in texts[:embedded])
        store.indexes.embed_pending()
        store.remember_many({"content": text} for text in texts[embedded:])
        store.indexes.catch_up()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed.served", description=__doc__)
    add_options(parser, n=10_000)
    parser.add_argument("--embedded", type=int, default=2_000, help="memories that have vectors (default %(default)s)")
    parser.add_argument("--clients", type=int, default=20, help="clients at once (default %(default)s)")
    parser.add_argument("--pause", type=float, default=1.0, help="mean pause of a client, s (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a round (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each phase (default %(default)s)")
    options = parser.parse_args(arguments)
    dataset = prepare(options.work, DataShape(options.n + options.embedded))
    texts = [memory.content for batch in dataset.batches(10_000) for memory in batch.memories]
    questions = [query.text for query in dataset.queries("general")]
    phases = {"quiet": Phase(), "embedding": Phase()}
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        for name in phases:
            fill(Path(work) / name, texts, embedded=options.embedded)
        for _ in range(options.rounds):
            for name, phase in phases.items():
                with served(Path(work) / name, with_worker=name == "embedding") as address:
                    found = run_clients(address, options.clients, questions, options.seconds, options.pause)
                for tool, times in found.times.items():
                    phase.times[tool] += times
                phase.embedded += found.embedded
                phase.seconds += found.seconds
    figures = [
        Figure(f"{tool}, p{percent}, {name}", float(np.percentile(phase.times[tool], percent)), "ms")
        for tool in ("recall", "remember")
        for percent in (50, 99)
        for name, phase in phases.items()
    ]
    p99 = {name: float(np.percentile(phase.times["recall"], 99)) for name, phase in phases.items()}
    busy = phases["embedding"]
    figures += [
        Figure("recall p99, embedding / quiet", p99["embedding"] / p99["quiet"], "times"),
        Figure("embedded meanwhile", busy.embedded / busy.seconds, "memories/s"),
        Figure("calls", float(sum(len(times) for phase in phases.values() for times in phase.times.values())), ""),
    ]
    print("\n".join(map(str, figures)))
    save_figures(options.results / "served.json", "Requests beside background work", machine(), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures recalls through MCP over HTTP: ``python -m benches.speed.http``.

A resident server has a store of memories for all projects, and each has its vector. The figures are the time from the
start of the server to its first answer, once to a recall alone and once to a recall in a session, which the client
initializes first; the time of a recall with a new and with a repeated question for one client and for several at once;
and the recalls per second of these. Clients send plain HTTP requests from a process of their own, and a failed call
ends the run. Questions are embedded by the bundled model, but the vectors of the memories have no meaning.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import opencode_memory
from benches.soak.client import ToolClient
from opencode_memory.embedding import find_model

from .data import Dataset, DataShape, prepare
from .embedders import PrecomputedEmbedder
from .options import add_options
from .process import machine
from .results import Figure, save_figures
from .served import served

if TYPE_CHECKING:
    from collections.abc import Sequence

_STORE: Final = Path(".local/share/opencode-memory/store")
_BATCH: Final = 10_000
_PROTOCOL: Final = "2025-06-18"


def build(folder: Path, dataset: Dataset) -> None:
    """Write the memories with the vectors of the data, as if the bundled model had computed them."""
    embedder = PrecomputedEmbedder(find_model().model_id)
    with opencode_memory.open(folder, embedder=embedder, background=False) as store:
        for batch in dataset.batches(_BATCH):
            embedder.give((memory.content for memory in batch.memories), batch.vectors)
            store.remember_many({"content": memory.content} for memory in batch.memories)
            store.indexes.embed_pending()
            embedder.forget()
        store.indexes.catch_up()


def ask(address: str, folder: Path, questions: Sequence[str], *, in_session: bool = False) -> list[float]:
    """Recall each question, one after the other; the times in milliseconds."""
    client = ToolClient(urlsplit(address).port or 0, folder, version=_PROTOCOL)
    if in_session:
        client.begin_session()
    times = []
    for question in questions:
        begun = time.perf_counter()
        client.call("recall", query=question)
        times.append((time.perf_counter() - begun) * 1000)
    return times


def ask_at_once(address: str, folder: Path, questions: Sequence[str], clients: int) -> tuple[list[float], float]:
    """Share questions between clients that ask at once; the times in milliseconds, and the recalls per second."""
    found: list[list[float]] = [[] for _ in range(clients)]

    def run(number: int) -> None:
        found[number] = ask(address, folder, questions[number::clients])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begun
    times = [one for own in found for one in own]
    if len(times) != len(questions):
        raise RuntimeError(f"only {len(times)} of {len(questions)} recalls were answered")
    return times, len(times) / seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the store, measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benches.speed.http", description=__doc__)
    add_options(parser, n=50_000)
    parser.add_argument("--clients", type=int, default=4, help="clients at once (default %(default)s)")
    parser.add_argument("--questions", type=int, default=400, help="questions of a round (default %(default)s)")
    parser.add_argument(
        "--starts", type=int, default=5, help="starts of the server, with a session and without (default %(default)s)"
    )
    options = parser.parse_args(arguments)
    dataset = prepare(options.work, DataShape(options.n))
    home = options.work / f"http-{options.n}"
    if not (home / _STORE).exists():
        build(home / _STORE, dataset)
    asked = [query.text for query in dataset.queries("general")]
    rounds = iter(range(sys.maxsize))

    def new() -> list[str]:
        # A number that no other round has keeps the server from finding the vector of the question in its memory.
        return [f"{asked[at % len(asked)]} {next(rounds)}" for at in range(options.questions)]

    starts: dict[bool, list[float]] = {False: [], True: []}
    for number in range(2 * options.starts):
        in_session = number % 2 == 1
        begun = time.perf_counter()
        with served(home, with_worker=True) as address:
            ask(address, home, new()[:1], in_session=in_session)
            starts[in_session].append(time.perf_counter() - begun)
    with served(home, with_worker=True) as address:
        ask(address, home, new())
        first = new()
        one_new, one_again = ask(address, home, first), ask(address, home, first)
        first = new()
        all_new, new_rate = ask_at_once(address, home, first, options.clients)
        all_again, again_rate = ask_at_once(address, home, first, options.clients)
    figures = [
        Figure("start to the first answer", median(starts[False]), "s"),
        Figure("start to the first answer in a session", median(starts[True]), "s"),
        Figure("new question, one client", median(one_new), "ms"),
        Figure("repeated question, one client", median(one_again), "ms"),
        Figure(f"new question, {options.clients} clients", median(all_new), "ms"),
        Figure(f"repeated question, {options.clients} clients", median(all_again), "ms"),
        Figure(f"new questions of {options.clients} clients", new_rate, "recalls/s"),
        Figure(f"repeated questions of {options.clients} clients", again_rate, "recalls/s"),
    ]
    print("\n".join(map(str, figures)))
    save_figures(options.results / "http.json", "Recalls through MCP over HTTP", machine(), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Speed, load time and memory of the bundled embedder.

::

    python benches/speed/embedding.py [--texts 300] [--rounds 5] [--json]

Texts have about 33 tokens. Rounds of the configurations alternate, so that a change of the machine's load affects
all of them; the table has medians. Each configuration runs in its own process, so that its memory can be measured.
"""

from __future__ import annotations

import argparse
import json
import pydoc_data.topics
import random
import re
import resource
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

QUERY: Final = "what did we decide about the database migration?"


@dataclass(frozen=True, slots=True)
class Load:
    """The start of a process, in milliseconds, and its resident memory in MB."""

    import_ms: float
    load_ms: float
    first_query_ms: float
    query_ms: float
    resident_mb: float


@dataclass(frozen=True, slots=True)
class Round:
    """One pass over all texts: texts per second of wall time and of CPU time, and the process's peak memory in MB."""

    texts_per_s: float
    texts_per_cpu_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Configuration:
    """Whether texts are passed to the embedder in one call or one by one."""

    name: str
    threads: int
    one_by_one: bool = False


CONFIGURATIONS: Final = (
    Configuration("one by one, 1 thread", 1, one_by_one=True),
    Configuration("batched, 1 thread", 1),
    Configuration("batched, 2 threads", 2),
)


def measure_load() -> Load:
    """Load the embedder in a fresh process."""
    start = time.perf_counter()
    from opencode_memory.embedding import BundledEmbedder  # noqa: PLC0415 - this is what is measured

    imported = time.perf_counter()
    embedder = BundledEmbedder()
    embedder.load()
    loaded = time.perf_counter()
    embedder.embed_query(QUERY)
    answered = time.perf_counter()
    times = []
    for number in range(30):
        began = time.perf_counter()
        embedder.embed_query(f"{QUERY} {number}")
        times.append(time.perf_counter() - began)
    return Load(
        import_ms=(imported - start) * 1e3,
        load_ms=(loaded - imported) * 1e3,
        first_query_ms=(answered - loaded) * 1e3,
        query_ms=statistics.median(times) * 1e3,
        resident_mb=_resident_mb(),
    )


class Subject:
    """An embedder in its own process, where it stays loaded between rounds."""

    def __init__(self, configuration: Configuration, texts: list[str]) -> None:
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, configuration, texts))
        self._process.start()

    def run(self) -> Round:
        """Embed all texts once."""
        self._connection.send(None)
        outcome: Round = self._connection.recv()
        return outcome

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join()


def _serve(connection: Connection, configuration: Configuration, texts: list[str]) -> None:
    """Embed all texts at each message, until the other side closes."""
    from opencode_memory.embedding import BundledEmbedder  # noqa: PLC0415 - in the subject's process only

    embedder = BundledEmbedder(threads=configuration.threads)
    embedder.load()
    with suppress(EOFError):
        while True:
            connection.recv()
            wall, cpu = time.perf_counter(), time.process_time()
            for call in [[text] for text in texts] if configuration.one_by_one else [texts]:
                embedder.embed(call)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            connection.send(Round(len(texts) / wall, len(texts) / cpu, _peak_mb()))


def make_texts(count: int) -> list[str]:
    """Take the beginnings of paragraphs of Python's language reference, 8 to 34 words each."""
    chooser = random.Random(1)
    topics = "\n\n".join(text for _, text in sorted(pydoc_data.topics.topics.items()))
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", topics)]
    usable = [part for part in paragraphs if len(part) > 60]
    return [" ".join(chooser.choice(usable).split()[: chooser.randint(8, 34)]) for _ in range(count)]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    loads = []
    for _ in range(arguments.rounds):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            loads.append(pool.submit(measure_load).result())
    load = Load(*(statistics.median(values) for values in zip(*(asdict(load).values() for load in loads), strict=True)))

    texts = make_texts(arguments.texts)
    subjects = {configuration: Subject(configuration, texts) for configuration in CONFIGURATIONS}
    rounds: dict[Configuration, list[Round]] = {configuration: [] for configuration in CONFIGURATIONS}
    for number in range(arguments.rounds + 1):
        for configuration, subject in subjects.items():
            outcome = subject.run()
            if number:  # the first warms up
                rounds[configuration].append(outcome)
    for subject in subjects.values():
        subject.close()
    speeds = {
        configuration.name: Round(
            texts_per_s=statistics.median(outcome.texts_per_s for outcome in outcomes),
            texts_per_cpu_s=statistics.median(outcome.texts_per_cpu_s for outcome in outcomes),
            peak_mb=max(outcome.peak_mb for outcome in outcomes),
        )
        for configuration, outcomes in rounds.items()
    }

    if arguments.json:
        print(json.dumps({"load": asdict(load), "speed": {name: asdict(speed) for name, speed in speeds.items()}}))
        return
    print("| start of a process | |\n|---|---|")
    for name, value in asdict(load).items():
        print(f"| {name.replace('_', ' ')} | {value:.1f} |")
    print("\n| bulk | texts/s | texts per CPU second | peak MB |\n|---|---|---|---|")
    for name, speed in speeds.items():
        print(f"| {name} | {speed.texts_per_s:.0f} | {speed.texts_per_cpu_s:.0f} | {speed.peak_mb:.0f} |")


def _resident_mb() -> float:
    """Resident memory now on Linux, the peak elsewhere."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6 if status.exists() else _peak_mb()


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


if __name__ == "__main__":
    main()

"""Months of use in an hour: several clients of one server, restarts, and samples of everything that could grow.

The number of living memories stays the same after a while, and so must memory, descriptors and files.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benches.quality.needles import generate_notes
from opencode_memory.store.jobs import LEASE_SECONDS

from . import plot
from .client import RefusedError, ToolClient, UnknownOutcomeError
from .growth import Verdict, judge
from .sampling import Samples, sample_files, sample_process, sample_rows
from .server import KilledServer

_CLIENTS: Final = 4
_LIVING: Final = 300
"""Living memories of each client; then each new one replaces the oldest."""
_PAUSE_SECONDS: Final = 0.12
_RESTART_SHARES: Final = (0.1, 0.2, 0.3)
"""Parts of the time at which the server is killed; half of them later, only the worker."""
_STEADY_SHARE: Final = 0.4
_LEASE_SECONDS: Final = LEASE_SECONDS + 60
"""After a kill, the next worker waits for the lease of a job before it embeds, and loads the model only then."""
_SAMPLES: Final = 150
_USES_MINUTES: Final = 8
"""After this time, the recalls since the last kill make a batch of uses, which is written."""


class Client:
    """A client in a folder of its own. It repeats a realistic mix of calls until it is told to stop.

    Args:
        server: The server.
        folder: The folder of the client.
        number: Its number, which seeds its random choices.
    """

    def __init__(self, server: KilledServer, folder: Path, number: int) -> None:
        self.counts: Counter[str] = Counter()
        self._tools = ToolClient(server.port, folder)
        self._random = random.Random(number)
        self._notes = list(generate_notes(4_000))
        self._ids: list[str] = []
        self._number = number
        self._written = 0

    def run(self, stop: threading.Event) -> None:
        """Call tools until ``stop``."""
        self._random.shuffle(self._notes)
        mix: tuple[tuple[int, Callable[[], None]], ...] = (
            (8, self._recall),
            (4, self._remember),
            (1, self._edit),
            (1, self._set_topic),
            (2, self._keep_value),
            (1, self._claim),
            (1, self._boot),
        )
        weights, calls = zip(*mix, strict=True)
        while not stop.wait(_PAUSE_SECONDS * self._random.random() * 2):
            [call] = self._random.choices(calls, weights)
            try:
                call()
                self.counts["ok"] += 1
            except UnknownOutcomeError:
                self.counts["unanswered"] += 1
                stop.wait(0.5)
            except RefusedError as error:
                self.counts["refused"] += 1
                print(f"client {self._number}: {call.__name__.strip('_')}: {str(error)[:200]}", flush=True)
        self._tools.close()

    def _note(self) -> str:
        self._written += 1
        note = self._notes[self._written % len(self._notes)]
        return f"{note} It is number {self._written} of {self._number}."

    def _remember(self) -> None:
        reply = self._tools.call("remember", content=self._note(), category=self._random.choice(("fact", "decision")))
        self._ids.append(reply.data["id"])
        if len(self._ids) > _LIVING:
            self._tools.call("delete_memory", memory_id=self._ids.pop(0))

    def _recall(self) -> None:
        words = self._random.choice(self._notes).split()
        self._tools.call("recall", query=" ".join(words[: self._random.randint(3, 12)]))

    def _edit(self) -> None:
        if self._ids:
            self._tools.call("edit_memory", memory_id=self._random.choice(self._ids), content=self._note())

    def _set_topic(self) -> None:
        self._tools.call("remember", content=self._note(), category="fact", topic=f"topic {self._random.randrange(20)}")

    def _keep_value(self) -> None:
        key = f"key {self._random.randrange(50)}"
        self._tools.call("kv_set", key=key, value={"step": self._written}, ttl_seconds=600)
        self._tools.call("kv_get", key=key)

    def _claim(self) -> None:
        session = f"session {self._number} {self._random.randrange(5)}"
        self._tools.call("session_start", session_id=session)
        self._tools.call("claim_item", session_id=session, item_ref=f"!{self._number}{self._random.randrange(50)}")
        self._tools.call("session_end", session_id=session)

    def _boot(self) -> None:
        self._tools.call("get_boot_context")


def sample(server: KilledServer) -> dict[str, float]:
    """Sample the processes and the store."""
    values = sample_process("server", server.pid) | sample_files(server.data_dir) | sample_rows(server.data_dir)
    worker = server.worker
    return values if worker is None else values | sample_process("worker", worker)


def render(verdicts: list[Verdict], counts: Counter[str], seconds: float, problems: list[str]) -> str:
    """Render the figures in Markdown."""
    answers = f"{counts['ok']:,} answered, {counts['unanswered']:,} unanswered while the server was down"
    lines = [
        f"{seconds / 60:.0f} minutes, {_CLIENTS} clients: {answers}, {counts['refused']:,} refused.",
        "",
        "![samples](samples.svg)",
        "",
        "| value | first quarter of the steady load | last quarter | bound |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {verdict.name} | {verdict.begin:,.1f} | {verdict.end:,.1f} "
        f"| {verdict.note or ('held' if verdict.is_bounded else '**grows**')} |"
        for verdict in verdicts
    ]
    return "\n".join([*lines, "", *(f"* {problem}" for problem in problems)])


def verify(server: KilledServer) -> list[str]:
    """Return the problems that ``verify`` finds."""
    command = [sys.executable, "-m", "opencode_memory.cli", "verify", "--json", "--data-dir", str(server.data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [f"verify: {done.stdout}{done.stderr}"]


def main() -> int:
    """Run for ``SOAK_MINUTES`` and write the report; return 1 if something grows or is damaged."""
    minutes = float(os.environ.get("SOAK_MINUTES", "1"))
    folder = Path(os.environ.get("SOAK_REPORT", "target/soak/life"))
    folder.mkdir(parents=True, exist_ok=True)
    samples, stop = Samples(), threading.Event()
    with tempfile.TemporaryDirectory() as home, KilledServer(Path(home)) as server:
        clients = [Client(server, make_project(Path(home), number), number) for number in range(_CLIENTS)]
        threads = [threading.Thread(target=client.run, args=(stop,)) for client in clients]
        begun, seconds = time.monotonic(), minutes * 60
        restarts = [share * seconds for share in _RESTART_SHARES]
        for thread in threads:
            thread.start()
        while (passed := time.monotonic() - begun) < seconds:
            if restarts and passed >= restarts[0]:
                del restarts[0]
                server.kill_worker()
                server.kill()
                server.start()
            samples.add(passed, sample(server))
            stop.wait(seconds / _SAMPLES)
        stop.set()
        for thread in threads:
            thread.join()
        problems = verify(server)
    steady_from = max(seconds * _STEADY_SHARE, seconds * _RESTART_SHARES[-1] + _LEASE_SECONDS)
    verdicts = judge(samples.series, steady_from=steady_from)
    counts = sum((client.counts for client in clients), Counter())
    growing = [verdict for verdict in verdicts if not verdict.is_bounded]
    problems += [f"{verdict.name} grows: {verdict.begin:.1f} to {verdict.end:.1f}" for verdict in growing]
    problems += ["no value could be judged"] if not verdicts else []
    if minutes >= _USES_MINUTES and samples.series["rows: use_count"][-1][1] == 0:
        problems.append("no use of a memory was written, so all of them wait in the memory of the server")
    (folder / "samples.svg").write_text(plot.render(samples.series, steady_from=steady_from), encoding="utf-8")
    (folder / "samples.json").write_text(json.dumps(samples.series), encoding="utf-8")
    report = render(verdicts, counts, seconds, problems)
    (folder / "report.md").write_text(report + "\n", encoding="utf-8")
    print(report)
    return int(bool(problems))


def make_project(home: Path, number: int) -> Path:
    """Create a repository for a client."""
    folder = home / f"project{number}"
    git = folder / ".git"
    for part in ("objects", "refs"):
        (git / part).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = https://gitlab.com/group/project{number}.git\n')
    return folder


if __name__ == "__main__":
    sys.exit(main())

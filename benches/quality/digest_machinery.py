"""Measures what a digest loses: ``python -m benches.quality.digest_machinery --data DIR --answers FILE``.

The transcripts become a database of OpenCode, and the installed ``opencode-memory ingest opencode`` reads it. Then
given answers, written by reading the sessions, take the place of the model: the product prepares requests and accepts
answers, with its real store. Printed is how many items arrive, which are dropped and why, and how long requests are.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import opencode_memory
from opencode_memory import MemoryStore
from opencode_memory.config.settings import LEARNING_SOURCES
from opencode_memory.hosts.opencode.feed.database import OpenCodeDatabase
from opencode_memory.hosts.opencode.feed.transcripts import DatabaseTranscripts
from opencode_memory.learning.digest.digester import Digester, DigestRequest
from opencode_memory.learning.digest.queue import DigestQueue, Due
from opencode_memory.learning.digest.report import DigestReport
from opencode_memory.learning.switches import Switches
from opencode_memory.projects.resolver import ProjectResolver

from .conversations import DataError
from .transcripts import data, opencode_database, program
from .transcripts.program import ProgramError

WORKER: Final = "bench"
MODEL: Final = "reference"
_LATER_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Digested:
    """Result of one session.

    Attributes:
        session: Its id.
        items: Number of items in the given answer.
        reports: What was stored and dropped by each request; empty if the session needs no digest.
        lost: Number of items that belong to no request.
        tokens: Estimated tokens of the requests and typical answers.
    """

    session: str
    items: int
    reports: tuple[DigestReport, ...]
    lost: int
    tokens: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the options name. Return 2 if the data cannot be read or the program fails."""
    options = _parser().parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="opencode-memory-digests-") as temporary:
            work = (options.work or Path(temporary)).resolve()
            work.mkdir(parents=True, exist_ok=True)
            for line in _run(options, work):
                print(line)
    except (DataError, ProgramError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _run(options: argparse.Namespace, work: Path) -> Iterator[str]:
    transcripts = data.read(options.data, only=_names(options.projects), without=_names(options.without))
    known = {session.id for session in transcripts.sessions}
    answers = {} if options.answers is None else read_answers(options.answers)
    answers = {session: answer for session, answer in answers.items() if session in known}
    database = work / "opencode.db"
    opencode_database.write(database, transcripts.sessions, work / "projects")
    store_folder = program.ingest(options.program, database, work).store
    with opencode_memory.open(store_folder, background=False) as store:
        if answers:
            yield from render(digest_answers(store, database, answers))
        if options.sizes:
            yield from render_sizes(measure_requests(store, database))


def digest_answers(
    store: MemoryStore, database: Path, answers: Mapping[str, Mapping[str, Any]]
) -> tuple[Digested, ...]:
    """Digest sessions with given answers, in the order of the answers.

    Args:
        store: The store that has learned from the sessions.
        database: OpenCode's database with the sessions.
        answers: The answer of each session, as a model writes it. ``message`` may be the id of a message.
    """
    bench = _Bench(store, database)
    return tuple(bench.digest(session, answer) for session, answer in answers.items())


def measure_requests(store: MemoryStore, database: Path) -> tuple[int, ...]:
    """Return the estimated tokens of each request that the sessions of a database would cost."""
    bench = _Bench(store, database)
    with OpenCodeDatabase(database) as opened:
        sessions = [head.info.id for head in opened.sessions()]
    return tuple(request.estimate for session in sessions if (request := bench.prepare(session)[1]) is not None)


class _Bench:
    def __init__(self, store: MemoryStore, database: Path) -> None:
        self._now_ms = 0
        self._source = DatabaseTranscripts(database, now_ms=lambda: self._now_ms)
        self._queue = DigestQueue(store, now_ms=lambda: self._now_ms)
        self._digester = Digester(store, switches=Switches(sources=frozenset(LEARNING_SOURCES)), now_ms=self._clock)
        self._projects = ProjectResolver(store, {})

    def _clock(self) -> int:
        return self._now_ms

    def prepare(self, session: str) -> tuple[Due | None, DigestRequest | None]:
        """Claim a session and prepare its request."""
        read = self._source.read_session(session)
        if read is None:
            raise DataError(f"session {session} is not in the database")
        info, _, active_ms = read
        self._now_ms = max(self._now_ms, active_ms + _LATER_MS)
        read = self._source.read_session(session)
        self._queue.add(info, active_ms=active_ms, rest_seconds=0, at_once=True)
        due = self._queue.claim(WORKER, is_mine=lambda entry: entry.session == session)
        if due is None or read is None:
            return None, None
        request = self._digester.prepare(due, read[1], self._projects.of_session(info.directory))
        return due, request

    def digest(self, session: str, answer: Mapping[str, Any]) -> Digested:
        """Digest one session with a given answer; a long session takes several requests, each with its own items."""
        left = list(answer.get("items", ()))
        items, tokens, reports = len(left), 0, list[DigestReport]()
        while True:
            due, request = self.prepare(session)
            if due is None or request is None:
                break
            transcript = request.grounds.transcript
            shown = {turn.message for turn in transcript.turns}
            now = [item for item in left if not transcript.left or item.get("message") in shown]
            left = [item for item in left if item not in now]
            given = json.dumps({**answer, "items": now})
            reports.append(self._digester.accept(due, request, given, tokens=request.estimate, model=MODEL))
            tokens += request.estimate
        return Digested(session=session, items=items, reports=tuple(reports), lost=len(left), tokens=tokens)


def read_answers(path: Path) -> dict[str, Mapping[str, Any]]:
    """Read answers: JSON lines with ``session`` and ``answer``.

    Raises:
        DataError: The file cannot be read or has another form.
    """
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return {line["session"]: line["answer"] for line in lines}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def render(digested: Sequence[Digested]) -> Iterator[str]:
    """Render the losses."""
    reports = [report for one in digested for report in one.reports]
    items = sum(one.items for one in digested)
    active = sum(len(report.active) for report in reports)
    waiting = sum(len(report.waiting) for report in reports)
    idle = sum(not one.reports for one in digested)
    yield f"{len(digested)} sessions with {items} items; {len(reports)} requests; {idle} sessions were not due"
    yield f"arrived: {active} active, {waiting} waiting ({_share(active + waiting, items)} of the items)"
    reasons = sum((report.reasons for report in reports), Counter[str]())
    yield f"lost: {sum(one.lost for one in digested)} whose message was in no request"
    yield from (f"lost: {count} {reason}" for reason, count in reasons.most_common())
    yield f"summaries: {sum(report.has_summary for report in reports)}"
    for one in digested:
        for item in (item for report in one.reports for item in report.dropped):
            yield f"  {one.session} {item.reason}: {item.text}"
    yield from render_sizes([one.tokens for one in digested if one.tokens])


def render_sizes(tokens: Sequence[int]) -> Iterator[str]:
    """Render the sizes of requests."""
    if tokens:
        mean = sum(tokens) / len(tokens)
        ordered = sorted(tokens)
        yield (
            f"tokens of {len(tokens)} requests with answers (estimated): median {_pick(ordered, 0.5):,},"
            f" mean {mean:,.0f}, 95th percentile {_pick(ordered, 0.95):,}"
        )


def _pick(ordered: Sequence[int], share: float) -> int:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "none"


def _names(given: str) -> frozenset[str]:
    return frozenset(filter(None, (name.strip() for name in given.split(","))))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benches.quality.digest_machinery", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with transcripts")
    parser.add_argument("--answers", type=Path, help="JSON lines with session and answer")
    parser.add_argument("--sizes", action="store_true", help="measure the requests of all sessions")
    parser.add_argument("--projects", default="", help="only these projects, comma-separated (owner+name)")
    parser.add_argument("--without", default="", help="leave out these projects, comma-separated")
    parser.add_argument("--work", type=Path, help="keep database and store in this folder")
    parser.add_argument("--program", default=program.PROGRAM, help="the opencode-memory to run (default %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())

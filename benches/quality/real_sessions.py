"""Measures what is learned from real transcripts: ``python -m benches.quality.real_sessions --data DIR``.

The transcripts become a database of OpenCode, and the installed ``opencode-memory ingest opencode`` reads it in a home
of its own. The figures compare the store with labels, and the memories that nobody judged are written for reading.
``--judgements`` prints the precision of what was read. README.md in this folder describes data and figures.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from opencode_memory.models import Status

from .conversations import DataError
from .transcripts import data, opencode_database, program
from .transcripts.data import Transcripts
from .transcripts.figures import measure
from .transcripts.judging import Judgement, choose, index_sample, read_judgements, read_lines, write_sample
from .transcripts.program import ProgramError
from .transcripts.relearning import measure_relearning
from .transcripts.report import render_figures, render_judgements, render_relearning
from .transcripts.stored import SPEAKERS, StoredMemory, read_store

MOST_READERS: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the options name. Return 2 if the data cannot be read or the program fails."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.data is None and not options.judgements:
        parser.error("give --data, --judgements or both")
    if options.store is not None and options.rules_alone:
        parser.error("--rules-alone learns again, so it cannot be combined with --store")
    if len(options.judgements) > MOST_READERS:
        parser.error(f"--judgements: at most {MOST_READERS} files, not {len(options.judgements)}")
    try:
        with tempfile.TemporaryDirectory(prefix="opencode-memory-sessions-") as temporary:
            work = options.work or Path(temporary)
            work.mkdir(parents=True, exist_ok=True)
            for line in _run(options, work.resolve()):
                print(line)
    except (DataError, ProgramError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _run(options: argparse.Namespace, work: Path) -> Iterator[str]:
    readers = _read_readers(options.judgements, work)
    if options.data is not None and options.languages:
        transcripts = Transcripts(data.read_sessions(options.data / data.OTHER_LANGUAGES))
        yield from _measure_languages(transcripts, options, work / "languages")
    elif options.data is not None:
        transcripts = data.read(options.data, only=_names(options.projects), without=_names(options.without))
        memories, cpu_seconds = _learn(transcripts, options, work)
        figures = measure(transcripts, memories, cpu_seconds=cpu_seconds)
        results: dict[str, Any] = {"figures": asdict(figures)}
        yield from render_figures(figures)
        if options.rules_alone:
            seconds = program.rehearse(options.program, _database(work), work).cpu_seconds
            yield f"reading and rules alone (a dry run): {seconds:.1f} CPU s"
            results["rules_cpu_seconds"] = seconds
        if options.old_store is not None:
            old = read_store(options.old_store, transcripts.sessions)
            run = program.relearn(options.program, options.old_store, _database(work), work)
            found = measure_relearning(
                transcripts.memories,
                old=old,
                relearned=read_store(run.store, transcripts.sessions),
                new=memories,
                cpu_seconds=run.cpu_seconds,
            )
            yield from render_relearning(found)
            results["relearning"] = asdict(found)
        if options.json is not None:
            options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
        if options.work is not None:
            yield from _write_samples(transcripts, memories, readers, work)
    if readers:
        yield from render_judgements(readers)


def _learn(
    transcripts: Transcripts, options: argparse.Namespace, work: Path
) -> tuple[list[StoredMemory], float | None]:
    """Write the database. Return the memories of a new run, or of the given store, and the CPU seconds of the run."""
    work.mkdir(parents=True, exist_ok=True)
    opencode_database.write(_database(work), transcripts.sessions, work / "projects")
    if options.store is not None:
        return read_store(options.store, transcripts.sessions), None
    run = program.ingest(options.program, _database(work), work)
    return read_store(run.store, transcripts.sessions), run.cpu_seconds


def _measure_languages(transcripts: Transcripts, options: argparse.Namespace, work: Path) -> Iterator[str]:
    memories, _ = _learn(transcripts, options, work)
    stored = [memory for memory in memories if not memory.is_summary]
    yield f"{len(transcripts.projects)} projects in other languages, {transcripts.people} messages of people"
    for state in (Status.ACTIVE, Status.CANDIDATE):
        for said_by in SPEAKERS:
            found = [memory for memory in stored if memory.status is state and memory.said_by == said_by]
            yield f"{state}, {said_by}: {len(found)}"
            yield from (f"  {memory.category} ({memory.rule}): {memory.content}" for memory in found)


def _write_samples(
    transcripts: Transcripts,
    memories: Sequence[StoredMemory],
    readers: dict[str, dict[str, Judgement]],
    work: Path,
) -> Iterator[str]:
    known = [judged.text for judged in transcripts.memories]
    known += [key for judgements in readers.values() for key in judgements]
    for said_by in SPEAKERS:
        chosen = choose(memories, known, said_by)
        path = _sample(work, said_by)
        write_sample(path, chosen, transcripts)
        yield f"to judge: {len(chosen)} memories of {said_by} in {path}"


def _read_readers(paths: Sequence[Path], work: Path) -> dict[str, dict[str, Judgement]]:
    samples = [_sample(work, said_by) for said_by in SPEAKERS]
    sampled = index_sample(line for path in samples if path.exists() for _, line in read_lines(path))
    return {str(path): read_judgements(path, sampled) for path in paths}


def _database(work: Path) -> Path:
    return work / "opencode.db"


def _sample(work: Path, said_by: str) -> Path:
    return work / f"to-judge-{said_by}.jsonl"


def _names(given: str) -> frozenset[str]:
    return frozenset(filter(None, (name.strip() for name in given.split(","))))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benches.quality.real_sessions", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with transcripts and labels")
    parser.add_argument("--projects", default="", help="only these projects, comma-separated (owner+name)")
    parser.add_argument("--without", default="", help="leave out these projects, comma-separated")
    parser.add_argument("--work", type=Path, help="keep database, store and memories to judge in this folder")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--program", default=program.PROGRAM, help="the opencode-memory to run (default %(default)s)")
    parser.add_argument("--store", type=Path, help="measure this store instead of learning again")
    parser.add_argument("--rules-alone", action="store_true", help="also measure a dry run, which embeds nothing")
    parser.add_argument("--languages", action="store_true", help="print what is stored of other languages")
    parser.add_argument(
        "--old-store",
        type=Path,
        help="store that an earlier version learned: also measure `learning relearn` on a copy",
    )
    parser.add_argument(
        "--judgements", type=Path, nargs="+", default=[], metavar="FILE", help="judgements of one or two readers"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

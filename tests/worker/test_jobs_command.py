"""Command ``jobs``: failed and waiting jobs, and their retry."""

from __future__ import annotations

from pathlib import Path

from opencode_memory.worker.duty import Duty
from opencode_memory.worker.run import run_next_job
from support.command_line import CommandLine
from support.stores import open_store


def dead_job(cli: CommandLine, *, subject: str = "a.md", error: str = "ValueError: no") -> Path:
    cli.remember("walrus")
    data_dir = cli.folder.parent / "data" / "opencode-memory" / "store"
    with open_store(data_dir) as store:
        store.jobs.enqueue("notes", subject)
        job = store.jobs.claim("w", kinds=["notes"])
        assert job is not None
        store.jobs.failed(job, error, is_final=True)
    return data_dir


def test_empty_queue_is_reported(cli: CommandLine) -> None:
    answer = cli.ok("jobs")
    assert "There are no jobs" in answer.err + answer.out


def test_permanent_failure_is_shown_with_exit_code_1(cli: CommandLine) -> None:
    dead_job(cli)
    answer = cli("jobs")
    assert answer.code == 1
    assert "failed" in answer.out
    assert "a.md" in answer.out
    assert "ValueError: no" in answer.out


def test_jobs_as_json_have_all_fields(cli: CommandLine) -> None:
    dead_job(cli)
    answer = cli("jobs", "--json")
    assert answer.code == 1
    assert answer.json["revived"] == 0
    [job] = answer.json["jobs"]
    assert (job["kind"], job["subject"], job["error"]) == ("notes", "a.md", "ValueError: no")
    assert job["dead_at"] is not None


def test_retry_revives_permanent_failures(cli: CommandLine) -> None:
    data_dir = dead_job(cli)
    answer = cli.ok("jobs", "--retry", "--json")
    assert answer.json["revived"] == 1
    assert [job["dead_at"] for job in answer.json["jobs"]] == [None]
    done: list[str] = []
    with open_store(data_dir, clock_ms=None) as store:
        duty = Duty(kind="notes", do=lambda work: done.append(work.job.subject))
        assert run_next_job(store, {"notes": duty}, worker="w")
    assert done == ["a.md"]
    assert cli.ok("jobs", "--json").json["jobs"] == []


def test_waiting_jobs_exit_with_0(cli: CommandLine) -> None:
    data_dir = dead_job(cli)
    cli.ok("jobs", "--retry")
    with open_store(data_dir) as store:
        store.jobs.enqueue("notes", "later.md", delay_seconds=10**6)
    assert "later.md" in cli.ok("jobs").out

"""Queue of sessions that want a digest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning.digest.queue import (
    LEASE_SECONDS,
    MOST_ATTEMPTS,
    OLDEST_SECONDS,
    ClaimLostError,
    DigestQueue,
    Entry,
)
from opencode_memory.learning.extraction.events import SessionInfo
from support.digested_sessions import INFO, PROJECT, Desk
from support.stores import DAY_MS, NOW_MS, files_holding, open_store, set_clock

OTHER = SessionInfo(id="ses_e", directory="/home/ann/other")


def pass_seconds(desk: Desk, seconds: float) -> None:
    desk.now_ms += round(seconds * 1000)


def test_session_is_due_after_its_rest(desk: Desk) -> None:
    assert desk.queue.add(INFO, active_ms=desk.now_ms, rest_seconds=600)
    assert desk.queue.claim("w") is None
    pass_seconds(desk, 599)
    desk.queue.add(INFO, active_ms=desk.now_ms, rest_seconds=600)
    pass_seconds(desk, 1)
    assert desk.queue.claim("w") is None
    pass_seconds(desk, 599)
    due = desk.queue.claim("w")
    assert due is not None
    assert due.info == INFO


def test_subagents_and_old_sessions_are_not_queued(desk: Desk) -> None:
    old = desk.now_ms - OLDEST_SECONDS * 1000 - 1
    assert not desk.queue.add(SessionInfo(id="c", parent="ses_d"), active_ms=desk.now_ms, rest_seconds=0)
    assert not desk.queue.add(INFO, active_ms=old, rest_seconds=0)
    assert desk.queue.entries() == ()
    assert desk.queue.add(INFO, active_ms=old, rest_seconds=0, at_once=True)


def test_claim_takes_only_what_a_process_can_digest(desk: Desk) -> None:
    for info in (INFO, OTHER):
        desk.queue.add(info, active_ms=desk.now_ms, rest_seconds=0)
    due = desk.queue.claim("w", is_mine=lambda entry: entry.directory == OTHER.directory)
    assert due is not None
    assert due.info.id == OTHER.id
    assert desk.queue.claim("v", is_mine=lambda entry: entry.directory == OTHER.directory) is None


def test_look_for_due_sessions_parses_only_their_rows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    done, dead = desk.claim(), SessionInfo(id="dead", directory=INFO.directory)
    desk.queue.finish(done)
    desk.queue.add(dead, active_ms=desk.now_ms, rest_seconds=0)
    failed = desk.queue.claim("w")
    assert failed is not None
    desk.queue.fail(failed, "no", is_final=True)
    # The title has the words by which a row that is not due is recognised.
    titled = replace(OTHER, title='"due_ms": null, "is_dead": true')
    desk.queue.add(titled, active_ms=desk.now_ms, rest_seconds=0)
    parse, parsed = Entry.from_json, list[str]()

    def note(session: str, text: str) -> Entry:
        parsed.append(session)
        return parse(session, text)

    monkeypatch.setattr(Entry, "from_json", note)
    assert desk.queue.has_due()
    assert parsed == [OTHER.id]
    assert {entry.session for entry in desk.queue.entries()} == {INFO.id, "dead", OTHER.id}


def test_two_processes_never_hold_one_session(desk: Desk, store: MemoryStore, tmp_path: Path) -> None:
    first = desk.claim()
    with open_store(store.data_dir) as same:
        other = DigestQueue(same, now_ms=desk.read_clock)
        assert other.claim("v") is None
        pass_seconds(desk, LEASE_SECONDS)
        second = other.claim("v")
    assert second is not None
    for end in (desk.queue.finish, lambda due: desk.queue.fail(due, "late"), desk.queue.renew):
        with pytest.raises(ClaimLostError):
            end(first)
    desk.queue.finish(second)
    assert desk.queue.claim("w") is None


def test_race_for_a_session_has_one_winner(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.queue.add(INFO, active_ms=desk.now_ms, rest_seconds=0)
    write = desk.queue._write
    raced: list[object] = []

    def lose(version: int, entry: object, *more: object) -> object:
        monkeypatch.setattr(desk.queue, "_write", write)
        raced.append(DigestQueue(desk.store, now_ms=desk.read_clock).claim("faster"))
        return write(version, entry, *more)

    monkeypatch.setattr(desk.queue, "_write", lose)
    assert desk.queue.claim("slower") is None
    assert [due is not None for due in raced] == [True]


def test_renewed_lease_is_not_taken(desk: Desk) -> None:
    due = desk.claim()
    pass_seconds(desk, LEASE_SECONDS - 1)
    desk.queue.renew(due)
    pass_seconds(desk, LEASE_SECONDS - 1)
    assert desk.queue.claim("v") is None


def test_failures_are_retried_with_growing_pauses_and_end_visibly(desk: Desk) -> None:
    due = desk.claim()
    pauses = []
    for _ in range(MOST_ATTEMPTS):
        desk.queue.fail(due, "no JSON")
        [entry] = desk.queue.entries()
        pauses.append(((entry.due_ms or 0) - desk.now_ms) // 60_000)
        assert desk.queue.claim("w") is None
        desk.now_ms = entry.due_ms or 0
        due = desk.queue.claim("w") or due
    assert pauses == [1, 4, 16, 64, 256]
    [entry] = desk.queue.entries()
    assert (entry.is_dead, entry.error, entry.attempts) == (True, "no JSON", MOST_ATTEMPTS)
    assert desk.queue.claim("w") is None
    assert desk.queue.revive() == 1
    assert desk.queue.claim("w") is not None


def test_final_failure_ends_at_once_and_the_next_rest_revives(desk: Desk) -> None:
    desk.queue.fail(desk.claim(), "status 401", is_final=True)
    assert [entry.is_dead for entry in desk.queue.entries()] == [True]
    assert desk.claim().attempts == 1


def test_every_killed_process_counts_as_an_attempt(desk: Desk) -> None:
    desk.claim()
    for _ in range(MOST_ATTEMPTS):
        pass_seconds(desk, LEASE_SECONDS)
        desk.queue.claim("w")
    [entry] = desk.queue.entries()
    assert (entry.is_dead, entry.error) == (True, "every process that had it died")


def test_race_to_give_up_a_session_is_no_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.claim()
    for _ in range(MOST_ATTEMPTS - 1):
        pass_seconds(desk, LEASE_SECONDS)
        desk.queue.claim("w")
    pass_seconds(desk, LEASE_SECONDS)
    write = desk.queue._write

    def lose(version: int, entry: object, *more: object) -> object:
        monkeypatch.setattr(desk.queue, "_write", write)
        assert DigestQueue(desk.store, now_ms=desk.read_clock).claim("faster") is None
        return write(version, entry, *more)

    monkeypatch.setattr(desk.queue, "_write", lose)
    assert desk.queue.claim("slower") is None
    assert [entry.is_dead for entry in desk.queue.entries()] == [True]


def test_postponed_session_has_no_failed_attempt(desk: Desk) -> None:
    for _ in range(MOST_ATTEMPTS * 2):
        due = desk.queue.claim("w") or desk.claim()
        desk.queue.postpone(due, "offline", seconds=60)
        assert desk.queue.claim("w") is None
        pass_seconds(desk, 60)
    [entry] = desk.queue.entries()
    assert (entry.is_dead, entry.attempts, entry.error) == (False, 0, "offline")


def test_session_that_rests_again_meanwhile_stays_due(desk: Desk) -> None:
    due = desk.claim()
    pass_seconds(desk, 1)
    desk.queue.add(INFO, active_ms=desk.now_ms, rest_seconds=0)
    desk.queue.finish(due)
    assert desk.queue.claim("w") is not None


def test_queue_survives_a_restart(desk: Desk, store: MemoryStore) -> None:
    desk.queue.add(INFO, active_ms=desk.now_ms, rest_seconds=0)
    with open_store(store.data_dir) as same:
        due = DigestQueue(same, now_ms=desk.read_clock).claim("next start")
    assert due is not None
    assert due.info == INFO


def test_session_without_activity_for_half_a_year_leaves_the_queue(desk: Desk) -> None:
    waits = SessionInfo(id="ses_w", directory="/home/ann/gone")
    desk.queue.add(waits, active_ms=desk.now_ms, rest_seconds=0)
    desk.queue.finish(desk.claim())
    set_clock(desk.store, NOW_MS + 179 * DAY_MS)
    desk.queue.add(OTHER, active_ms=desk.now_ms, rest_seconds=0)
    desk.store.maintain()
    assert {entry.session for entry in desk.queue.entries()} == {INFO.id, OTHER.id, waits.id}
    set_clock(desk.store, NOW_MS + 181 * DAY_MS)
    desk.store.maintain()
    assert [entry.session for entry in desk.queue.entries()] == [OTHER.id]
    # A session that goes on is queued again.
    assert desk.claim().info == INFO


def test_purged_summary_is_in_no_file(desk: Desk, data_dir: Path) -> None:
    desk.learn()
    desk.digest(summary={"done": "Invoices are rendered in Zanzibar.", "decided": "", "open": ""})
    [summary] = [memory for memory in desk.store.list(project=PROJECT) if memory.topic == f"session:{INFO.id}"]
    assert "Zanzibar" in desk.queue.entries()[0].summary
    desk.store.purge(summary.id)
    assert files_holding(data_dir, "Zanzibar") == []
    assert [entry.session for entry in desk.queue.entries()] == [INFO.id]


def test_secret_in_the_title_of_a_session_is_in_no_file(desk: Desk, data_dir: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    named = SessionInfo(id="ses_t", directory="/home/ann/shop", title=f"Deploy with {token}")
    desk.queue.add(named, active_ms=desk.now_ms, rest_seconds=0)
    desk.store.jobs.enqueue("rest", named.id, payload={"title": named.title})
    assert desk.queue.entries()[0].title == "Deploy with [redacted:github-token]"
    desk.store.close()
    assert files_holding(data_dir, token) == []

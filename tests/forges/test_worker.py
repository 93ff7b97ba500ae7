"""The worker's duty: only with consent, within the limits of the forge, and never twice for nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import MemoryStore
from opencode_memory.config.load import load
from opencode_memory.text import clock
from opencode_memory.worker.duty import Duty
from opencode_memory.worker.forge_duty import ForgeDuty
from support.forge_server import HOST, TOKEN, ForgeServer, Reply, github_issue
from support.stores import NOW_MS, SECOND_MS, set_clock
from support.worker_loop import work_until_idle

PROJECT = f"{HOST}/acme/shop"
HOUR = 3600


def path(number: int) -> str:
    return f"/api/v3/repos/acme/shop/issues/{number}"


class Scene:
    """A store whose project is on the forge, and its worker."""

    def __init__(self, store: MemoryStore, folder: Path, forge: ForgeServer) -> None:
        self.store = store.for_project(PROJECT)
        self.forge = forge
        self._folder = folder
        self._now_ms = NOW_MS

    def duties(self, **settings: str) -> tuple[Duty, ...]:
        environment = {
            "HOME": str(self._folder),
            "PATH": "/nonexistent",
            "GH_HOST": HOST,
            "GH_ENTERPRISE_TOKEN": TOKEN,
            "OPENCODE_MEMORY_FORGE_ENABLED": "on",
            "OPENCODE_MEMORY_FORGE_HOSTS": f"github:{self.forge.url}",
            **settings,
        }
        return ForgeDuty(load(environment=environment)).duties()

    def work(self, **settings: str) -> None:
        work_until_idle(self.store, self.duties(**settings))

    def pass_time(self, seconds: float) -> None:
        self._now_ms += round(seconds * SECOND_MS)
        set_clock(self.store, self._now_ms)

    def facts(self) -> list[str]:
        return [memory.content for memory in self.store.list(tag="forge")]


@pytest.fixture
def scene(store: MemoryStore, tmp_path: Path, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(clock, "now", lambda: datetime.fromtimestamp(store._engine.now_ms() / 1000, UTC))
    return Scene(store, tmp_path, forge)


def test_worker_fetches_what_memories_name(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12 and #13")
    scene.store.remember("A global note on acme", scope="global", entities=[f"{PROJECT}#14"])
    for number in (12, 13, 14):
        scene.forge.items[path(number)] = github_issue(number)
    scene.work()
    assert sorted(scene.forge.paths) == [path(12), path(13), path(14)]
    assert len(scene.facts()) == 3
    assert not scene.store.jobs.list()


@pytest.mark.parametrize(
    "settings",
    [
        {"OPENCODE_MEMORY_FORGE_ENABLED": "off"},
        {"GH_ENTERPRISE_TOKEN": ""},
        {"GH_HOST": "other.example.com"},
    ],
)
def test_worker_sends_nothing_without_consent_or_token(settings: dict[str, str], scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12")
    scene.work(**settings)
    assert scene.forge.received == []


def test_items_are_fetched_again_when_they_are_due(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12, #13 and #14")
    scene.forge.items[path(12)] = github_issue()
    scene.forge.items[path(13)] = github_issue(13, state="closed")
    for hours, requests in ((0, 3), (23, 3), (1, 4), (24 * 6 - 1, 5), (1, 7)):
        scene.pass_time(hours * HOUR)
        scene.work()
        assert len(scene.forge.received) == requests, hours
    assert all("if-none-match" in one.headers for one in scene.forge.received[3:] if not one.path.endswith("14"))


def test_clock_that_was_set_back_does_not_stop_the_worker(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12")
    scene.forge.items[path(12)] = github_issue()
    scene.work()
    scene.pass_time(-48 * HOUR)
    scene.work()
    assert len(scene.forge.received) == 2


def test_pause_does_not_outlast_a_clock_that_was_set_back(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12")
    scene.forge.items[path(12)] = github_issue()
    scene.forge.script = [Reply(status=503)]
    scene.work()
    assert scene.facts() == []
    scene.pass_time(-48 * HOUR)
    scene.work()
    assert len(scene.facts()) == 1


def test_rate_limit_pauses_the_host_for_as_long_as_it_asks(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12, #13 and #14")
    scene.forge.script = [Reply(status=429, headers={"Retry-After": "300"})]
    scene.work()
    assert len(scene.forge.received) == 1
    scene.pass_time(299)
    scene.work()
    assert len(scene.forge.received) == 1
    scene.pass_time(2)
    scene.work()
    assert len(scene.forge.received) == 4


def test_last_permitted_request_is_used_and_then_the_host_is_left_alone(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12 and #13")
    reset = NOW_MS // 1000 + 1800
    body = b'{"title": "Login fails", "state": "open"}'
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset)}
    scene.forge.script = [Reply(headers=headers, body=body)]
    scene.work()
    assert len(scene.facts()) == 1
    scene.pass_time(1799)
    scene.work()
    assert len(scene.forge.received) == 1
    scene.pass_time(2)
    scene.work()
    assert len(scene.forge.received) == 2


def test_pause_doubles_after_each_failure_and_ends_with_an_answer(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12")
    scene.forge.items[path(12)] = github_issue()
    scene.forge.script = [Reply(status=503)] * 3
    for seconds, requests in ((0, 1), (59, 1), (2, 2), (119, 2), (2, 3), (239, 3), (2, 4)):
        scene.pass_time(seconds)
        scene.work()
        assert len(scene.forge.received) == requests, seconds
    assert len(scene.facts()) == 1
    assert scene.store.for_project(None).kv.get(f"forge/host/{HOST}") is None


def test_token_that_is_refused_is_not_sent_again_for_hours(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12 and #13")
    for hours, requests in ((0, 1), (5, 1), (2, 2)):
        scene.pass_time(hours * HOUR)
        scene.work(GH_ENTERPRISE_TOKEN="wrong")
        assert len(scene.forge.received) == requests, hours


def test_forge_that_is_down_leaves_the_job_queue_clean(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12")
    with ForgeServer() as closed:
        pass
    scene.work(OPENCODE_MEMORY_FORGE_HOSTS=f"github:{closed.url}")
    assert scene.facts() == []
    assert not [job for job in scene.store.jobs.list() if job.error]


def test_one_bad_item_does_not_stop_the_others(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12, #13 and !14")
    scene.forge.items[path(12)] = {"title": 7}
    scene.forge.items[path(13)] = github_issue(13)
    scene.work()
    assert len(scene.facts()) == 1
    scene.work()
    assert len(scene.forge.received) == 2


def test_many_items_take_several_jobs(scene: Scene) -> None:
    for number in range(100, 160):
        scene.store.remember(f"Release note {number} is about #{number}")
        scene.forge.items[path(number)] = github_issue(number, "Login fails on Safari")
    scene.work()
    assert len(scene.forge.received) == 60
    # Items with the same title are neither merged nor replaced by each other.
    assert len(scene.facts()) == 50
    assert scene.store.count(tag="forge") == 60


def test_archived_fact_stays_archived(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12")
    scene.forge.items[path(12)] = github_issue()
    scene.work()
    scene.store.archive(scene.store.list(tag="forge")[0].id)
    scene.forge.items[path(12)] = github_issue(title="Another title")
    scene.pass_time(25 * HOUR)
    scene.work()
    assert len(scene.forge.received) == 2
    assert scene.facts() == []


@pytest.mark.parametrize("more", [{}, {"trust": "user"}])
def test_text_of_the_user_in_a_fact_is_kept(more: dict[str, Any], scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12")
    scene.forge.items[path(12)] = github_issue()
    scene.work()
    fact = scene.store.list(tag="forge")[0]
    scene.store.edit(fact.id, content="#12 is about Safari 15 only", **more)
    scene.forge.items[path(12)] = github_issue(title="Another title")
    scene.pass_time(25 * HOUR)
    scene.work()
    assert scene.facts() == ["#12 is about Safari 15 only"]
    assert scene.store.count(status="candidate") == 0


def test_values_that_a_client_wrote_into_the_cache_are_ignored(scene: Scene) -> None:
    scene.store.remember("The login is broken, see #12")
    scene.forge.items[path(12)] = github_issue()
    cache = scene.store.for_project(None).kv
    for value in (7, {"checked": "x"}, {"checked": 0, "etag": "a\nHost: evil", "item": {"kind": "issue"}}):
        cache.set(f"forge/item/{PROJECT}#12", value)
        cache.set(f"forge/host/{HOST}", {"until": "for ever"})
        scene.work()
    assert "if-none-match" not in scene.forge.received[-1].headers
    assert len(scene.facts()) == 1


def test_invalid_hosts_are_reported_and_retried_later(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    work_until_idle(scene.store, scene.duties(OPENCODE_MEMORY_FORGE_HOSTS="gitea:https://git.example.com"))
    assert "forge.hosts: 'gitea' is not gitlab or github" in caplog.text


def test_closed_item_makes_its_blockers_due_for_review_once(scene: Scene) -> None:
    blocker = scene.store.remember("The release waits for #12", category="blocker").id
    scene.store.remember("Resolved long ago: #12", category="blocker", tags=["resolved"])
    scene.forge.items[path(12)] = github_issue()
    scene.work()
    assert scene.store.reminders.due() == []
    scene.forge.items[path(12)] = github_issue(state="closed")
    scene.pass_time(25 * HOUR)
    scene.work()
    assert [memory.id for memory in scene.store.reminders.due()] == [blocker]
    # The user says that it is still true. The closed item does not ask again.
    scene.store.edit(blocker, verified=True)
    scene.forge.items[path(12)] = github_issue(state="closed", title="Another title")
    scene.pass_time(8 * 24 * HOUR)
    scene.work()
    assert scene.store.reminders.due() == []
    scene.forge.items[path(12)] = github_issue()
    scene.pass_time(8 * 24 * HOUR)
    scene.work()
    scene.forge.items[path(12)] = github_issue(state="closed")
    scene.pass_time(25 * HOUR)
    scene.work()
    assert [memory.id for memory in scene.store.reminders.due()] == [blocker]


def test_second_project_gets_its_own_fact(scene: Scene) -> None:
    scene.forge.items[path(12)] = github_issue()
    scene.store.remember("The login is broken, see #12")
    scene.work()
    other = scene.store.for_project(f"{HOST}/acme/app")
    other.remember("We wait for acme/shop#12")
    scene.work()
    assert other.count(tag="forge", scope="project") == 1
    assert len(scene.forge.received) == 2

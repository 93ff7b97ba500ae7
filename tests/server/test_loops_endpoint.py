"""``/loops``: what dialogs and commands of the same user read and change."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from loops.repositories import git
from opencode_memory.loops.keeper import Keeper
from opencode_memory.loops.model import LoopState, Rest
from opencode_memory.loops.records import Loops
from opencode_memory.loops.todos import Todos
from opencode_memory.loops.transition import rest
from opencode_memory.plans import Plan, Plans, PlanStatus
from opencode_memory.server.loops_endpoint import LoopsEndpoint
from opencode_memory.text import clock
from plans.test_text import PLAN
from support.asgi import OUR_HOST, ask, body_messages, http_scope
from support.mcp import World

TOKEN = (b"authorization", b"Bearer t0ken")


@dataclass
class Waking:
    """Stands for the keeper, and counts how often it is woken."""

    wakes: int = 0
    todos: Todos = field(default_factory=Todos)

    def wake(self) -> None:
        self.wakes += 1


@dataclass
class Endpoint:
    """The endpoint for one folder."""

    world: World
    folder: Path
    keeper: Waking = field(default_factory=Waking)

    def call(
        self, method: str, body: Any = None, *, token: tuple[bytes, bytes] = TOKEN, query: str = ""
    ) -> tuple[int, dict[str, Any]]:
        endpoint = LoopsEndpoint(self.world.state, cast(Keeper, self.keeper), token="t0ken")
        app = Starlette(routes=[Route("/loops", endpoint.handle, methods=["GET", "POST"])])
        scope = http_scope(
            (OUR_HOST, token), path="/loops", query_string=f"directory={quote(str(self.folder))}{query}".encode()
        )
        sent = b"" if body is None else json.dumps(body).encode()
        answer = ask(app, {**scope, "method": method}, body_messages(sent))
        return answer.status, json.loads(answer.body)

    @property
    def plans(self) -> Plans:
        return Plans(self.world.store, self.world.state.projects.of_session(str(self.folder)))

    def submitted(self) -> Plan:
        self.world.store.remember("A walrus.", project=self.world.state.projects.ensure(self.folder))
        return self.plans.submit(self.plans.write(PLAN, at=clock.now(), directory=str(self.folder)).plan)


@pytest.fixture
def endpoint(world: World, folder: Path) -> Endpoint:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "start")
    return Endpoint(world, folder)


def test_token_is_required(endpoint: Endpoint) -> None:
    for token in ((b"x", b"y"), (b"authorization", b"Bearer wrong"), (b"authorization", b"t0ken")):
        assert endpoint.call("GET", token=token)[0] == 401
        assert endpoint.call("POST", {}, token=token)[0] == 401
    assert endpoint.keeper.wakes == 0


def test_waiting_plan_is_listed_and_approved_once(endpoint: Endpoint) -> None:
    plan = endpoint.submitted()
    status, found = endpoint.call("GET")
    assert (status, [listed["id"] for listed in found["plans"]], found["loops"]) == (200, [plan.id], [])
    for _ in range(2):
        status, said = endpoint.call("POST", {"plan": plan.id, "action": "approve", "mode": "loop"})
        assert (status, said["said"]) == (200, "The plan 'Parse empty files' is approved.")
    assert endpoint.call("GET")[1]["plans"] == []
    assert [loop["phase"] for loop in endpoint.call("GET")[1]["loops"]] == ["starting 0/15"]
    assert endpoint.keeper.wakes == 2


def test_plan_without_a_folder_is_not_carried_out_in_the_folder_of_the_server(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(endpoint.folder)
    plans = Plans(endpoint.world.store, None)
    plan = plans.submit(plans.write(PLAN, at=clock.now()).plan)
    nowhere = Endpoint(endpoint.world, cast(Path, ""), endpoint.keeper)
    status, said = nowhere.call("POST", {"plan": plan.id, "action": "approve", "mode": "loop"})
    assert (status, "give the absolute path" in said.get("error", "")) == (400, True)
    assert plans.get(plan.id).status is PlanStatus.SUBMITTED


def test_text_of_a_plan_is_shown(endpoint: Endpoint) -> None:
    plan = endpoint.submitted()
    assert endpoint.call("GET", query=f"&plan={plan.id}") == (200, {"text": PLAN})
    status, said = endpoint.call("GET", query="&plan=0123abcd")
    assert (status, "no plan" in said["error"]) == (400, True)


def test_store_that_cannot_be_read_is_answered_with_its_error(endpoint: Endpoint) -> None:
    endpoint.submitted()
    endpoint.world.store.close()
    for query in ("", "&plan=0123abcd"):
        status, said = endpoint.call("GET", query=query)
        assert (status, said["error"]) == (400, "the store is closed; open it again")


def test_plan_is_sent_back(endpoint: Endpoint) -> None:
    plan = endpoint.submitted()
    assert endpoint.call("POST", {"plan": plan.id, "action": "send-back", "remark": "Smaller steps."})[0] == 200
    changed = endpoint.plans.get(plan.id)
    assert (changed.status, changed.remark) == (PlanStatus.DRAFT, "Smaller steps.")


def test_loop_is_paused_resumed_and_cancelled(endpoint: Endpoint) -> None:
    plan = endpoint.submitted()
    endpoint.call("POST", {"plan": plan.id, "action": "approve", "mode": "loop"})
    [loop] = endpoint.call("GET")[1]["loops"]
    for action, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        status, said = endpoint.call("POST", {"loop": loop["id"], "action": action})
        assert (status, said["said"]) == (200, f"The loop parse-empty-files is {state}.")
        assert Loops(endpoint.world.store).get(loop["id"]).state is LoopState(state)
    status, said = endpoint.call("POST", {"loop": loop["id"], "action": "resume"})
    assert (status, "cannot be resumed" in said["error"]) == (400, True)


def test_resume_at_a_limit_says_how_to_raise_it(endpoint: Endpoint) -> None:
    plan = endpoint.submitted()
    endpoint.call("POST", {"plan": plan.id, "action": "approve", "mode": "loop"})
    loops = Loops(endpoint.world.store)
    [loop] = loops.list_all()
    at_limit = replace(rest(loop, Rest.LIMIT, "the limit is reached"), iteration=loop.limits.iterations)
    loops.write(at_limit, at=clock.now())
    status, said = endpoint.call("POST", {"loop": loop.id, "action": "resume"})
    assert status == 400
    assert said["error"] == (
        f"limit: the limit of {loop.limits.iterations} iterations is reached; raise it to go on:"
        " opencode-memory loop resume parse-empty-files --iterations N, --hours N, --tokens N or --cost N"
    )


def test_ended_loop_leaves_the_sidebar_after_a_day(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = endpoint.submitted()
    endpoint.call("POST", {"plan": plan.id, "action": "approve", "mode": "loop"})

    def shown(days: float) -> bool:
        at = clock.now() + timedelta(days=days)
        with monkeypatch.context() as later:
            later.setattr(clock, "now", lambda: at)
            [loop] = endpoint.call("GET")[1]["loops"]
        return bool(loop["in_sidebar"])

    assert (shown(0), shown(40)) == (True, True)
    [loop] = endpoint.call("GET")[1]["loops"]
    endpoint.call("POST", {"loop": loop["id"], "action": "cancel"})
    assert (shown(0.9), shown(1.1)) == (True, False)


@pytest.mark.parametrize(
    "asked",
    [
        {"loop": "x", "action": "cancel"},
        {"loop": 3},
        {"plan": "x", "action": "approve", "mode": "all"},
        [1],
        "x",
        {"a": 1},
    ],
)
def test_bad_request_is_an_error(endpoint: Endpoint, asked: Any) -> None:
    endpoint.submitted()
    status, said = endpoint.call("POST", asked)
    assert (status, bool(said["error"])) == (400, True)


def test_loop_of_another_project_is_not_found(endpoint: Endpoint) -> None:
    plan = endpoint.submitted()
    endpoint.call("POST", {"plan": plan.id, "action": "approve", "mode": "loop"})
    [loop] = endpoint.call("GET")[1]["loops"]
    other = Endpoint(endpoint.world, endpoint.world.repository("bees"))
    assert other.call("GET")[1] == {"loops": [], "plans": []}
    assert other.call("POST", {"loop": loop["id"], "action": "cancel"})[0] == 400
    assert Loops(endpoint.world.store).get(loop["id"]).state is LoopState.RUNNING

"""Has a model do the work of a step in a session of its own, exactly once, however often it is interrupted.

The ids of the message are stored before it is sent. The same message sent again makes OpenCode go on with the turn, or
does nothing if the turn has ended.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn

import anyio
from anyio import to_thread

from opencode_memory.hosts.opencode.contract import AUDIT_AGENT, LOOP_TITLE
from opencode_memory.loops.documents import event_change, session_change
from opencode_memory.loops.host import Host, HostError, HostGoneError, HostNotFoundError
from opencode_memory.loops.lease import HeldLease
from opencode_memory.loops.message_ids import message_id, part_id
from opencode_memory.loops.model import Loop, Rest, Spent, Step, StepKind, StepState
from opencode_memory.loops.models import has_model, parse_model
from opencode_memory.loops.prompts import VERDICT_MISSING
from opencode_memory.loops.records import Loops
from opencode_memory.loops.rules import refusal, session_rules
from opencode_memory.loops.turn import Progress, Status, Turn, read_status, read_turn
from opencode_memory.text import clock
from opencode_memory.text.display import one_line

MOST_SENT: Final = 8
"""How often a message is sent before the step counts as failed."""
LOOK_SECONDS: Final = 5.0
"""Pause between two looks, if no event comes."""
STALL_SECONDS: Final = 600.0
_RETRY_SECONDS: Final = 600.0
"""Time after which a provider that only repeats errors, or whose next try is later, counts as refusing."""
_CLOSING_SECONDS: Final = 2.0
_CREATE_SECONDS: Final = 60.0
_MOST_CHILDREN: Final = 100
_MODEL_BYTES: Final = 100
_PAUSES: Final = (0.0, 1.0, 2.0, 6.0)
"""Pauses before each try, as multiples of the time between two looks."""
_log: Final = logging.getLogger(__name__)


class RestError(Exception):
    """The loop cannot go on now.

    Args:
        kind: What it needs.
        reason: The reason, for people.
    """

    def __init__(self, kind: Rest, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


@dataclass(slots=True, kw_only=True)
class SessionStep:
    """The work of a model on one step.

    Attributes:
        loops: The records.
        host: The process of OpenCode.
        loop: The loop.
        step: The step; changes while it goes on.
        lease: The lease of the loop.
        wake: Returns an event that is set when OpenCode tells something about the session from now on.
        output: Pattern of the files with long outputs of tools.
        missing_model: The configured model, if OpenCode does not have it.
    """

    loops: Loops
    host: Host
    loop: Loop
    step: Step
    lease: HeldLease
    wake: Callable[[], anyio.Event]
    output: str
    stall_seconds: float = STALL_SECONDS
    look_seconds: float = LOOK_SECONDS
    is_at_work: bool = False
    missing_model: str | None = None

    async def run(self) -> tuple[Step, dict[str, Any]]:
        """Return the step and its outcome: ``result`` is ``done`` or ``failed``.

        Raises:
            RestError: The user stopped the turn or deleted its session, the provider refuses, or OpenCode has gone.
        """
        turn = await self._try()
        missing = {} if self.missing_model is None else {"missing_model": self.missing_model}
        match turn.progress:
            case Progress.DONE:
                return self.step, {"result": "done", "text": turn.text[-2_000:], **missing}
            case Progress.REFUSED:
                # OpenCode has ended this turn. A resumed loop goes on in the same session, by a message of its own.
                await self._save(_with_new_message(self.step))
                whose = "auditor" if self.step.kind is StepKind.AUDIT else "model"
                raise RestError(Rest.PROVIDER, f"the {whose}'s provider refuses: {turn.said}")
        return self.step, {"result": "failed", "said": turn.said, **missing}

    async def _try(self) -> Turn:
        """Carry the turn out; try again if OpenCode does not answer, because all calls can be repeated.

        Raises:
            RestError: The user stopped the turn, or OpenCode has gone or never answers.
        """
        problem: HostError | None = None
        for pause in _PAUSES:
            await anyio.sleep(pause * self.look_seconds)
            try:
                if self.step.session is None:
                    await self._create_session()
                turn = await self._finish_turn()
                if self.step.kind is StepKind.AUDIT and turn.progress is Progress.DONE:
                    turn = await self._require_verdict(turn)
                self.step = replace(self.step, spent=await self._count_spent())
            except HostGoneError as error:
                raise RestError(Rest.HOST, "OpenCode has ended; the loop goes on when it is back") from error
            except HostNotFoundError as error:
                if self.step.session is not None:
                    await self._forget_session(error)
                problem = error
            except HostError as error:
                problem = error
            else:
                return turn
        raise RestError(Rest.ERROR, f"OpenCode does not answer as expected: {problem}") from problem

    async def _forget_session(self, error: HostNotFoundError) -> NoReturn:
        """Forget a session that was deleted, because a resumed loop would ask for it again.

        Raises:
            RestError: The user has deleted the session, so they decide whether the loop goes on.
        """
        said = f"OpenCode does not have the session {self.step.session} any more"
        await self._save(replace(_with_new_message(self.step), session=None, asked_again=False))
        todo = f"opencode-memory loop resume {self.loop.name}"
        raise RestError(Rest.PERSON, f"{said}; this goes on with a new one: {todo}") from error

    async def abort(self) -> None:
        """Stop the turn, because the user stopped the loop."""
        if self.step.session is None:
            return
        try:
            await self._ask("POST", f"/session/{self.step.session}/abort")
        except HostError as error:
            _log.info("the session %s of loop %s is not stopped: %s", self.step.session, self.loop.id, error)

    async def _create_session(self) -> None:
        """Create the session of the step, or find the one that was created before a death."""
        about = {"loop": self.loop.id, "step": self.step.number}
        session = None
        for found in await self._ask("GET", "/session", query={"search": self._title}) or []:
            match found:
                case {"id": str(id_), "metadata": {"opencode_memory": dict(known)}} if known == about:
                    session = id_
        if session is None:
            body = {
                "title": self._title,
                "metadata": {"opencode_memory": about},
                "permission": session_rules(output=self.output),
            }
            created = await self._ask("POST", "/session", body=body, seconds=_CREATE_SECONDS)
            session = str(created["id"])
        step = replace(self.step, session=session)
        await self._save(step, also=True)

    @property
    def _prompt(self) -> str:
        return VERDICT_MISSING if self.step.asked_again else self.step.prompt

    @property
    def _title(self) -> str:
        return (
            f"{LOOP_TITLE}{self.loop.name} {self.step.iteration} {self.step.kind} [{self.loop.id}.{self.step.number}]"
        )

    async def _finish_turn(self) -> Turn:
        """Send the message until its turn has ended."""
        mark, seen_at, retrying_since = "", time.monotonic(), None
        sent_at: float | None = None
        while True:
            wake = self.wake()
            turn = read_turn(await self._messages(), self.step.message or "")
            if turn.progress in {Progress.DONE, Progress.REFUSED}:
                return turn
            status = await self._status()
            if status is not None and status.seconds_to_retry > _RETRY_SECONDS:
                await self.abort()
                said = (
                    f"{status.said or 'it failed'} (it would be asked again in {status.seconds_to_retry / 60:.0f} min)"
                )
                return replace(turn, progress=Progress.REFUSED, said=said)
            await self._answer_questions()
            now = time.monotonic()
            if turn.mark != mark or turn.runs_tool:
                mark, seen_at = turn.mark, now
            is_retrying = status is not None and status.kind == "retry"
            retrying_since = (retrying_since or now) if is_retrying else None
            if retrying_since is not None and now - retrying_since > _RETRY_SECONDS:
                await self.abort()
                return replace(turn, progress=Progress.REFUSED, said="the provider only repeats errors")
            if status is not None and now - seen_at > self.stall_seconds:
                # The next look finds the turn aborted, by us and not by the user, and sends the message again.
                await self.abort()
                self.is_at_work = False
                seen_at = now
                continue
            if status is None:
                if turn.progress is Progress.ABORTED and self.is_at_work:
                    await self._explain_abort()
                if self.step.attempts >= MOST_SENT:
                    return replace(turn, progress=Progress.FAILED, said=turn.said or "it never ended its turn")
                # OpenCode tells of many things before it says that it works on the message.
                if sent_at is None or now - sent_at >= self.look_seconds:
                    # A message that was sent before a death is sent again, which is no failure of the model.
                    await self._send(counts=sent_at is not None or self.step.state is StepState.PLANNED)
                    sent_at = now
            self.is_at_work = self.is_at_work or status is not None
            await self._pause(wake)

    async def _explain_abort(self) -> None:
        """Tell the user who stopped the turn from an OpenCode that was closed, which look the same.

        Raises:
            RestError: Always.
        """
        with anyio.move_on_after(_CLOSING_SECONDS):
            await self.host.wait_closed()
        if not self.host.is_connected:
            raise RestError(Rest.HOST, "OpenCode was closed; the loop goes on when it is back")
        raise RestError(Rest.PERSON, "you stopped the session in OpenCode; resume the loop to go on")

    async def _send(self, *, counts: bool) -> None:
        attempts = self.step.attempts + 1 if counts else self.step.attempts
        await self._save(replace(self.step, state=StepState.SENT, attempts=attempts))
        body: dict[str, Any] = {
            "messageID": self.step.message,
            "parts": [{"id": self.step.part, "type": "text", "text": self._prompt}],
        }
        agent = await self._choose_agent()
        if agent is not None:
            body["agent"] = agent
        model = await self._choose_model()
        if model is not None:
            body["model"] = model
        await self._ask("POST", f"/session/{self.step.session}/prompt_async", body=body, seconds=_CREATE_SECONDS)

    async def _choose_agent(self) -> str | None:
        names = (AUDIT_AGENT,) if self.step.kind is StepKind.AUDIT else ("code", "build")
        agents = await self._ask("GET", "/agent")
        known = (
            {agent.get("name") for agent in agents if isinstance(agent, Mapping)} if isinstance(agents, list) else ()
        )
        return next((name for name in names if name in known), None)

    async def _choose_model(self) -> dict[str, str] | None:
        """Return the configured model if OpenCode has it; its default otherwise."""
        wanted = self.loop.audit_model if self.step.kind is StepKind.AUDIT else self.loop.code_model
        if wanted is None:
            return None
        if not has_model(await self._ask("GET", "/config/providers"), wanted):
            await self._say_missing(wanted)
            return None
        return parse_model(wanted)

    async def _say_missing(self, model: str) -> None:
        """Record once for each step that OpenCode does not have its model."""
        if self.missing_model is not None:
            return
        self.missing_model = model
        why = f"OpenCode has no model {one_line(model, _MODEL_BYTES)}, so its default is used"
        _log.warning("loop %s: %s", self.loop.id, why)
        event = event_change(self.loop, why, at=clock.now())
        self.step = await to_thread.run_sync(
            lambda: self.lease.write_step(self.step, project=self.loop.project, also=[event])
        )

    async def _require_verdict(self, turn: Turn) -> Turn:
        """Ask an auditor once for the verdict that it has not given."""
        if self.step.asked_again or await to_thread.run_sync(lambda: self.loops.reported(self.step)) is not None:
            return turn
        await self._save(_with_new_message(replace(self.step, asked_again=True)))
        self.is_at_work = False
        return await self._finish_turn()

    async def _answer_questions(self) -> None:
        """Reject what the loop's sessions ask, because no user would answer."""
        asked = await self._ask("GET", "/permission")
        mine = {self.step.session, *(await self._children(self.step.session or ""))}
        for question in asked if isinstance(asked, list) else ():
            if isinstance(question, dict) and question.get("sessionID") in mine:
                try:
                    await self._ask("POST", f"/permission/{question.get('id')}/reply", body=refusal(question))
                except HostNotFoundError:
                    continue  # Somebody else has answered it.

    async def _children(self, session: str) -> list[str]:
        found = await self._ask("GET", f"/session/{session}/children")
        children = [str(child["id"]) for child in found or [] if isinstance(child, Mapping) and "id" in child]
        for child in tuple(children[:_MOST_CHILDREN]):
            children += await self._children(child)
        return children

    async def _count_spent(self) -> Spent:
        """Count what the session and its children have used."""
        total = Spent()
        for session in (self.step.session or "", *(await self._children(self.step.session or ""))):
            found = await self._ask("GET", f"/session/{session}")
            match found:
                case {"tokens": Mapping() as tokens}:
                    cache = tokens.get("cache")
                    read = cache.get("read", 0) if isinstance(cache, Mapping) else 0
                    total += Spent(
                        input=_whole(tokens.get("input")),
                        output=_whole(tokens.get("output")) + _whole(tokens.get("reasoning")),
                        cached=_whole(read),
                        cost=float(found.get("cost") or 0.0),
                    )
        return total

    async def _messages(self) -> list[Any]:
        found = await self._ask("GET", f"/session/{self.step.session}/message", seconds=_CREATE_SECONDS)
        return found if isinstance(found, list) else []

    async def _status(self) -> Status | None:
        """Return the state of the session; None if it is idle."""
        found = await self._ask("GET", "/session/status")
        return read_status(found.get(self.step.session) if isinstance(found, Mapping) else None, at=clock.now())

    async def _pause(self, wake: anyio.Event) -> None:
        with anyio.move_on_after(self.look_seconds):
            await wake.wait()

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        seconds: float = 30.0,
    ) -> Any:
        directory = self.loop.worktree or self.loop.directory
        return await self.host.request(method, path, directory=directory, query=query, body=body, seconds=seconds)

    async def _save(self, step: Step, *, also: bool = False) -> None:
        more = (session_change(step.session, step),) if also and step.session is not None else ()
        project = self.loop.project
        self.step = await to_thread.run_sync(lambda: self.lease.write_step(step, project=project, also=more))


def _with_new_message(step: Step) -> Step:
    """Return a step with a message that was not sent yet."""
    at = clock.now()
    return replace(step, message=message_id(at), part=part_id(at), attempts=0, state=StepState.PLANNED)


def _whole(value: Any) -> int:
    return round(value) if isinstance(value, int | float) and value > 0 else 0

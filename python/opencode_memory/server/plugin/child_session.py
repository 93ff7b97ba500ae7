"""Child session of OpenCode in which the hidden agent answers one request, and which is deleted afterwards.

OpenCode repeats a failed request to a model without end. So the child is watched while it works, and given up at the
first repetition. A deleted session goes on working, so a child is aborted before it is deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio

from opencode_memory._core import redact
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.hosts.opencode.contract import DIGEST_AGENT, OWN_TITLE
from opencode_memory.server.plugin.json_rpc import DisconnectedError, RemoteError
from opencode_memory.server.plugin.opencode_client import NotThereError, OpenCode, find_texts, session_path
from opencode_memory.text.unicode import replace_surrogates

TITLE: Final = f"{OWN_TITLE}digest"
_NO_TOOLS: Final = [{"permission": "*", "pattern": "*", "action": "deny"}]
_END_SECONDS: Final = 5.0
_WATCH_SECONDS: Final = 1.0
_MOST_LEFT: Final = 100
_LONGEST_REASON: Final = 300
_log: Final = logging.getLogger(__name__)


class ModelError(OpencodeMemoryError):
    """The model of OpenCode gave no answer.

    Attributes:
        is_final: Whether the same request would fail again until the user changes the configuration.
        tokens: Tokens that the request used; None if that is unknown.
    """

    def __init__(self, message: str, *, is_final: bool, tokens: int | None) -> None:
        super().__init__(message)
        self.is_final = is_final
        self.tokens = tokens


@dataclass(frozen=True, slots=True)
class Model:
    """A model of OpenCode.

    Attributes:
        provider: Id of its provider.
        name: Its id.
    """

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"

    @classmethod
    def parse(cls, written: object) -> Model | None:
        """Parse a model as OpenCode's configuration names it, for example ``provider/model``; None if it is not one."""
        provider, _, name = written.partition("/") if isinstance(written, str) else ("", "", "")
        return cls(provider, name) if provider and name else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """Answer of a model.

    Attributes:
        text: The answer.
        tokens: Input and output tokens that OpenCode counted.
    """

    text: str
    tokens: int


async def has_agent(opencode: OpenCode) -> bool:
    """Return whether OpenCode has the hidden agent; a setup of an earlier version did not install it."""
    agents = await opencode.request("GET", "/agent")
    return isinstance(agents, list) and any(
        isinstance(agent, Mapping) and agent.get("name") == DIGEST_AGENT and agent.get("hidden") is True
        for agent in agents
    )


async def ask_in_child(
    opencode: OpenCode,
    *,
    parent: str,
    store: str,
    text: str,
    model: Model,
    seconds: float,
    on_deleted: Callable[[], object] = lambda: None,
) -> ModelAnswer:
    """Ask a model in a child session, and delete the session, whatever happens.

    Args:
        opencode: The instance of OpenCode.
        parent: The session that the request is about; its child does not appear in the list of sessions.
        store: Id of the store, so that a later connection knows its own children.
        text: The request.
        model: The model to ask.
        seconds: Limit for the whole request.
        on_deleted: Is called when the child is certainly deleted.

    Raises:
        ModelError: The model failed, gave an empty answer, or none in time.
        RemoteError: OpenCode created no session.
        DisconnectedError: The connection was lost, perhaps while the model worked.
    """
    about = {"parentID": parent, "title": TITLE, "metadata": {"opencode_memory_store": store}, "permission": _NO_TOOLS}
    created = await opencode.request("POST", "/session", body=about)
    match created:
        case {"id": str(child), "parentID": str()}:
            pass
        case _:
            raise RemoteError("POST /session was answered in an unknown form", path="/session")
    try:
        return await _ask(opencode, child, text, model, seconds)
    finally:
        # Also if this task is cancelled. If OpenCode does not answer, the child stays until `delete_leftovers`.
        with anyio.CancelScope(shield=True):
            if await _remove(opencode, child):
                on_deleted()


async def delete_leftovers(opencode: OpenCode, *, store: str) -> int:
    """Delete the children that earlier connections of this store have left behind. Return how many.

    Children of other stores stay, because their servers may be at work.

    Raises:
        RemoteError: OpenCode listed no sessions, or did not delete all of them.
    """
    query = {"search": TITLE, "limit": str(_MOST_LEFT)}
    found = await opencode.request("GET", "/session", query=query)
    left = [
        session["id"]
        for session in (found if isinstance(found, list) else [])
        if _is_child(session, store) and isinstance(session.get("id"), str)
    ]
    kept = [child for child in left if not await _remove(opencode, child)]
    if kept:
        raise RemoteError(f"{len(kept)} of {len(left)} sessions were not deleted", path="/session")
    return len(left)


def _is_child(session: Any, store: str) -> bool:
    match session:
        case {"title": str(title), "parentID": str(), "metadata": {"opencode_memory_store": str(owner)}}:
            return title == TITLE and owner == store
    return False


async def _ask(opencode: OpenCode, child: str, text: str, model: Model, seconds: float) -> ModelAnswer:
    body = {
        "agent": DIGEST_AGENT,
        "model": {"providerID": model.provider, "modelID": model.name},
        "parts": [{"type": "text", "text": text}],
    }
    path, problem, tokens, answer = session_path(child, "message"), "", None, None
    lost: DisconnectedError | None = None
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            nonlocal problem, tokens
            while not problem:
                await anyio.sleep(_WATCH_SECONDS)
                problem = await _find_repetition(opencode, child)
            tokens = 0
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        try:
            answer = await opencode.request("POST", path, body=body, seconds=seconds)
        except DisconnectedError as error:
            lost = error
        except RemoteError as error:
            problem = str(error)
        tasks.cancel_scope.cancel()
    if lost is not None:
        raise lost
    if answer is None:
        raise ModelError(f"the model {model} gave no answer: {problem}", is_final=False, tokens=tokens)
    return _read_answer(answer, model)


async def _find_repetition(opencode: OpenCode, child: str) -> str:
    """Return why OpenCode repeats the request of a child; empty if it does not."""
    try:
        state = (await opencode.find_active()).get(child, {})
    except RemoteError:
        return ""  # The request itself has a time limit.
    return _shorten(state.get("message")) if state.get("type") == "retry" else ""


def _read_answer(answer: Any, model: Model) -> ModelAnswer:
    match answer:
        case {"info": {"error": {"name": str(name)} as error} as info}:
            data = error.get("data")
            reason = data.get("message") if isinstance(data, Mapping) else None
            is_final = isinstance(data, Mapping) and data.get("isRetryable") is False
            message = f"the model {model} failed: {_shorten(reason or name)}"
            raise ModelError(message, is_final=is_final, tokens=_count_tokens(info.get("tokens")))
        case {"info": Mapping() as info, "parts": list(parts)}:
            text, tokens = "\n".join(find_texts(parts)), _count_tokens(info.get("tokens"))
            if not text.strip():
                raise ModelError(f"the model {model} gave an empty answer", is_final=False, tokens=tokens)
            return ModelAnswer(text=text, tokens=tokens)
    message = f"OpenCode passed on the answer of the model {model} in an unknown form"
    raise ModelError(message, is_final=False, tokens=None)


def _shorten(reason: object) -> str:
    """Return the first line of OpenCode's reason, without secrets. Later lines may contain texts of the session."""
    lines = str(reason or "it failed").splitlines()
    # Providers quote the key that they refuse. Redact before truncating, because a truncated secret looks like none.
    return redact(replace_surrogates(lines[0]))[0][:_LONGEST_REASON] if lines else "it failed"


def _count_tokens(tokens: Any) -> int:
    """Return the tokens of an answer. Cached tokens count too, because they cost something."""
    if not isinstance(tokens, Mapping):
        return 0
    cache = tokens.get("cache")
    counts = [tokens.get(name) for name in ("input", "output", "reasoning")]
    counts += [cache.get(name) for name in ("read", "write")] if isinstance(cache, Mapping) else []
    return sum(round(count) for count in counts if isinstance(count, int | float) and count > 0)


async def _remove(opencode: OpenCode, child: str) -> bool:
    """Abort and delete a child. Return whether it is gone."""
    try:
        await opencode.request("POST", session_path(child, "abort"), seconds=_END_SECONDS)
        await opencode.request("DELETE", session_path(child), seconds=_END_SECONDS)
    except NotThereError:
        return True
    except RemoteError as error:
        _log.warning("session %s of opencode-memory is deleted later: %s", child, error)
        return False
    return True

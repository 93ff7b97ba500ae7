"""How a tool is declared: a typed function, from which its name, its description and its schema are taken.

Arguments are checked before anything runs: unknown ones, wrong types and broken limits are named, so that a model can
correct itself. Schemas are sent without what a model does not need (titles, nulls), for context costs money.
"""

from __future__ import annotations

import inspect
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

from opencode_memory.errors import InvalidInputError, OpencodeMemoryError
from opencode_memory.text.display import clean
from opencode_memory.text.json_values import to_json
from opencode_memory.text.suggest import did_you_mean
from opencode_memory.text.unicode import replace_surrogates

if TYPE_CHECKING:
    from pydantic import BaseModel

    from opencode_memory.server.answers import Answer
    from opencode_memory.server.call import Call
    from opencode_memory.server.server_state import ServerState

Run = Callable[..., "Answer"]
_MOST_PROBLEMS: Final = 5
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        name: What clients call it.
        about: What it does and when to use it, for a model.
        run: Gets the call first and then its arguments by name.
        reads: Whether it changes nothing.
        destroys: Whether what it does may take something away.
        repeats: Whether doing it twice is doing it once.
        reaches_out: Whether it talks to anything but the store and files.
        core: Whether it belongs to the few that ``--tools core`` offers.
        answers: JSON schema of the data it answers.
    """

    name: str
    about: str
    run: Run
    reads: bool = False
    destroys: bool = False
    repeats: bool = False
    reaches_out: bool = False
    core: bool = False
    answers: Mapping[str, Any] | None = None

    @cached_property
    def model(self) -> type[BaseModel]:
        """What checks the arguments."""
        from pydantic import BeforeValidator, ConfigDict, create_model  # noqa: PLC0415  not before a tool is asked for

        fields: dict[str, Any] = {}
        hints = get_type_hints(self.run, include_extras=True)
        for name, parameter in list(inspect.signature(self.run).parameters.items())[1:]:
            kind = hints[name]
            if _takes_a_list(kind):
                kind = Annotated[kind, BeforeValidator(_as_list)]
            fields[name] = (kind, ... if parameter.default is inspect.Parameter.empty else parameter.default)
        return create_model(self.name, __config__=ConfigDict(extra="forbid"), **fields)

    @cached_property
    def input(self) -> dict[str, Any]:
        """The JSON schema of the arguments, as it is sent."""
        schema: dict[str, Any] = _compact(self.model.model_json_schema())
        return schema

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as the function takes them.

        Raises:
            InvalidInputError: One of them is unknown, missing, or not acceptable; the message names each.
        """
        from pydantic import ValidationError  # noqa: PLC0415  as above

        # Models write null or nothing for what they leave out.
        required = self.input.get("required", ())
        given = {name: value for name, value in arguments.items() if name in required or value not in (None, "")}
        try:
            checked = self.model.model_validate(given)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            told = [
                self._told(problem["type"], problem["loc"], problem["msg"]) for problem in problems[:_MOST_PROBLEMS]
            ]
            field = str(problems[0]["loc"][0]) if problems[0]["loc"] else self.name
            raise InvalidInputError("; ".join(told), field=field) from error
        return {name: getattr(checked, name) for name in given}

    def _told(self, kind: str, place: tuple[int | str, ...], message: str) -> str:
        name = ".".join(map(str, place)) or "arguments"
        if kind == "extra_forbidden":
            return f"{name[:80]}: {self.name} has no such argument; {did_you_mean(name[:80], self.model.model_fields)}"
        return describe_problem(name, kind, message)


def describe_problem(field: str, kind: str, message: str) -> str:
    """Describe one problem that pydantic found: which field it concerns and what is wrong.

    Args:
        field: Name of the field.
        kind: Pydantic's type of the problem.
        message: Pydantic's message.
    """
    return f"{field}: is required" if kind == "missing" else f"{field}: {message[:1].lower()}{message[1:]}"


def tool(
    *,
    name: str | None = None,
    reads: bool = False,
    destroys: bool = False,
    repeats: bool = False,
    reaches_out: bool = False,
    core: bool = False,
    answers: Mapping[str, Any] | None = None,
) -> Callable[[Run], Tool]:
    """Declare a function as a tool; its docstring is what a model reads, so it says when to use it and no more.

    The tool is called like the function, unless ``name`` says what no function can be called.
    """

    def declare(run: Run) -> Tool:
        return Tool(
            name=name or run.__name__,
            about=inspect.cleandoc(run.__doc__ or ""),
            run=run,
            reads=reads,
            destroys=destroys,
            repeats=repeats,
            reaches_out=reaches_out,
            core=core,
            answers=answers,
        )

    return declare


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one tool call, as text that is safe to send.

    Attributes:
        text: The answer for the model; if the call failed, the reason and what to do next.
        data: The answer for programs, as JSON values; empty if the call failed.
        is_error: Whether the call failed.
    """

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    is_error: bool = False


def run(
    state: ServerState,
    call: Callable[[], Call],
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    refresh_project: Callable[[], None],
) -> Outcome:
    """Run a tool on this thread. Never raises: every failure becomes an outcome.

    Args:
        state: The server's state, which counts the call.
        call: Builds the call; runs only if the arguments are valid.
        tool: The tool.
        arguments: Its arguments as the client sent them.
        refresh_project: Updates the identity of the client's project; runs only after a write.
    """
    begun = time.perf_counter()
    label = "error"
    try:
        checked = tool.check(arguments)
        answer = tool.run(call(), **checked)
        # A client may have stored a lone surrogate. Sent as it is, it would end the connection.
        data = json.loads(replace_surrogates(json.dumps(to_json(answer.data), ensure_ascii=False)))
        outcome = Outcome(replace_surrogates(answer.text), data)
        label = "ok"
    except OpencodeMemoryError as error:
        label = "refused"
        return Outcome(replace_surrogates(format_error(error)), is_error=True)
    except Exception:  # noqa: BLE001  a bug in one tool must not end the connection
        # The client does not get the text of the exception, because it may contain anything.
        _log.exception("the tool %s failed", tool.name)
        return Outcome(
            f"{tool.name} failed because of an internal error (see the server's log)."
            " Stored memories are not affected.",
            is_error=True,
        )
    finally:
        state.count_call(tool.name, label, time.perf_counter() - begun)
    if not tool.reads:
        finish_write(state, refresh_project)
    return outcome


def finish_write(state: ServerState, refresh_project: Callable[[], None]) -> None:
    """Refresh the client's project and wake the worker, after a call that may have written."""
    try:
        refresh_project()
    except Exception:  # noqa: BLE001  the write is acknowledged; the next one refreshes the project
        _log.warning("the identity of a client's project could not be refreshed", exc_info=True)
    state.wake_worker()


def format_error(error: OpencodeMemoryError) -> str:
    """Format an error for a model: what happened, and what to do next."""
    message = clean(str(error))
    return f"{message}. Next: {error.hint}" if error.hint else message


def shape(**kinds: str) -> dict[str, Any]:
    """Return the JSON schema of an object with these members, by name and type; there may be more."""
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": [*kinds]}


def _takes_a_list(kind: Any) -> bool:
    return "list[" in str(kind)


def _as_list(value: Any) -> Any:
    """Models often write a list as text: ``["a", "b"]``, or ``a`` where there is one."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            read = json.loads(value)
        except (json.JSONDecodeError, RecursionError):
            return [value]
        return read if isinstance(read, list) else [value]
    return [value]


def _compact(schema: Any) -> Any:
    """Leave out what tells a model nothing."""
    if isinstance(schema, list):
        return [_compact(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" in schema:
        properties = {name: _compact(member) for name, member in schema["properties"].items()}
        rest = {key: _compact(value) for key, value in schema.items() if key in ("type", "required")}
        return {"type": "object", "properties": properties} | rest
    kept = {
        key: _compact(value)
        for key, value in schema.items()
        if key not in ("title", "additionalProperties") and not (key == "default" and value in (None, [], ""))
    }
    choices = kept.pop("anyOf", None)
    if choices is None:
        return kept
    choices = [choice for choice in choices if choice != {"type": "null"}]
    return choices[0] | kept if len(choices) == 1 else {"anyOf": choices} | kept

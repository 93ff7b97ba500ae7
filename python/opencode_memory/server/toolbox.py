"""Declaration and execution of tools. A tool is a typed function; its name, description and schema come from it.

Arguments are validated before the function runs. An error names each unknown argument, wrong type and exceeded limit,
so that the model can correct the call. Schemas are sent without titles and nulls, because every token of context costs
money.
"""

from __future__ import annotations

import inspect
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

from opencode_memory.errors import InvalidInputError, OpencodeMemoryError
from opencode_memory.text.display import clean
from opencode_memory.text.json_values import to_json
from opencode_memory.text.problems import describe_problem
from opencode_memory.text.suggest import did_you_mean
from opencode_memory.text.unicode import replace_surrogates

if TYPE_CHECKING:
    from pydantic import BaseModel

    from opencode_memory.server.answers import Answer
    from opencode_memory.server.call import Call
    from opencode_memory.server.server_state import ServerState

Run = Callable[..., "Answer"]
_MAX_PROBLEMS: Final = 5
_PANICS: Final = "pyo3_runtime"
"""The module of the exception into which PyO3 turns a panic. It cannot be imported."""
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        name: Name for clients.
        about: Description for the model: the effect of the tool and when to use it.
        run: The function; takes the call first, then its arguments by name.
        reads: Whether the tool only reads.
        destroys: Whether the tool may remove or hide data.
        repeats: Whether the tool is idempotent.
        reaches_out: Whether the tool uses more than the store and files, for example the network.
        core: Whether ``--tools core`` offers the tool.
        answers: JSON schema of the answer's data.
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
        """Pydantic model of the arguments."""
        from pydantic import BeforeValidator, ConfigDict, create_model  # noqa: PLC0415  only when a tool is used

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
        """JSON schema of the arguments, as it is sent to clients."""
        schema: dict[str, Any] = _compact(self.model.model_json_schema())
        return schema

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Validate the arguments and return them converted for the function.

        Raises:
            InvalidInputError: An argument is unknown, missing or invalid; the message names each.
        """
        from pydantic import ValidationError  # noqa: PLC0415  as above

        # Models often send null or an empty text instead of omitting an argument.
        required = self.input.get("required", ())
        given = {name: value for name, value in arguments.items() if name in required or value not in (None, "")}
        try:
            checked = self.model.model_validate(given)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            described = [
                self._describe(problem["type"], problem["loc"], problem["msg"]) for problem in problems[:_MAX_PROBLEMS]
            ]
            field = str(problems[0]["loc"][0]) if problems[0]["loc"] else self.name
            raise InvalidInputError("; ".join(described), field=field) from error
        return {name: getattr(checked, name) for name in given}

    def _describe(self, kind: str, path: tuple[int | str, ...], message: str) -> str:
        name = ".".join(map(str, path)) or "arguments"
        if kind == "extra_forbidden":
            known = self.model.model_fields
            hint = did_you_mean(name[:80], known) if known else "it takes none"
            return f"{name[:80]}: {self.name} has no such argument; {hint}"
        return describe_problem(name, kind, message)


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
    """Declare a function as a tool.

    Its docstring is the description for the model, so it says only when to use the tool.

    Args:
        name: Name of the tool, if it is not a valid name of a function.
        reads: Whether the tool only reads.
        destroys: Whether the tool may remove or hide data.
        repeats: Whether the tool is idempotent.
        reaches_out: Whether the tool uses more than the store and files.
        core: Whether ``--tools core`` offers the tool.
        answers: JSON schema of the answer's data.
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
class ToolOutcome:
    """Result of one tool call, as text that is safe to send.

    Attributes:
        text: The answer for the model; if the call failed, the reason and what to do next.
        encoded: The answer for programs, as the text of a JSON object; empty if the call failed.
        is_error: Whether the call failed.
    """

    text: str
    encoded: str = "{}"
    is_error: bool = False

    @property
    def data(self) -> dict[str, Any]:
        """The answer for programs, as JSON values."""
        data: dict[str, Any] = json.loads(self.encoded)
        return data


def run(
    state: ServerState,
    call: Callable[[], Call],
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    refresh_project: Callable[[], None],
) -> ToolOutcome:
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
        encoded = replace_surrogates(json.dumps(to_json(answer.data), ensure_ascii=False))
        outcome = ToolOutcome(replace_surrogates(answer.text), encoded)
        label = "ok"
    except OpencodeMemoryError as error:
        label = "refused"
        return ToolOutcome(replace_surrogates(format_error(error)), is_error=True)
    except BaseException as error:  # a bug in one tool must not end the connection
        # A panic of the engine is no ``Exception``. It would end the sessions of all clients.
        if not isinstance(error, Exception) and type(error).__module__ != _PANICS:
            raise
        # The client does not get the text of the exception, because it may contain anything.
        _log.exception("the tool %s failed", tool.name)
        return ToolOutcome(
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
    """Return the JSON schema of an object with these members, by name and type. Further members are allowed."""
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": [*kinds]}


def _takes_a_list(kind: Any) -> bool:
    return "list[" in str(kind)


def _as_list(value: Any) -> Any:
    """Convert a text to a list. Models often write a list as text: ``["a", "b"]``, or ``a`` for a single item."""
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
    """Remove the parts of a schema that do not help a model."""
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

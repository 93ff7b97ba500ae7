"""Turns errors of pydantic into sentences for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


def describe_problem(field: str, kind: str, message: str) -> str:
    """Return the sentence that names a field and its problem.

    Args:
        field: Name of the field.
        kind: Pydantic's type of the problem.
        message: Pydantic's message.
    """
    return f"{field}: is required" if kind == "missing" else f"{field}: {message[:1].lower()}{message[1:]}"


def describe_first(error: ValidationError, whole: str) -> tuple[str, str]:
    """Return the field of the first problem, and the sentence of ``describe_problem``.

    Args:
        error: The error.
        whole: Name of the value itself, for a problem that concerns no field of it.
    """
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    names = [part for part in problem["loc"] if isinstance(part, str)]
    field = names[-1] if names else whole
    return field, describe_problem(field, problem["type"], problem["msg"])

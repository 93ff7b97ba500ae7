"""Strict parser of JSON that another program sent."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str) -> Any:
    """Parse JSON strictly: ``NaN``, duplicate names and too deep nesting are errors.

    >>> parse_json('{"a": [1, null]}')
    {'a': [1, None]}

    Raises:
        ValueError: The text is not valid JSON.
    """
    try:
        return json.loads(text, object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("JSON object has a duplicate name")
    return members


def _reject_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")

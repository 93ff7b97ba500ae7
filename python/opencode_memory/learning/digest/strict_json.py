"""JSON as its standard has it: ``NaN``, doubled names and bottomless nesting are errors too."""

from __future__ import annotations

import json
from typing import Any


def parse(text: str) -> Any:
    """Read a JSON text.

    >>> parse('{"a": [1, null]}')
    {'a': [1, None]}

    Raises:
        ValueError: It is none.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("JSON that is nested too deep") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("JSON with a name twice in one object")
    return members


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")

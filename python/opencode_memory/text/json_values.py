"""Converts the public dataclasses to plain JSON, for ``--json`` and the answers of tools.

The keys are the names of the API's fields, so they are as stable as the API. Times are ISO 8601 in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import PurePath
from typing import Any, Final

_SEPARATORS: Final = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


def to_json(value: Any) -> Any:
    """Convert a value of the API for ``json.dumps``.

    >>> to_json({"path": PurePath("a/b"), "tags": ("x",)})
    {'path': 'a/b', 'tags': ['x']}
    """
    kind = type(value)
    # Most values are of these types. Checking them first takes a fifth of the time of the checks below.
    if kind in _PLAIN:
        return value
    if kind is list or kind is tuple:
        return [to_json(member) for member in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {str(key): to_json(member) for key, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(member) for member in value]
    return str(value) if isinstance(value, StrEnum | PurePath) else value


def escape_separators(encoded: str) -> str:
    r"""Escape NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR in encoded JSON, where they occur only inside of strings.

    JSON allows them unescaped, but clients that split lines with ``str.splitlines`` would cut the document there.

    >>> escape_separators('"a\u2028b"')
    '"a\\u2028b"'
    """
    return encoded.translate(_SEPARATORS)

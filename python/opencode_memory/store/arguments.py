"""Validates arguments of the public API.

Limits are the engine's. This module refuses what the engine cannot even be given, for example another type or text
that is not Unicode, and names the field.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final, cast

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import ALL_PROJECTS, Memory, ProjectIdentity
from opencode_memory.text.clock import to_ms
from opencode_memory.text.unicode import replace_surrogates

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_SECONDS: Final = 1e12


def milliseconds(value: datetime | str | int | None, *, field: str, zone: tzinfo | None = None) -> int | None:
    """Convert a time to UTC milliseconds.

    Args:
        value: An aware or naive ``datetime``, ISO 8601 text, or UTC milliseconds.
        field: Named in the error.
        zone: Zone of times that name none; None for this machine's.

    Raises:
        InvalidInputError: The value has another type, is not a date, or is outside the calendar.
    """
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    moment = value
    try:
        if isinstance(moment, str):
            moment = datetime.fromisoformat(moment.strip())
        if not isinstance(moment, datetime):
            raise InvalidInputError(
                f"{field}: {type(value).__name__} is not a time; give a datetime, ISO 8601 text or UTC milliseconds",
                field=field,
            )
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()
        return to_ms(moment)
    except (ValueError, OverflowError, OSError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"{field}: {value!r} is not a time; write 2026-03-31 or 2026-03-31T14:00", field=field
        ) from error


def moment(value: int) -> datetime:
    """Convert UTC milliseconds to a datetime."""
    # Not fromtimestamp(value / 1000): a float does not hold the milliseconds of the year 9999.
    return _EPOCH + timedelta(0, 0, 0, value)  # By position, which is faster than by name.


def text(value: object, *, field: str) -> str:
    """Require text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{field}: must be text, not {type(value).__name__}", field=field)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"{field}: has a lone surrogate at character {error.start}, which is not valid text", field=field
            ) from error
    return value


def optional_text(value: object, *, field: str) -> str | None:
    """As ``text``, or None."""
    return None if value is None else text(value, field=field)


def texts(values: object, *, field: str) -> list[str]:
    """Require a sequence of texts; refuse a single text, although it could be iterated."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{field}: must be a list of texts", field=field)
    return [text(value, field=field) for value in values]


def memories(values: object, *, field: str) -> list[Memory]:
    """Require a sequence of memories."""
    found = list(values) if isinstance(values, Iterable) else [values]
    for value in found:
        if not isinstance(value, Memory):
            raise InvalidInputError(f"{field}: must be a list of memories, not of {type(value).__name__}", field=field)
    return cast("list[Memory]", found)


def whole(value: object, *, field: str) -> int | None:
    """Require an integer that the engine can hold, or None."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInputError(f"{field}: must be a whole number, not {type(value).__name__}", field=field)
    if not -(2**63) <= value < 2**63:
        raise InvalidInputError(f"{field}: is outside of 64 bits", field=field, limit="2**63 - 1")
    return value


def count(value: object, *, field: str, least: int = 0) -> int:
    """Require an integer that is at least ``least``."""
    number = whole(value, field=field)
    if number is None or number < least:
        raise InvalidInputError(f"{field}: {number} is not at least {least}", field=field, limit=f"at least {least}")
    return number


def number(value: object, *, field: str) -> float | None:
    """Require a number, or None."""
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidInputError(f"{field}: must be a number, not {type(value).__name__}", field=field)
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidInputError(f"{field}: is too large for a number", field=field) from error


def flag(value: object, *, field: str) -> bool:
    """Require true or false. Other values are refused, because the truth value of "no" would be true."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{field}: must be true or false, not {type(value).__name__}", field=field)
    return value


def path(value: object, *, field: str) -> Path:
    """Require the path of a file or folder; ``~`` is the home folder."""
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str) or not given:
        raise InvalidInputError(f"{field}: must be a path, not {value!r:.80}", field=field)
    try:
        if b"\0" in os.fsencode(given):
            raise InvalidInputError(f"{field}: has a NUL byte", field=field)
        return Path(given).expanduser()
    except (UnicodeEncodeError, RuntimeError) as error:
        raise InvalidInputError(f"{field}: {given!r:.80} cannot be a path: {error}", field=field) from error


def folders(values: object, *, field: str) -> tuple[str, ...]:
    """Require a sequence of folders; return their absolute paths, with slashes, without symbolic links resolved."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{field}: must be a list of paths", field=field)
    return tuple(Path(os.path.normpath(path(value, field=field).absolute())).as_posix() for value in values)


def path_or_stream(value: object, *, field: str, method: str) -> Any:
    """Require a path, or a text stream that has ``method``."""
    return value if callable(getattr(value, method, None)) else path(value, field=field)


def project_name(value: object) -> str | None:
    """Require the name of one project, or None."""
    name = optional_text(value, field="project")
    if name is not None and (not name.strip() or name == ALL_PROJECTS):
        raise InvalidInputError(
            f"project: {name!r} is not the name of a project; leave it out instead", field="project"
        )
    return name


def identity(value: object) -> tuple[list[str], list[str], str | None]:
    """Require a project identity."""
    if not isinstance(value, ProjectIdentity):
        raise InvalidInputError(f"identity: must be a ProjectIdentity, not {type(value).__name__}", field="identity")
    return (
        texts(value.remotes, field="remotes"),
        texts(value.root_commits, field="root_commits"),
        optional_text(value.folder, field="folder"),
    )


def json_object(value: object, *, field: str) -> str | None:
    """Write a mapping as JSON; None for None and for an empty mapping."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{field}: must be a mapping, not {type(value).__name__}", field=field)
    return json_text(dict(value), field=field) if value else None


def json_text(value: object, *, field: str) -> str:
    """Write any JSON value as text.

    Raises:
        InvalidInputError: The value has a part that JSON cannot hold.
    """
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{field}: cannot be written as JSON: {error}", field=field) from error
    return text(written, field=field)


def ttl_ms(seconds: float) -> int:
    """Turn a life in seconds into milliseconds.

    Raises:
        InvalidInputError: It is not positive, or ends after the year 9999.
    """
    if seconds >= _LONGEST_SECONDS:
        message = f"ttl_seconds: {seconds:.15g} ends after the year 9999"
        raise InvalidInputError(message, field="ttl_seconds", limit="before the year 10000")
    if not seconds > 0:
        raise InvalidInputError(f"ttl_seconds: {seconds} must be more than 0", field="ttl_seconds", limit="more than 0")
    return max(1, round(seconds * 1000))


def ids(value: str | Sequence[str]) -> list[str]:
    """Return one id or several as a list."""
    return [text(value, field="id")] if isinstance(value, str) else texts(value, field="ids")


def readable(query: object) -> str:
    """Replace parts of a query that are not valid text, so that the rest can be answered."""
    if not isinstance(query, str):
        raise InvalidInputError(f"query: must be text, not {type(query).__name__}", field="query")
    return replace_surrogates(query)

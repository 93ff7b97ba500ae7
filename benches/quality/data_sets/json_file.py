"""Reads the JSON of a question set and names the path of a file that is missing, broken or different."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..conversations import DataError


def read_json(path: Path) -> Any:
    """Return the content of a file.

    Raises:
        DataError: The file does not exist or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{path} is not there") from error
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error


@contextmanager
def layout_of(title: str, path: Path) -> Iterator[None]:
    """Convert errors that come from an unexpected shape of JSON into a ``DataError`` that names the file."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} has not the layout of {title}: {error!r}") from error

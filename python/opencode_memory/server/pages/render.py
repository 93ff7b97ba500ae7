"""Renders pages to HTML, with the headers that keep everything foreign out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined

from opencode_memory.learning.review import version_of
from opencode_memory.models import Hit
from opencode_memory.server.pages import ROOT
from opencode_memory.server.pages.asked import LONGEST
from opencode_memory.text.clock import age
from opencode_memory.text.display import clean
from opencode_memory.text.formatting import format_count, short_id

_HERE: Final = files("opencode_memory.server.pages")
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # Not "no-referrer": browsers would then send forms with the origin "null", which the fence refuses.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STATIC: Final[Mapping[str, str]] = {"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml"}


def render(template: str, values: Mapping[str, Any], *, at: datetime) -> str:
    """Return a page as HTML. All values are escaped, and characters that could hide text are replaced."""
    return _environment().get_template(template).render({"at": at, "root": ROOT, **values})


@cache
def static_file(name: str) -> bytes | None:
    """Return a file of the pages; None if there is none of this name."""
    return (_HERE / "static" / name).read_bytes() if name in STATIC else None


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_clean,
    )
    environment.filters |= {"short": short_id, "version": version_of, "who": lambda trust: trust.writer}
    environment.globals |= {
        "age": age,
        "count": format_count,
        "is_memory": lambda hit: isinstance(hit, Hit),
        "longest": LONGEST,
    }
    return environment


def _clean(value: object) -> object:
    """Replace for example marks of direction, with which a text could look as if it said something else.

    Values that a template has escaped stay as they are: HTML of the templates, and fields that the user filled in.
    """
    return clean(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _load(name: str) -> str:
    return (_HERE / "templates" / name).read_text(encoding="utf-8")

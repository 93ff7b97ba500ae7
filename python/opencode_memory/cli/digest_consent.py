"""Consent to digests: ``setup`` asks once, with the cost in tokens. Without an answer nothing is sent."""

from __future__ import annotations

import sys
from typing import Final

import click

from opencode_memory.cli.context import Invocation
from opencode_memory.config.sections import Digest

DIGESTS: Final = (Digest.SMALL.value, Digest.SESSION.value, Digest.OFF.value)
_KEY: Final = "learning.digest"
_LATER: Final = "later"
_ANSWERS: Final = (*DIGESTS, _LATER)
_QUESTION: Final = """
A digest lets a model of OpenCode read each session after it rests, and keep what lasts: decisions, rules, causes.
Sent are your messages and the last answer before each, without secrets and <private> parts, to a model that OpenCode
is connected to. It costs one request a session: mostly 2,000 to 8,000 tokens, and at most {tokens:,} a day.
  small     OpenCode's small_model; if OpenCode has none, no session is sent
  session   the model of the session
  off       never
  later     decide later; until then nothing is sent
"""
_HOW: Final = (
    "No language model reads your sessions; rules learn from them. "
    "To let OpenCode's small model read each one as well: opencode-memory config set learning.digest small"
)


def choose_digest(run: Invocation, chosen: str | None) -> list[str]:
    """Record which model digests sessions; return notes for the user.

    The user is asked once: an answer other than ``later`` is written to the configuration file. Nobody is asked if the
    key is already set, if a server digests sessions, or if no user is there.

    Args:
        run: The command.
        chosen: The value of the option; None to ask.
    """
    from opencode_memory.config.edit import set_value  # noqa: PLC0415  not needed for help
    from opencode_memory.learning.digest.settings import uses_server  # noqa: PLC0415  as above

    config = run.config
    if chosen is None:
        if config.origins[_KEY] != "default" or uses_server(config.learning) or not config.learning.enabled:
            return []
        if run.out.as_json or not sys.stdin.isatty():
            return [_HOW]
        click.echo(_QUESTION.format(tokens=config.learning.digest_tokens_per_day), err=True)
        chosen = click.prompt("Digest sessions", type=click.Choice(_ANSWERS), default=_LATER, err=True)
        if chosen == _LATER:
            return [_HOW]
    set_value(config.file, _KEY, chosen, environment=config.environment)
    done = "Sessions are never digested" if chosen == Digest.OFF else f"Sessions are digested ({chosen} model)"
    return [f"{done}; this is {_KEY} in {config.file}."]

"""Example session for ``learning test``: what a digest should find in it is known."""

from __future__ import annotations

from typing import Final

from opencode_memory.learning.digest.digester import DigestRequest, build_request
from opencode_memory.learning.digest.transcript import build_transcript
from opencode_memory.learning.extraction.events import AssistantText, Event, Message, UserText
from opencode_memory.learning.extraction.session_state import SessionState

EXPECTED: Final = (
    "Invoices are rendered with Typst, not LaTeX (a decision; the quote says only 'option B').",
    "Amounts are integers in cents (a standing order).",
    "The fonts are read only when the service starts (a finding of the agent).",
)
_SESSION: Final[tuple[Event, ...]] = (
    UserText(text="The invoice preview takes ages. How else could we render invoices?"),
    AssistantText(text="Two ways. Option A: keep LaTeX and cache the result. Option B: Typst, which renders in 50 ms."),
    UserText(text="option B please, we can live without the LaTeX packages"),
    AssistantText(
        text="Done. It first failed in the container, because the fonts are read only when the service starts."
    ),
    UserText(text="ok. and from now on amounts are always integers in cents, never floats"),
    AssistantText(text="Understood, I changed the two places that used floats."),
    UserText(text="great, can you fix the typo in the header too?"),
    AssistantText(text="Fixed."),
)


def build_example() -> DigestRequest:
    """Build the request for the example session."""
    told = [
        Message(id=f"example_{number}", at_ms=number, events=(event,), digest=str(number))
        for number, event in enumerate(_SESSION, start=1)
    ]
    return build_request(build_transcript(told), state=SessionState())

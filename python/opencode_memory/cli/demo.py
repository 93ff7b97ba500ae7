"""``opencode-memory demo``: shows recall on example data, in a temporary store.

The demo reads the shipped notes and conversation, asks questions, and explains each answer.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from opencode_memory import demo as examples
from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.memories import print_hits
from opencode_memory.cli.output import bold, dim
from opencode_memory.cli.progress import progress
from opencode_memory.context.results import Result, present
from opencode_memory.models import Category, NewMemory
from opencode_memory.text.formatting import format_count

_FOLDER: Final = Path(examples.__file__).parent
_PROJECT: Final = "example.com/harbor/shop"
_HITS: Final = 2


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the ability of recall that it demonstrates."""

    text: str
    shows: str


QUESTIONS: Final = (
    Question("may I deploy on Friday?", "by words"),
    Question("how do I undo a bad release?", "by meaning: the answer shares no word with the question"),
    Question("parseOrderTotal", "by an identifier"),
    Question("how do we give customers their money back?", "from a conversation"),
    Question("what is the capital of Mongolia?", "no answer, because no memory is relevant"),
)


@command("demo")
def show(run: Invocation) -> None:
    """Try recall: store example notes and a conversation in a temporary store, and ask questions."""
    import opencode_memory  # noqa: PLC0415  loaded only when it runs
    from opencode_memory.notes.folder import ingest  # noqa: PLC0415  loaded only when it runs

    with (
        tempfile.TemporaryDirectory(prefix="opencode-memory-demo-") as folder,
        opencode_memory.open(folder, project=_PROJECT, background=False) as store,
    ):
        notes = _FOLDER / "notes"
        report = ingest(store, notes, top=notes)
        messages = store.remember_many(read_conversation(_FOLDER / "conversation.jsonl"))
        with progress("embedding", quiet=run.out.as_json) as show:
            store.indexes.embed_pending(progress=show)
        answers = [
            (question, present(store, store.recall(question.text, limit=_HITS, explain=True))) for question in QUESTIONS
        ]
    if run.out.as_json:
        run.out.json(
            {"notes": report, "messages": len(messages), "answers": [_to_fields(*answer) for answer in answers]}
        )
        return
    run.out.line(
        f"Remembered {format_count(report.added, 'section')} of {format_count(report.files, 'note')} and "
        f"{format_count(len(messages), 'message')} of a conversation, in a temporary store."
    )
    for question, results in answers:
        run.out.line()
        run.out.line(bold(f"> {question.text}"), dim(f"   ({question.shows})"))
        if results:
            print_hits(run.out, results, at=run.started_at, in_detail=False)
        else:
            run.out.line("    No memory is relevant.")
    run.out.line()
    run.out.line("Next: opencode-memory ingest NOTES, opencode-memory remember TEXT, opencode-memory recall TEXT")


def read_conversation(file: Path) -> Iterator[NewMemory]:
    """Read a conversation: one message per line as a JSON object, grouped by session."""
    messages = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for session, members in groupby(messages, key=lambda message: message["session"]):
        for position, message in enumerate(members):
            yield NewMemory(
                content=message["content"],
                category=Category.CONVERSATION,
                session=session,
                position=position,
                speaker=message["speaker"],
                time=message["time"],
            )


def _to_fields(question: Question, results: list[Result]) -> dict[str, object]:
    return {"question": question.text, "shows": question.shows, "hits": [result.hit for result in results]}

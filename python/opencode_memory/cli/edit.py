"""``opencode-memory edit``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import click

from opencode_memory._core import redact
from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.curate import name_expired
from opencode_memory.cli.editor import edit_text, keep_if_refused
from opencode_memory.cli.output import dim
from opencode_memory.cli.parameters import CategoryType, id_argument, read_text
from opencode_memory.errors import ConflictError, InvalidInputError
from opencode_memory.models import Category
from opencode_memory.text.clock import parse_due
from opencode_memory.text.formatting import short_id

_NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """A change of a memory; ``changes`` holds the new values by field."""

    id: str
    in_editor: bool
    changes: dict[str, Any]


@command("edit")
@id_argument
@click.argument("text", nargs=-1)
@click.option("--content", "--text", "written", metavar="TEXT", help="New text, instead of TEXT.")
@click.option("--editor", "in_editor", is_flag=True, help="Edit the text in $EDITOR.")
@click.option("-c", "--category", type=CategoryType(), help="New category.")
@click.option("--topic", metavar="TOPIC|none", help="New topic.")
@click.option(
    "-t", "--tag", "tags", multiple=True, metavar="TAG|none", help="New labels, replacing all; may be repeated."
)
@click.option(
    "-e",
    "--entity",
    "entities",
    multiple=True,
    metavar="NAME|none",
    help="New subjects, replacing all; may be repeated.",
)
@click.option("--expires", metavar="WHEN|none", help="New expiry time: 2026-12-31, 30d.")
def edit(
    run: Invocation,
    *,
    id: str,
    text: tuple[str, ...],
    written: str | None,
    in_editor: bool,
    category: Category | None,
    topic: str | None,
    tags: tuple[str, ...],
    entities: tuple[str, ...],
    expires: str | None,
) -> None:
    """Change the TEXT of a memory (one or more words, or - for standard input), or its other fields."""
    changes: dict[str, Any] = {}
    if text and written is not None:
        raise click.UsageError("give the text once: as TEXT, or with --content", click.get_current_context())
    if text or written is not None:
        changes["content"] = read_text(text) if written is None else written
    if category is not None:
        changes["category"] = category
    if topic is not None:
        changes["topic"] = None if topic == _NONE else topic
    if tags:
        changes["tags"] = () if tags == (_NONE,) else tags
    if entities:
        changes["entities"] = () if entities == (_NONE,) else entities
    if expires is not None:
        changes["expires_at"] = None if expires == _NONE else _parse_end(expires, at=run.started_at)
    if not changes and not in_editor:
        raise click.UsageError("nothing to change: give a text, --editor, or an option", click.get_current_context())
    change(run, EditRequest(id=id, in_editor=in_editor, changes=changes))


def change(run: Invocation, request: EditRequest) -> None:
    """Change a memory and print the result."""
    with run.open_store() as store:
        changes = dict(request.changes)
        if request.in_editor:
            shown = store.get(request.id).content
            changes["content"] = _edit_text(request.id, shown)
            with keep_if_refused(changes["content"]):
                now = store.get(request.id).content
            if now != shown:
                raise _explain_conflict(request.id, changes["content"])
        with keep_if_refused(changes["content"] if request.in_editor else None):
            memory = store.edit(request.id, **changes)
    secrets = redact(changes.get("content", ""))[1]
    if run.out.as_json:
        run.out.json({"memory": memory, "redactions": secrets})
        return
    run.out.line("Changed. ", dim(short_id(memory.id)))
    if secrets:
        run.out.line(f"Not stored, because it is secret: {', '.join(secrets)}.")
    name_expired(run, [memory])


def _explain_conflict(id_: str, text: str) -> ConflictError:
    error = ConflictError(f"memory {id_} got another text while the editor was open; yours was not stored:\n{text}")
    error.hint = f"see the other one with opencode-memory show {id_}, then run the edit again"
    return error


def _parse_end(text: str, *, at: datetime) -> datetime:
    try:
        return parse_due(text, field="--expires", at=at)
    except InvalidInputError as error:
        error.hint = "to hide the memory at once, use archive"
        raise


def _edit_text(id_: str, text: str) -> str:
    edited = edit_text(text, field="--editor", instead=f"give the new text: opencode-memory edit {id_} TEXT")
    if edited is not None and not text.endswith("\n"):
        # Editors add a line break to the end of a file, which is not part of the memory.
        edited = edited.removesuffix("\n")
    if edited is None or edited == text:
        raise InvalidInputError("the text was not changed in the editor", field="--editor")
    return edited

"""``opencode-memory projects``: lists, renames and merges projects."""

from __future__ import annotations

import json
from typing import Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.parameters import confirm, yes_option
from opencode_memory.entities.forge import home_of
from opencode_memory.text.display import one_line
from opencode_memory.text.formatting import format_count
from opencode_memory.text.json_values import to_json

_VALUE_BYTES: Final = 80


@command("list")
def list_projects(run: Invocation) -> int:
    """List the projects, and mark the project of the folder."""
    with run.open_store() as store:
        found = store.projects.list()
        current = store.project
    if run.out.as_json:
        run.out.json({"current": current, "projects": found})
    elif found:
        rows = [
            ("*" if project.name == current else "", str(project.memories), project.name, ", ".join(project.folders))
            for project in found
        ]
        run.out.table(rows, right=(1,), cut=False)
    else:
        run.out.note("There are no projects yet.")
    return DONE


@command("rename")
@click.argument("old")
@click.argument("new")
def rename(run: Invocation, *, old: str, new: str) -> None:
    """Rename the project OLD to NEW.

    The same folders and remotes still belong to it.
    """
    with run.open_store() as store:
        store.projects.rename(old, new)
    if run.out.as_json:
        run.out.json({"old": old, "new": new})
        return
    run.out.line(f"{old} is now {new}.")
    before, after = home_of(old), home_of(new)
    if before is not None and before != after:
        number = "belongs to no repository" if after is None else f"is one of {after.project}"
        run.out.note(
            f"Memories keep references as {before.project}#12. Name them in full: a number alone {number} now."
        )


@command("merge")
@click.argument("source")
@click.argument("target")
@yes_option
def merge(run: Invocation, *, source: str, target: str, yes: bool) -> int:
    """Move all memories of SOURCE into TARGET, and remove SOURCE.

    `opencode-memory undo` brings SOURCE back, until one of its memories is changed.
    """
    if not confirm(f"Merge {source} into {target}", yes=yes):
        return NOTHING_FOUND
    with run.open_store() as store:
        merge = store.projects.merge(source, target)
    if run.out.as_json:
        run.out.json({"source": source, "target": target, **to_json(merge)})
        return DONE
    run.out.line(f"Moved {format_count(merge.moved, 'memory')} into {target}.")
    for value in merge.clashes:
        kept, dropped = (one_line(json.dumps(one), _VALUE_BYTES) for one in (value.kept, value.dropped))
        run.out.line(f"Kept {value.key} = {kept}; {source} had {dropped}.")
    hint = "`opencode-memory undo` takes it back" if merge.is_undoable else "Without memories, it cannot be taken back"
    run.out.note(f"{hint}.")
    return DONE


projects: Final = Group("projects", help="List, rename and merge projects.", commands=[list_projects, rename, merge])

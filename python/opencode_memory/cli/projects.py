"""``opencode-memory projects``: lists, renames and merges projects."""

from __future__ import annotations

from typing import Final

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.parameters import confirm, yes_option
from opencode_memory.text.formatting import format_count


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
    return DONE if found else NOTHING_FOUND


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
    else:
        run.out.line(f"{old} is now {new}.")


@command("merge")
@click.argument("source")
@click.argument("target")
@yes_option
def merge(run: Invocation, *, source: str, target: str, yes: bool) -> int:
    """Move all memories of SOURCE into TARGET, and remove SOURCE.

    This cannot be undone.
    """
    if not confirm(f"Merge {source} into {target} permanently", yes=yes):
        return NOTHING_FOUND
    with run.open_store() as store:
        moved = store.projects.merge(source, target)
    if run.out.as_json:
        run.out.json({"source": source, "target": target, "moved": moved})
    else:
        run.out.line(f"Moved {format_count(moved, 'memory')} into {target}.")
    return DONE


projects: Final = Group("projects", help="List, rename and merge projects.", commands=[list_projects, rename, merge])

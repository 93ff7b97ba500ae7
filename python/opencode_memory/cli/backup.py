"""``opencode-memory backup``: complete copies of the store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from opencode_memory._core import first_damage
from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.parameters import PathType, confirm, yes_option
from opencode_memory.errors import InvalidInputError
from opencode_memory.text.clock import age
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore
    from opencode_memory.store.reports import Backup

_NAMED: Final = 3
"""Most backups that an error names."""


@command("create")
@click.argument("path", type=PathType(), required=False)
def create(run: Invocation, *, path: Path | None) -> int:
    """Create a backup of the store at PATH.

    Without PATH, the backup goes into the store's own folder, and only the newest backups there are kept
    (see backup.keep).

    Exits with 1 if the store is damaged, because its backup cannot be restored. Older backups are kept then.
    """
    with run.open_store() as store:
        written = store.backups.create(path)
        damage = first_damage(store.data_dir)
        removed = _remove_oldest(store, run.config.backup.keep) if path is None and damage is None else []
    if run.out.as_json:
        run.out.json({"path": written, "removed": removed, "damage": damage})
    else:
        run.out.line(f"Wrote {written}")
        for old in removed:
            run.out.line(f"Removed {old}")
        if damage is not None:
            run.out.note(f"The store is damaged, so this backup cannot be restored: {damage}")
            run.out.note("`opencode-memory repair` rebuilds indexes; create a backup again afterwards.")
    return DONE if damage is None else NOTHING_FOUND


@command("list")
def list_backups(run: Invocation) -> int:
    """List the existing backups, newest first. A damaged store is no obstacle."""
    from opencode_memory.store.recovery import list_backups  # noqa: PLC0415  not needed for help

    run.check_data_dir()
    known = list_backups(run.config.data_dir)
    found = known.backups
    if known.problem is not None:
        run.out.note(
            f"Only the backups in the folder of the store are listed. The store cannot be read: {known.problem}"
        )
    if run.out.as_json:
        run.out.json({"backups": found, "problem": known.problem})
    elif found:
        rows = [
            (age(backup.at, at=run.started_at), f"{backup.bytes / 1e6:,.1f} MB", str(backup.path)) for backup in found
        ]
        run.out.table(rows, right=(0, 1), cut=False)
    else:
        run.out.note("There are no backups.")
    return DONE


@command("restore")
@click.argument("path", type=PathType())
@yes_option
def restore(run: Invocation, *, path: Path, yes: bool) -> int:
    """Replace the store by the backup PATH, after a backup of the current store.

    If the store is damaged or missing, its files are moved into a folder beside it instead, and nothing of it is read.
    """
    from opencode_memory.store import recovery  # noqa: PLC0415  not needed for help

    if not path.is_file():
        raise _explain_missing(path, recovery.list_backups(run.config.data_dir).backups)
    if not confirm(f"Replace the store by {path}", yes=yes):
        return NOTHING_FOUND

    def open_store() -> AbstractContextManager[MemoryStore]:
        return run.open_unbound_store(actor="user", background=False)

    done = recovery.restore(run.config.data_dir, path, open_store=open_store)
    if run.out.as_json:
        run.out.json({"restored": path, "memories": done.memories, "before": done.before, "aside": done.aside})
        return DONE
    run.out.line(f"Restored {format_count(done.memories, 'memory')}.")
    if done.before is not None:
        run.out.line(f"The previous store was backed up to {done.before}")
        return DONE
    if done.aside is not None:
        run.out.line(f"The damaged files were moved to {done.aside}")
    run.out.note("Restart the server and every OpenCode that is running, because they still use the former file.")
    return DONE


backup: Final = Group("backup", help="Create, list and restore backups.", commands=[create, list_backups, restore])


def _explain_missing(path: Path, known: Sequence[Backup]) -> InvalidInputError:
    """Return the error for a path that is no file; its hint names the newest backups."""
    error = InvalidInputError(f"there is no backup {path}", field="PATH")
    if not known:
        error.hint = "this store has no backups; a backup elsewhere needs its full path"
        return error
    names = ", ".join(str(backup.path) for backup in known[:_NAMED])
    more = f", and {len(known) - _NAMED} more: opencode-memory backup list" if len(known) > _NAMED else ""
    error.hint = f"the backups are {names}{more}"
    return error


def _remove_oldest(store: MemoryStore, keep: int) -> list[Path]:
    """Remove the oldest backups from the store's own folder. Backups in other folders are never removed."""
    own: list[Backup] = [backup for backup in store.backups.list() if backup.path.parent == store.data_dir / "backups"]
    surplus = sorted(own, key=lambda backup: backup.at, reverse=True)[keep:] if keep else []
    for backup in surplus:
        backup.path.unlink(missing_ok=True)
    return [backup.path for backup in surplus]

"""Applies the plan of an installation completely, or not at all.

Each file appears under its name only when it is complete, readable for its owner only. If a step fails, all earlier
steps are undone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from opencode_memory.errors import StorageError
from opencode_memory.files.atomic import PRIVATE_FOLDER, write_atomically
from opencode_memory.hosts.opencode.setup.plan import Action, Plan, SetupStep


def apply_plan(plan: Plan) -> None:
    """Apply all steps of a plan.

    Raises:
        StorageError: A step failed. All earlier steps were undone.
    """
    undo_steps: list[Callable[[], object]] = []
    step = None
    try:
        for step in plan.steps:
            undo_steps.append(_apply_step(step))
    except BaseException as error:
        for undo in reversed(undo_steps):
            with suppress(OSError):
                undo()
        if step is None or not isinstance(error, OSError):
            raise
        reason = error.strerror or error
        failed = StorageError(f"cannot {step.action} {step.path}: {reason}", path=str(step.path))
        failed.hint = f"no file was changed; check that {step.path.parent} is writable and has free space"
        raise failed from error


def _apply_step(step: SetupStep) -> Callable[[], object]:
    """Apply one step and return the function that undoes it."""
    path = step.path
    if step.text is None:
        if step.action is Action.CREATE:
            path.mkdir(mode=PRIVATE_FOLDER)
            return path.rmdir
        mode = path.stat().st_mode
        path.rmdir()
        return lambda: _make_folder(path, mode)
    if step.action is Action.CREATE:
        write_atomically(path, step.text.encode())
        return path.unlink
    if path.is_symlink():
        target = path.readlink()
        write_atomically(path, step.text.encode())
        return lambda: _link(path, target)
    data, mode = path.read_bytes(), path.stat().st_mode
    if step.action is Action.REMOVE:
        path.unlink()
    else:
        write_atomically(path, step.text.encode())
    return lambda: write_atomically(path, data, mode=mode & 0o7777)


def _make_folder(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode & 0o7777)


def _link(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)

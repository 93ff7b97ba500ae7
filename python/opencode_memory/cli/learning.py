"""``opencode-memory learning``: shows the sources of learning, and turns learning on or off."""

from __future__ import annotations

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.digest import describe_digest, digest, print_digest, test
from opencode_memory.cli.output import dim
from opencode_memory.cli.relearn import relearn
from opencode_memory.errors import InvalidInputError
from opencode_memory.learning import switches
from opencode_memory.learning.relearn.offer import take_offer


@command("status")
def status(run: Invocation) -> None:
    """Show the state and the sources of learning, and the number of candidates."""
    from opencode_memory.hosts.opencode.feed.database import default_database  # noqa: PLC0415  only here

    settings = run.config.learning
    database = settings.opencode_db or default_database(run.config.environment)
    with run.open_store() as store:
        off = switches.is_off(store, store.project) or store.project in settings.skip_projects
        waiting = store.count(status="candidate")
        digests = describe_digest(store, settings)
        project = store.project
        if not run.out.as_json and (offer := take_offer(store)) is not None:
            run.out.note(offer)
    state = {
        "enabled": settings.enabled,
        "project": project,
        "project_enabled": settings.enabled and not off,
        "sources": settings.sources,
        "opencode_db": None if database is None else str(database),
        "opencode_db_exists": database is not None and database.exists(),
        "watch": settings.watch,
        "memory_file": run.config.memory_file,
        "digest": digests,
        "waiting": waiting,
    }
    if run.out.as_json:
        run.out.json(state)
        return
    here = "off" if not settings.enabled else f"off for {project}" if off else "on"
    run.out.line(dim("learning  "), f"{here}, from {', '.join(settings.sources) or 'no source'}")
    there = (
        "no file" if database is None else str(database) if database.exists() else f"{database} (does not exist yet)"
    )
    run.out.line(dim("opencode  "), there)
    if settings.watch:
        run.out.line(dim("watched   "), ", ".join(settings.watch))
    run.out.line(dim("file      "), f".opencode/MEMORY.md: {run.config.memory_file}")
    print_digest(run, digests)
    run.out.line(dim("pending   "), f"{waiting} for `opencode-memory review`" if waiting else "0")


@command("off")
def off(run: Invocation) -> None:
    """Turn learning off for this project. Messages from this time are never learned, even if it is turned on again."""
    _switch_project(run, on=False)


@command("on")
def on(run: Invocation) -> None:
    """Turn learning on for this project."""
    _switch_project(run, on=True)


@command("pause")
@click.argument("session")
def pause(run: Invocation, *, session: str) -> None:
    """Stop learning from one session of OpenCode."""
    _pause_session(run, session, paused=True)


@command("resume")
@click.argument("session")
def resume(run: Invocation, *, session: str) -> None:
    """Resume learning from a paused session."""
    _pause_session(run, session, paused=False)


def _switch_project(run: Invocation, *, on: bool) -> None:
    with run.open_store(creates_project=True) as store:
        if store.project is None:
            raise InvalidInputError("this folder does not belong to a project", field="--project")
        switches.switch(store, store.project, on=on)
        project = store.project
    if run.out.as_json:
        run.out.json({"project": project, "project_enabled": on})
    else:
        run.out.line(f"Learning is {'on' if on else 'off'} for {project}.")


def _pause_session(run: Invocation, session: str, *, paused: bool) -> None:
    with run.open_store() as store:
        switches.pause(store, session, paused=paused)
    if run.out.as_json:
        run.out.json({"session": session, "paused": paused})
    else:
        run.out.line(f"Learning {'is paused' if paused else 'is resumed'} for session {session}.")


learning = Group(
    name="learning",
    help="Turn learning on or off for a project or a session. Everywhere: config set learning.enabled false",
    commands=[status, on, off, pause, resume, relearn, test, digest],
    hidden=False,
)

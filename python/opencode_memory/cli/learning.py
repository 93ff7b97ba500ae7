"""``opencode-memory learning``: what is learned from, and the switches."""

from __future__ import annotations

import click

from opencode_memory.cli.command import Group, command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.output import dim
from opencode_memory.errors import InvalidInputError
from opencode_memory.learning import switches


@command("status")
def status(run: Invocation) -> None:
    """Say what is learned from here, and what waits."""
    from opencode_memory.hosts.opencode.feed.database import default_database  # noqa: PLC0415  only here

    settings = run.config.learning
    database = settings.opencode_db or default_database(run.config.environment)
    with run.open_store() as store:
        off = switches.is_off(store, store.project) or store.project in settings.skip_projects
        waiting = store.count(status="candidate")
        project = store.project
    state = {
        "enabled": settings.enabled,
        "project": project,
        "project_enabled": settings.enabled and not off,
        "sources": settings.sources,
        "opencode_db": None if database is None else str(database),
        "opencode_db_exists": database is not None and database.exists(),
        "watch": settings.watch,
        "memory_file": run.config.memory_file,
        "extraction_model": run.config.extraction_model,
        "waiting": waiting,
    }
    if run.out.as_json:
        run.out.json(state)
        return
    here = "off" if not settings.enabled else f"off for {project}" if off else "on"
    run.out.line(dim("learning  "), f"{here}, from {', '.join(settings.sources) or 'nothing'}")
    there = "no file" if database is None else str(database) if database.exists() else f"{database} (not there yet)"
    run.out.line(dim("opencode  "), there)
    if settings.watch:
        run.out.line(dim("watched   "), ", ".join(settings.watch))
    run.out.line(dim("file      "), f".opencode/MEMORY.md: {run.config.memory_file}")
    run.out.line(dim("model     "), run.config.extraction_model or "none; rules only")
    run.out.line(dim("waiting   "), f"{waiting} for `opencode-memory review`" if waiting else "nothing")


@command("off")
def off(run: Invocation) -> None:
    """Learn nothing of this project; what is said meanwhile is not learned later either."""
    _switch_project(run, on=False)


@command("on")
def on(run: Invocation) -> None:
    """Learn of this project again."""
    _switch_project(run, on=True)


@command("pause")
@click.argument("session")
def pause(run: Invocation, *, session: str) -> None:
    """Learn nothing of one session of OpenCode from now on."""
    _pause_session(run, session, paused=True)


@command("resume")
@click.argument("session")
def resume(run: Invocation, *, session: str) -> None:
    """Learn of a paused session again."""
    _pause_session(run, session, paused=False)


def _switch_project(run: Invocation, *, on: bool) -> None:
    with run.open_store(creates_project=True) as store:
        if store.project is None:
            raise InvalidInputError("this folder belongs to no project", field="--project")
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
        run.out.line(f"Learning {'is paused' if paused else 'goes on'} for session {session}.")


learning = Group(
    name="learning",
    help="Switch learning off and on, for a project or a session; `config set learning.enabled false` for everything.",
    commands=[status, on, off, pause, resume],
    hidden=False,
)

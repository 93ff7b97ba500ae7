"""``opencode-memory learning``: turns learning on or off for a project or a session, and names the other commands."""

from __future__ import annotations

import click

from opencode_memory.cli.command import LazyGroup, command
from opencode_memory.cli.context import Invocation
from opencode_memory.errors import InvalidInputError
from opencode_memory.learning import switches


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
    if not session.strip() or not session.isprintable():
        raise InvalidInputError("SESSION must be the id of a session, in printable characters", field="session")
    with run.open_store() as store:
        was_paused = switches.is_paused(store, session)
        is_known = was_paused or store.learning.open(session)[0] > 0
        switches.pause(store, session, paused=paused)
    if run.out.as_json:
        run.out.json({"session": session, "paused": paused, "known": is_known})
        return
    if was_paused == paused:
        run.out.line(f"Learning was {'already paused' if paused else 'not paused'} for session {session}.")
    else:
        run.out.line(f"Learning {'is paused' if paused else 'is resumed'} for session {session}.")
    if not is_known:
        run.out.note(f"No message of a session {session} has been read so far; `opencode session list` shows the ids.")


learning = LazyGroup(
    name="learning",
    help="Turn learning on or off for a project or a session. Everywhere: config set learning.enabled false",
    sections={
        "Commands": {
            "status": ("opencode_memory.cli.learning_status:status", "Show what is learned from, and the digest."),
            "on": ("opencode_memory.cli.learning:on", "Turn learning on for this project."),
            "off": ("opencode_memory.cli.learning:off", "Turn learning off for this project."),
            "pause": ("opencode_memory.cli.learning:pause", "Stop learning from one session of OpenCode."),
            "resume": ("opencode_memory.cli.learning:resume", "Resume learning from a paused session."),
            "relearn": ("opencode_memory.cli.relearn:relearn", "Judge earlier memories by the present rules."),
            "test": ("opencode_memory.cli.digest:test", "Try the digest with an example session."),
            "digest": ("opencode_memory.cli.digest:digest", "Digest the sessions that are due now."),
        }
    },
)

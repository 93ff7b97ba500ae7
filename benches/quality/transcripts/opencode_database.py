"""Writes transcripts as a database of OpenCode, with the schema of a recorded one.

Each project gets a folder with an empty git repository whose remote is the public one, so that projects are recognised
as on a real machine. Paths below the original project folder are replaced by that folder.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from .data import PERSON, SUMMARY, Message, Session

RECORDED: Final = Path(__file__).parents[3] / "tests" / "data" / "opencode" / "first-engine.db"
VERSION: Final = "1.18.33"
_ROOTS: Final = 6
"""Number of original project folders that are replaced: people move their projects, but rarely."""
_ANSWER_MS: Final = 500
_LAST_ANSWER_MS: Final = 30_000


def write(path: Path, sessions: Iterable[Session], folders: Path) -> None:
    """Write a database.

    Args:
        path: The file; an existing file is replaced.
        sessions: The sessions, grouped by project.
        folders: The project folders are created here, as ``owner/name``.
    """
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.executescript(read_schema())
        database.execute("PRAGMA journal_mode=WAL")
        for project, group in groupby(sessions, key=lambda session: session.project):
            _write_project(database, project, list(group), folders)
        database.commit()


def read_schema() -> str:
    """Return the statements that create the tables and indexes of the recorded database."""
    with closing(sqlite3.connect(f"file:{RECORDED}?mode=ro", uri=True)) as recorded:
        rows = recorded.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
        return ";\n".join(sql for (sql,) in rows) + ";"


def find_roots(sessions: Iterable[Session], name: str) -> list[str]:
    """Return the original folders of a project, longest first, from the arguments of the tool calls."""
    below_home = re.compile(rf"(/(?:Users|home)/[\w.@-]+(?:/[\w.@-]+)*?/{re.escape(name)})(?=/|\b)")
    counts = Counter(
        root
        for session in sessions
        for message in session.messages
        for kind, call in message.parts
        if kind == "tool"
        for value in call["input"].values()
        for root in below_home.findall(str(value))
    )
    return sorted((root for root, _ in counts.most_common(_ROOTS)), key=len, reverse=True)


def _write_project(database: sqlite3.Connection, project: str, sessions: Sequence[Session], folders: Path) -> None:
    owner, name = project.split("+", 1)
    folder = folders / owner / name
    _create_repository(folder, f"https://github.com/{owner}/{name}.git")
    roots = find_roots(sessions, name)
    database.execute(
        "INSERT INTO project (id, worktree, vcs, time_created, time_updated, sandboxes)"
        " VALUES (?, ?, 'git', 1, 1, '[]')",
        (project, str(folder)),
    )
    for session in sessions:
        database.execute(
            "INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)"
            " VALUES (?, ?, 'x', ?, ?, ?, ?, ?)",
            (
                session.id,
                project,
                str(folder),
                session.title[:100] or "x",
                VERSION,
                session.messages[0].at_ms,
                session.messages[-1].at_ms + _LAST_ANSWER_MS,
            ),
        )
        asked: str | None = None
        for message in session.messages:
            if message.role == PERSON:
                asked = message.id
            _write_message(database, session.id, message, asked, _Paths(roots, str(folder)))


class _Paths:
    """Replaces the original project folders in a text by the new one."""

    def __init__(self, roots: Sequence[str], folder: str) -> None:
        self.roots = roots
        self.folder = folder

    def replace(self, text: str) -> str:
        for root in self.roots:
            text = text.replace(root, self.folder)
        return text


def _create_repository(folder: Path, remote: str) -> None:
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
        subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", remote], check=True)


def _write_message(
    database: sqlite3.Connection, session: str, message: Message, asked: str | None, paths: _Paths
) -> None:
    at = message.at_ms
    columns = (session, at, at + _ANSWER_MS + 100)
    database.execute(
        "INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?)",
        (message.id, *columns, json.dumps(_info(message, asked, paths.folder))),
    )
    database.executemany(
        "INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (f"prt_{message.id.removeprefix('msg_')}{number:05}", message.id, *columns, json.dumps(part))
            for number, part in enumerate(_parts(message, paths))
        ),
    )


def _info(message: Message, asked: str | None, folder: str) -> dict[str, Any]:
    at = message.at_ms
    if message.role == PERSON:
        model = {"providerID": "x", "modelID": "y"}
        return {"role": "user", "time": {"created": at}, "agent": "build", "model": model}
    finished = {"role": "assistant", "time": {"created": at, "completed": at + _ANSWER_MS}, "finish": "stop"}
    if message.role == SUMMARY:
        return finished | {"summary": True, "mode": "compaction", "agent": "compaction"}
    return finished | {"parentID": asked, "mode": "build", "agent": "build", "path": {"cwd": folder, "root": folder}}


def _parts(message: Message, paths: _Paths) -> Iterator[dict[str, Any]]:
    if message.role == PERSON:
        yield {"type": "text", "text": message.text}
        return
    time = {"start": message.at_ms, "end": message.at_ms + 1}
    if message.role == SUMMARY:
        yield {"type": "text", "text": message.text}
    else:
        yield {"type": "step-start"}
        for number, (kind, value) in enumerate(message.parts):
            if kind == "text":
                yield {"type": "text", "text": value, "time": time}
            else:
                call = f"call_{message.id}_{number}"
                yield {"type": "tool", "tool": value["tool"], "callID": call, "state": _state(value, time, paths)}
    yield {"type": "step-finish", "reason": "stop"}


def _state(call: dict[str, Any], time: dict[str, int], paths: _Paths) -> dict[str, Any]:
    given = {name: paths.replace(str(value)) for name, value in call["input"].items()}
    if call.get("error"):
        return {"status": "error", "input": given, "error": call["error"], "time": time}
    metadata: dict[str, Any] = {"truncated": False}
    if call.get("exit") is not None:
        metadata["exit"] = call["exit"]
    output = paths.replace(call.get("output", ""))
    return {
        "status": "completed",
        "input": given,
        "output": output,
        "metadata": metadata,
        "title": "",
        "time": time,
    }

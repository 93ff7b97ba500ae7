"""Bootstrap: creates first memories of a project from its README, its instructions for agents, and its manifests.

Notes are ingested as usual. A manifest becomes one memory with the project's name and commands, identified by its
topic. No code of the project is run, and the memories get the lowest trust.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from opencode_memory._core import redact
from opencode_memory.models import NewMemory, RememberStatus, Scope, Source, Trust
from opencode_memory.notes.files import Skipped, read_note
from opencode_memory.notes.folder import ingest
from opencode_memory.notes.note_memories import make_file_name
from opencode_memory.projects.identity import find_repository, real

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

NOTES: Final = (
    "README.md",
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "DEVELOPMENT.md",
    ".github/copilot-instructions.md",
    ".opencode/MEMORY.md",
)
_MOST_COMMANDS: Final = 40
_MOST_PROJECTS: Final = 1000
_COMMAND_LENGTH: Final = 200
_TARGET: Final = re.compile(r"^(?P<name>[A-Za-z][\w.-]*)\s*:(?![=:])(?:.*?##\s*(?P<about>.*))?", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapReport:
    """Result of a bootstrap, counted in memories; ``files`` names the files that were read."""

    files: tuple[str, ...]
    added: int
    updated: int
    unchanged: int
    skipped: tuple[Skipped, ...]


def bootstrap(store: MemoryStore, folder: Path, *, project: str | None) -> BootstrapReport:
    """Create or update the first memories of a project.

    Args:
        store: Store for the memories.
        folder: Folder of the project.
        project: Name of the project; None for global memories.
    """
    repository = find_repository(folder)
    top = repository.work_tree if repository is not None else folder
    files: list[str] = []
    skipped: list[Skipped] = []
    added = updated = unchanged = 0
    for name in NOTES:
        if (note := _find_own_file(folder, name)) is not None:
            report = ingest(store, note, project=project, top=top)
            added, updated, unchanged = added + report.added, updated + report.updated, unchanged + report.unchanged
            skipped += report.skipped
            files += [name] * report.files
    for memory in _read_manifests(folder, project, files, skipped):
        before = store.list(scope=Scope.owned_by(project), tag=_get_tag(memory), limit=_MOST_PROJECTS)
        if any((stored.topic, stored.content) == (memory.topic, memory.content) for stored in before):
            unchanged += 1
            continue
        result = store.remember_many([memory])[0]
        added += result.status is RememberStatus.STORED
        updated += result.status is RememberStatus.UPDATED
        if result.status is RememberStatus.KEPT:
            skipped.append(
                Skipped(str(memory.topic), "its memory has higher trust, so the file's text waits for review")
            )
    return BootstrapReport(
        files=tuple(files), added=added, updated=updated, unchanged=unchanged, skipped=tuple(skipped)
    )


def _find_own_file(folder: Path, name: str) -> Path | None:
    """Return a file of a folder, unless the path contains a symbolic link, which may lead anywhere."""
    path = real(folder) / name
    return path if path.is_file() and real(path) == path else None


def _get_tag(memory: NewMemory) -> str:
    return memory.tags[0]


def _read_manifests(folder: Path, project: str | None, files: list[str], skipped: list[Skipped]) -> Iterator[NewMemory]:
    for name, say in _MANIFESTS.items():
        if (path := _find_own_file(folder, name)) is None:
            continue
        try:
            content = "\n".join(say(read_note(path)))
        except (OSError, ValueError, RecursionError) as error:
            skipped.append(Skipped(name, str(error)))
            continue
        files.append(name)
        if content:
            yield NewMemory(
                content=f"{name}: {content}",
                category="fact",
                scope=Scope.owned_by(project),
                # Without a project, files of the same name in several folders would share a topic.
                topic=f"bootstrap:{name if project is not None else make_file_name(path, None)}",
                tags=(f"bootstrap:{name}",),
                source=Source(file=name),
                trust=Trust.IMPORTED,
            )


def _describe_package_json(text: str) -> Iterator[str]:
    found = _to_mapping(json.loads(text))
    yield from _describe_name(found)
    manager = found.get("packageManager")
    if isinstance(manager, str):
        yield f"Package manager: {_shorten(manager)}"
    yield from _describe_commands("Scripts", _to_mapping(found.get("scripts")))


def _describe_pyproject(text: str) -> Iterator[str]:
    found = tomllib.loads(text)
    about = _to_mapping(found.get("project"))
    yield from _describe_name(about)
    if isinstance(about.get("requires-python"), str):
        yield f"Python {_shorten(about['requires-python'])}"
    if isinstance(backend := _to_mapping(found.get("build-system")).get("build-backend"), str):
        yield f"Built with {_shorten(backend)}"
    yield from _describe_commands("Commands", _to_mapping(about.get("scripts")))


def _describe_cargo(text: str) -> Iterator[str]:
    found = tomllib.loads(text)
    yield from _describe_name(_to_mapping(found.get("package")))
    members = _to_mapping(found.get("workspace")).get("members")
    if isinstance(members, list):
        yield "Workspace of " + ", ".join(_shorten(str(member)) for member in members[:_MOST_COMMANDS])


def _describe_makefile(text: str) -> Iterator[str]:
    targets = {found["name"]: found["about"] or "" for found in _TARGET.finditer(text)}
    shown = [f"make {_shorten(name)}{f' ({_shorten(about)})' if about else ''}" for name, about in targets.items()]
    if shown:
        yield "Targets: " + ", ".join(shown[:_MOST_COMMANDS])


def _describe_go_mod(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith(("module ", "go ")):
            yield _shorten(line)


def _describe_name(about: Mapping[str, Any]) -> Iterator[str]:
    parts = [about[key] for key in ("name", "version", "description") if isinstance(about.get(key), str)]
    if parts:
        yield _shorten(": ".join(parts))


def _describe_commands(heading: str, commands: Mapping[str, Any]) -> Iterator[str]:
    shown = [f"{_shorten(name)} = {_shorten(text)}" for name, text in commands.items() if isinstance(text, str)]
    if shown:
        yield f"{heading}: " + "; ".join(shown[:_MOST_COMMANDS])


def _to_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _shorten(text: str) -> str:
    # Redact before cutting, because half a secret is no longer recognised.
    flat = redact(" ".join(text.split()))[0]
    return flat if len(flat) <= _COMMAND_LENGTH else flat[: _COMMAND_LENGTH - 1] + "…"


_MANIFESTS: Final[Mapping[str, Callable[[str], Iterator[str]]]] = MappingProxyType(
    {
        "package.json": _describe_package_json,
        "pyproject.toml": _describe_pyproject,
        "Cargo.toml": _describe_cargo,
        "go.mod": _describe_go_mod,
        "Makefile": _describe_makefile,
    }
)

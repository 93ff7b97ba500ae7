"""Facts of Python projects, from ``pyproject.toml``, lock files and requirements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from opencode_memory.notes.fact_sheet.facts import Facts, ProjectFiles, to_line, to_mapping, to_name

_MANIFESTS: Final = ("pyproject.toml", "setup.py", "requirements.txt", "Pipfile")
_LOCK_FILES: Final = (
    ("uv", ("uv.lock",)),
    ("poetry", ("poetry.lock",)),
    ("pdm", ("pdm.lock",)),
    ("pipenv", ("Pipfile.lock", "Pipfile")),
)
_RUNNERS: Final = {"uv": "uv run ", "poetry": "poetry run ", "pdm": "pdm run ", "pipenv": "pipenv run "}
_TOOLS: Final = (
    ("test", "pytest", "pytest"),
    ("lint", "ruff", "ruff check"),
    ("lint", "flake8", "flake8"),
    ("format", "ruff", "ruff format"),
    ("format", "black", "black ."),
    ("type check", "mypy", "mypy"),
    ("type check", "pyright", "pyright"),
)
"""Role, name of the tool and its command; the first tool of a role is taken."""
_PACKAGE: Final = re.compile(r"[A-Za-z0-9][\w.-]*")


def read_python(files: ProjectFiles) -> Facts | None:
    """Return the facts of a Python project; None if there is no manifest."""
    if not files.has(*_MANIFESTS):
        return None
    manifest = files.toml("pyproject.toml")
    tools = to_mapping(manifest.get("tool"))
    about = to_mapping(manifest.get("project")) or to_mapping(tools.get("poetry"))
    manager = next((name for name, names in _LOCK_FILES if files.has(*names)), "")
    manager = manager or next((name for name in ("uv", "poetry", "pdm") if name in tools), "")
    manager = manager or ("pip" if files.has("requirements.txt") else "")
    used = {*tools, *_list_packages(files, manifest), *(["pytest"] if files.has("pytest.ini") else [])}
    commands: dict[str, str] = {}
    for role, tool, command in _TOOLS:
        if tool in used:
            commands.setdefault(role, _RUNNERS.get(manager, "") + command)
    version = to_line(about.get("requires-python"), most=40)
    return Facts(
        language=f"Python {version}" if version else "Python",
        name=to_name(about.get("name")),
        purpose=to_line(about.get("description")),
        manager=manager,
        commands=commands,
    )


def _list_packages(files: ProjectFiles, manifest: Any) -> Iterator[str]:
    """Yield the names of the packages that the project depends on, also for development."""
    project = to_mapping(manifest.get("project"))
    groups = [
        project.get("dependencies"),
        *to_mapping(project.get("optional-dependencies")).values(),
        *to_mapping(manifest.get("dependency-groups")).values(),
        files.text("requirements.txt").splitlines(),
        files.text("requirements-dev.txt").splitlines(),
    ]
    poetry = to_mapping(to_mapping(manifest.get("tool")).get("poetry"))
    yield from to_mapping(poetry.get("dev-dependencies"))
    for group in to_mapping(poetry.get("group")).values():
        yield from to_mapping(to_mapping(group).get("dependencies"))
    for group in groups:
        for requirement in group if isinstance(group, list) else ():
            if isinstance(requirement, str) and (name := _PACKAGE.match(requirement)):
                yield name[0].lower()

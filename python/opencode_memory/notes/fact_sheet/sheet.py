"""Sheet: the text of the memory, made from the facts of all ecosystems of a project."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from opencode_memory.notes.fact_sheet.build_tools import read_cargo, read_go, read_java, read_others
from opencode_memory.notes.fact_sheet.facts import ROLES, Facts, ProjectFiles, pick_commands, to_line
from opencode_memory.notes.fact_sheet.javascript import read_javascript
from opencode_memory.notes.fact_sheet.python_project import read_python

_READERS: Final[tuple[Callable[[ProjectFiles], Facts | None], ...]] = (
    read_javascript,
    read_python,
    read_cargo,
    read_go,
    read_java,
    read_others,
)
_TARGETS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"make": ("Makefile", "makefile", "GNUmakefile"), "just": ("justfile", "Justfile", ".justfile")}
)
_TARGET: Final = re.compile(r"^@?([A-Za-z][\w-]*)(?![ \t]*[?+]?=)(?:[ \t][^:\n]*)?:(?!=)", re.MULTILINE)
_READMES: Final = ("README.md", "Readme.md", "readme.md")
_NOT_PROSE: Final = re.compile(r"\s*(?:[#<>|!\[*`=+-]|\d+[.)]|$)")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s")
_LEAST_PURPOSE_WORDS: Final = 4


def describe_project(folder: Path) -> str | None:
    """Describe a project in a few lines: name, purpose, languages, package managers and commands.

    Args:
        folder: Top of its work tree.

    Returns:
        The text; None if the folder has no manifest and no targets.
    """
    files = ProjectFiles(folder)
    known = [facts for read in _READERS if (facts := read(files)) is not None]
    targets = {role: command for tool in _TARGETS for role, command in _list_targets(files, tool)}
    if not known and not targets:
        return None
    name = next((facts.name for facts in known if facts.name), folder.name)
    purpose = next((facts.purpose for facts in known if facts.purpose), "") or _read_purpose(files)
    lines = [f"Project {name}: {purpose}" if purpose else f"Project {name}."]
    if languages := list(dict.fromkeys(facts.language for facts in known if facts.language)):
        lines.append(f"Languages: {', '.join(languages)}.")
    if managers := list(dict.fromkeys(facts.manager for facts in known if facts.manager)):
        lines.append(f"Package manager: {', '.join(managers)}.")
    if commands := list(_format_commands(known, targets)):
        lines.append(f"Commands: {'; '.join(commands)}.")
    return "\n".join(lines)


def _format_commands(known: list[Facts], targets: Mapping[str, str]) -> Iterator[str]:
    for role in ROLES:
        # The project's own targets call the tools with the right options.
        commands = [targets[role]] if role in targets else [facts.commands.get(role) for facts in known]
        if found := list(dict.fromkeys(f"`{command}`" for command in commands if command)):
            yield f"{role} {', '.join(found)}"


def _list_targets(files: ProjectFiles, tool: str) -> Iterator[tuple[str, str]]:
    text = next((files.text(name) for name in _TARGETS[tool] if files.has(name)), "")
    return pick_commands({match[1] for match in _TARGET.finditer(text)}, tool)


def _read_purpose(files: ProjectFiles) -> str:
    """Return the first sentence of the README's first paragraph of prose; empty if there is none."""
    text = next((files.text(name) for name in _READMES if files.has(name)), "")
    for paragraph in re.split(r"\n\s*\n", text):
        if not _NOT_PROSE.match(paragraph) and len(paragraph.split()) >= _LEAST_PURPOSE_WORDS:
            return to_line(_SENTENCE_END.split(to_line(paragraph, most=1000), maxsplit=1)[0])
    return ""

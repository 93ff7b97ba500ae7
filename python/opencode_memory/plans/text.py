"""Reads the Markdown of a plan: objective, sections, verification commands, and what is missing.

The form, with headings of any level::

    # Title
    ## Objective
    ## Steps
    ### First section
    Files: src/parser.py
    Acceptance: the empty file gives an error
    ## Verification
    ```sh
    make test
    ```
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from opencode_memory.text.formatting import format_count

MOST_SECTIONS: Final = 24
MOST_COMMANDS: Final = 10
_HEADING: Final = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>.*?)[ \t]*#*[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<about>[^`]*)")
_INLINE: Final = re.compile(r"\s*(?:[-*+]|\d+[.)])?\s*`(?P<command>[^`]+)`\s*[.;]?\s*")
_OBJECTIVE: Final = frozenset({"objective", "goal", "purpose"})
_STEPS: Final = frozenset({"steps", "plan", "sections", "phases"})
_VERIFICATION: Final = frozenset({"verification", "verify", "checks", "verification command", "verification commands"})
_FILES: Final = re.compile(r"^\W*files?\b[^:\n]*:", re.IGNORECASE | re.MULTILINE)
_ACCEPTANCE: Final = re.compile(r"^\W*(?:acceptance|accepted|done when)\b[^:\n]*:?", re.IGNORECASE | re.MULTILINE)
_REDACTED: Final = re.compile(r"\[redacted:([a-z0-9-]+)\]")
_NUMBER: Final = re.compile(r"^(?:(?:section|step|phase)\s+)?\d+\s*[.:)\u2014-]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a plan that one session carries out.

    Attributes:
        number: Its number, from 1.
        title: Its title without the number.
        body: Its text without the heading.
    """

    number: int
    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanText:
    """A plan that was read.

    Attributes:
        title: The first heading; empty if there is none.
        objective: The text below "Objective".
        sections: The sections below "Steps".
        commands: The commands below "Verification", one line each. All must succeed.
        problems: What is missing; a plan with problems cannot be submitted.
    """

    title: str
    objective: str
    sections: tuple[Section, ...]
    commands: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """A heading, and the lines below it up to the next heading."""

    level: int
    title: str
    lines: tuple[str, ...]


def read_plan(text: str) -> PlanText:
    """Read a plan. Never raises: what is missing is among its problems."""
    parts = _split(text)
    title = next((part.title for part in parts if part.level), "")
    objective = _body(parts, _OBJECTIVE)
    sections = _find_sections(parts)
    commands = _find_commands(_body(parts, _VERIFICATION))
    problems = [
        *(() if title else ("the title is missing: begin with a heading",)),
        *(() if objective else ('the objective is missing: add a heading "Objective" with one paragraph',)),
        *_check_sections(sections),
        *_check_commands(commands),
    ]
    return PlanText(title=title, objective=objective, sections=sections, commands=commands, problems=tuple(problems))


def _check_sections(sections: tuple[Section, ...]) -> Iterable[str]:
    if not sections:
        yield 'the sections are missing: add a heading "Steps", and below it a heading for each section'
    if len(sections) > MOST_SECTIONS:
        yield f"there are {len(sections)} sections; at most {MOST_SECTIONS} are allowed, so join some"
    for section in sections:
        name = f"section {section.number} ({section.title})"
        if not _FILES.search(section.body):
            yield f'{name} names no files: add a line "Files: …"'
        if not _ACCEPTANCE.search(section.body):
            yield f'{name} has no acceptance: add a line "Acceptance: …" that can be checked'


def _check_commands(commands: tuple[str, ...]) -> Iterable[str]:
    if not commands:
        yield (
            'the verification command is missing: add a heading "Verification" with a fenced block of commands, one'
            " a line, for example the command that runs the tests"
        )
    if len(commands) > MOST_COMMANDS:
        yield f"there are {format_count(len(commands), 'verification command')}; at most {MOST_COMMANDS} are allowed"
    if found := list(dict.fromkeys(kind for command in commands for kind in _REDACTED.findall(command))):
        yield (
            f"a verification command has a secret ({', '.join(found)}), which is not stored, so it would never succeed:"
            " let the command read the secret from a file or from a variable"
        )


def _split(text: str) -> list[_Part]:
    parts: list[tuple[int, str, list[str]]] = [(0, "", [])]
    fence = ""
    for line in text.splitlines():
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif (opened := _FENCE.fullmatch(line)) is not None:
            fence = opened["fence"]
        elif (heading := _HEADING.fullmatch(line)) is not None:
            parts.append((len(heading["marks"]), heading["title"], []))
            continue
        parts[-1][2].append(line)
    return [_Part(level, title, tuple(lines)) for level, title, lines in parts]


def _name(title: str) -> str:
    return _NUMBER.sub("", title).strip(" :*_").lower()


def _below(parts: list[_Part], names: frozenset[str]) -> tuple[_Part, list[_Part]] | None:
    """Return the first part with one of these names, and the parts of deeper levels below it."""
    for place, part in enumerate(parts):
        if part.level and _name(part.title) in names:
            deeper: list[_Part] = []
            for other in parts[place + 1 :]:
                if other.level <= part.level:
                    break
                deeper.append(other)
            return part, deeper
    return None


def _body(parts: list[_Part], names: frozenset[str]) -> str:
    found = _below(parts, names)
    if found is None:
        return ""
    part, deeper = found
    return "\n".join([*part.lines, *(_render(other) for other in deeper)]).strip()


def _find_sections(parts: list[_Part]) -> tuple[Section, ...]:
    found = _below(parts, _STEPS)
    if found is None or not found[1]:
        return ()
    deeper = found[1]
    level = min(part.level for part in deeper)
    groups: list[tuple[str, list[str]]] = []
    for part in deeper:
        if part.level == level:
            groups.append((_NUMBER.sub("", part.title).strip(), list(part.lines)))
        elif groups:
            groups[-1][1].append(_render(part))
    return tuple(
        Section(number=number, title=title, body="\n".join(lines).strip())
        for number, (title, lines) in enumerate(groups, 1)
    )


def _render(part: _Part) -> str:
    return "\n".join((f"{'#' * part.level} {part.title}", *part.lines))


def _find_commands(body: str) -> tuple[str, ...]:
    """Return the lines of the fenced blocks; without a block, the lines that are one piece of inline code."""
    fenced: list[str] = []
    inline: list[str] = []
    fence = ""
    for line in body.splitlines():
        if fence:
            if line.strip().startswith(fence):
                fence = ""
            elif (command := line.strip().removeprefix("$ ")) and not command.startswith("#"):
                fenced.append(command)
        elif (opened := _FENCE.fullmatch(line)) is not None:
            fence = opened["fence"]
        elif (found := _INLINE.fullmatch(line)) is not None:
            inline.append(found["command"].strip())
    return tuple(fenced or inline)

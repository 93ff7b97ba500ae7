"""Reads ``memory-config.jsonc``: converts its keys to values of our settings and reports the problems as notices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from opencode_memory.config.opencode_manager.embedding import NAMED
from opencode_memory.config.opencode_manager.file import describe_error, read_bounded
from opencode_memory.config.opencode_manager.keys import BY_NAME, KEYS, Key
from opencode_memory.config.opencode_manager.notices import Notice
from opencode_memory.config.opencode_manager.parse import Member, Members, parse
from opencode_memory.config.settings import BY_KEY
from opencode_memory.text.suggest import did_you_mean, nearest

_MOST_UNKNOWN: Final = 20
_SHOWN_CHARACTERS: Final = 60
_GREAT: Final = 10**15
_SCHEMA: Final = "$schema"
"""Editors use this key in any JSON file."""
_SECTIONS: Final = frozenset(key.name.partition(".")[0] for key in KEYS if "." in key.name)


@dataclass(frozen=True, slots=True)
class Reading:
    """Result of reading a file.

    Attributes:
        values: Key of a setting to its value, for the settings that the file sets.
        notices: Errors in the file, and keys without effect.
    """

    values: Mapping[str, Any]
    notices: tuple[Notice, ...]


@dataclass(slots=True)
class _Contents:
    """The keys of a file before validation of their values. For a duplicate name, the last value applies."""

    origin: str
    given: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)

    def error(self, key: str, text: str, hint: str | None = None) -> None:
        self.notices.append(Notice("error", key, f"{text} ({self.origin})", hint))


def read(file: Path, *, environment: Mapping[str, str], data_dir: Path) -> Reading:
    """Read a file; its content never raises an error.

    Args:
        file: The path from ``find``.
        environment: Environment variables, which define ``~``.
        data_dir: Folder of our store. A log without a file name goes there.
    """
    try:
        members = parse(read_bounded(file))
    except (OSError, ValueError) as error:
        text = _escape(f"cannot read {file}: {describe_error(error)}")
        return Reading({}, (Notice("error", "", text, "none of its keys apply until the file can be read"),))
    contents = _Contents(file.name)
    _collect(contents, members)
    values = dict(_validate(contents))
    contents.notices.extend(_report_unknown(contents))
    settled: dict[str, Any] = {key.name: values.get(key.name, key.default) for key in KEYS}
    settled[NAMED] = frozenset(values)
    settings: dict[str, Any] = {}
    for name, value in values.items():
        key = BY_NAME[name]
        if key.setting is None or key.convert is None:
            if value != key.default:
                contents.notices.append(_report_no_effect(key, value, contents.origin))
        elif (converted := key.convert(settled, data_dir)) is not None:
            settings[key.setting] = BY_KEY[key.setting].read(converted, environment)
        elif key.tells_no_effect and value != key.default:
            contents.notices.append(_report_no_effect(key, value, contents.origin))
    return Reading(settings, tuple(contents.notices))


def _collect(contents: _Contents, members: Members) -> None:
    for name, value in _deduplicate(contents, members, ""):
        if name == _SCHEMA:
            continue
        if name not in _SECTIONS:
            _add(contents, name, value, is_known="." not in name and name in BY_NAME)
        elif isinstance(value, Members):
            for inner, inner_value in _deduplicate(contents, value, f"{name}."):
                dotted = f"{name}.{inner}"
                _add(contents, dotted, inner_value, is_known=dotted in BY_NAME)
        else:
            # Do not show the value: a user who writes text here may have pasted an API key.
            contents.error(name, f"{name} must be an object")


def _deduplicate(contents: _Contents, members: Members, prefix: str) -> Iterator[Member]:
    """Yield the members; of members with the same name, only the last."""
    last = {member.name: member for member in members}
    for name, count in Counter(member.name for member in members).items():
        if count > 1 and (prefix + name in BY_NAME or prefix + name in _SECTIONS):
            contents.error(prefix + name, f"{prefix}{name} is given {count:,} times; the last value applies")
    yield from last.values()


def _add(contents: _Contents, name: str, value: Any, *, is_known: bool) -> None:
    if is_known:
        contents.given[name] = value
    else:
        contents.unknown[name] = None


def _validate(contents: _Contents) -> Iterator[tuple[str, Any]]:
    for name, written in contents.given.items():
        key = BY_NAME[name]
        value = key.kind.validate(written)
        if value is None:
            shown = "invalid" if key.is_secret else _format_value(written)
            contents.error(name, f"{name} is {shown}; it must be {key.kind.accepts}", "until then its default applies")
        else:
            yield name, value


def _report_unknown(contents: _Contents) -> Iterator[Notice]:
    for place, name in enumerate(contents.unknown):
        if place == _MOST_UNKNOWN:
            more = len(contents.unknown) - _MOST_UNKNOWN
            yield Notice("error", "", f"{more:,} more keys are unknown ({contents.origin})")
            return
        printable = _escape(_truncate(name))
        yield Notice("error", printable, f"unknown key {printable!r} ({contents.origin})", _suggest_name(name))


def _suggest_name(name: str) -> str:
    section, _, last = name.rpartition(".")
    if name in BY_NAME:
        return f'write it as "{section}": {{"{last}": …}}'
    elsewhere = [known for known in BY_NAME if known.rpartition(".")[2] == last]
    if match := nearest(name, BY_NAME) or next(iter(elsewhere), None):
        return f"did you mean {match!r}?"
    in_section = [known for known in BY_NAME if known.startswith(f"{section}.")] if section else []
    return did_you_mean(name, in_section or [*sorted(_SECTIONS), *(known for known in BY_NAME if "." not in known)])


def _report_no_effect(key: Key, value: Any, origin: str) -> Notice:
    about = key.name if key.is_secret else f"{key.name} = {_format_value(value)}"
    return Notice("note", key.name, f"{about} has no effect: {key.meaning.replace('`', '')} ({origin})")


def _format_value(value: Any) -> str:
    """Return a short value as written, and the type of any other value."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f'"{_escape(_truncate(value))}"'
    if isinstance(value, int | float):
        return "NaN" if value != value else str(value) if abs(value) < _GREAT else "a very large number"  # noqa: PLR0124
    return "an object" if isinstance(value, Members) else "a list"


def _escape(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _truncate(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"

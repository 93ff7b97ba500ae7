"""Rewrites paths below the work tree of a session as paths relative to it, before anything is learned from its messages.

A learned text is read on other machines and in other work trees, where the folder has another name. A path that may be
meant otherwise stays: one of another host, one with ``..``, the value of a setting, one after a change of the folder,
one in a paragraph about containers or absolute paths, and one in a statement for all projects. Does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from opencode_memory.learning.extraction.events import (
    AssistantText,
    Compaction,
    Event,
    Feedback,
    Message,
    ToolCall,
    UserText,
)
from opencode_memory.learning.extraction.scope import is_for_all_projects

_BEFORE: Final = r"(?<![\w./\\~:*$%}-])"
"""No path begins after these: ``/mnt/home/ann``, ``host:/home/ann``, ``$ROOT/home/ann``, ``-I/home/ann``."""
_NAME: Final = r"[^\s\"'`<>()\[\]{},;|&:/\\]"
_LEADS_UP: Final = re.compile(r"(?:^|[/\\])\.\.+(?:[/\\]|$)")
_NEEDS_WHOLE: Final = re.compile(
    r"absolu(?!tely|ment)|\bfull path|\bcontai?ner|conteneur|contenedor|cont[êe]iner|\bdocker|\bpodman|\bmount|\bln -|\bssh\b|绝对|絶対|容器|コンテナ",
    re.IGNORECASE,
)
"""Words of a paragraph whose paths are those of a container, or must stay absolute."""
_PARAGRAPH: Final = re.compile(r"(\n[ \t]*\n)")
_LIST: Final = re.compile(r":[/\\$~%]")
"""Follows a path in a list, such as ``PATH=/home/ann/bin:$PATH``, and in a pair, such as ``-v /home/ann:/data``."""
_ENTERS: Final = re.compile(r"(?<![\w-])(?:cd|pushd|-C)\s+[\"']?([^\s\"';&|)]+)")
"""Changes the folder, from which a relative path would be another one."""
_SETTING: Final = re.compile(r"(?<![\w-])[A-Z]\w*=[\"']?$")
"""Precedes a path in a unit of systemd, such as ``ExecStart=/home/ann/run``, and in a variable. Both need the whole path."""
_LOOKED_AT: Final = 300
"""Characters before a path in which a change of the folder is looked for."""
_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]")


def localise(messages: Sequence[Message], work_tree: str | None) -> list[Message]:
    """Return messages whose texts name files below a work tree by their relative paths.

    Ids and digests stay those of the original messages.

    Args:
        messages: The messages.
        work_tree: Absolute path of the work tree; None if it is not known.
    """
    if not work_tree:
        return [*messages]
    return [
        replace(message, events=tuple(_localise(event, work_tree) for event in message.events)) for message in messages
    ]


def make_paths_relative(text: str, work_tree: str) -> str:
    r"""Return a text in which paths below a work tree are relative to it.

    >>> make_paths_relative("Run /work/app/lint.sh; see /work/app2/x.py and me@host:/work/app/y.py.", "/work/app")
    'Run lint.sh; see /work/app2/x.py and me@host:/work/app/y.py.'
    """
    is_windows = _WINDOWS.match(work_tree) is not None
    tree = work_tree.rstrip("/\\" if is_windows else "/")
    if not tree or (not is_windows and tree not in text):
        return text
    separator = r"[\\/]" if is_windows else "/"
    parts = re.split(separator, tree)
    pattern = rf"{_BEFORE}{separator.join(map(re.escape, parts))}{separator}(?P<rest>{_NAME}+(?:[/\\]+{_NAME}+)*[/\\]?)"
    flags = re.IGNORECASE if is_windows else 0
    return "".join(
        part if _NEEDS_WHOLE.search(part) else re.sub(pattern, lambda found: _shorten(found, tree), part, flags=flags)
        for part in _PARAGRAPH.split(text)
    )


def _shorten(found: re.Match[str], tree: str) -> str:
    """Return the relative path, or the whole one if the relative one may be another path."""
    before = found.string[max(0, found.start() - _LOOKED_AT) : found.start()].rpartition("\n")[2]
    is_elsewhere = any(entered[1].rstrip("/\\") != tree for entered in _ENTERS.finditer(before))
    needs_whole = _SETTING.search(before) or _LIST.match(found.string, found.end())
    return found[0] if is_elsewhere or needs_whole or _LEADS_UP.search(found["rest"]) else found["rest"]


def _localise(event: Event, tree: str) -> Event:
    match event:
        case UserText() | AssistantText():
            # In another project, a relative path would name another file.
            return (
                event if is_for_all_projects(event.text) else replace(event, text=make_paths_relative(event.text, tree))
            )
        case Feedback():
            if is_for_all_projects(event.text):
                return event
            return replace(event, text=make_paths_relative(event.text, tree), input=_localise_input(event.input, tree))
        case ToolCall():
            return replace(
                event,
                input=_localise_input(event.input, tree),
                output=make_paths_relative(event.output, tree),
                error=make_paths_relative(event.error, tree),
            )
        case Compaction():
            return replace(event, summary=make_paths_relative(event.summary, tree))
        case _:
            return event


def _localise_input(given: Mapping[str, Any], tree: str) -> dict[str, Any]:
    return {
        name: make_paths_relative(value, tree) if isinstance(value, str) else value for name, value in given.items()
    }

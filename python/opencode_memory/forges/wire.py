"""The APIs of GitHub and GitLab: the address of an item, and its form in an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from opencode_memory.config.forge import ForgeKind
from opencode_memory.forges.item import Item, ItemKind, ItemState, Reference, make_item

ACCEPT: Final = MappingProxyType(
    {ForgeKind.GITHUB: "application/vnd.github+json", ForgeKind.GITLAB: "application/json"}
)
_GITHUB_PARTS: Final = 2
_GITLAB_STATES: Final = {
    "opened": ItemState.OPEN,
    "reopened": ItemState.OPEN,
    "locked": ItemState.OPEN,
    "closed": ItemState.CLOSED,
    "merged": ItemState.MERGED,
}
_GITLAB: Final = {
    "#": ("projects", "issues", ItemKind.ISSUE),
    "!": ("projects", "merge_requests", ItemKind.MERGE_REQUEST),
    "&": ("groups", "epics", ItemKind.EPIC),
}


def find_path(kind: ForgeKind, reference: Reference) -> str | None:
    """Return the path of an item in the API; None if this kind of forge has no such items."""
    if kind is ForgeKind.GITHUB:
        # A pull request is an issue as well, so one request finds both.
        is_known = reference.sign == "#" and len(reference.path.split("/")) == _GITHUB_PARTS
        return f"/repos/{quote(reference.path)}/issues/{reference.number}" if is_known else None
    places, items, _ = _GITLAB[reference.sign]
    return f"/{places}/{quote(reference.path, safe='')}/{items}/{reference.number}"


def parse_answer(kind: ForgeKind, reference: Reference, answer: object) -> Item | None:
    """Read an item from the JSON of an answer; None if the answer has another form."""
    if not isinstance(answer, dict):
        return None
    return _PARSERS[kind](reference, answer)


def _parse_github(_reference: Reference, answer: Mapping[str, Any]) -> Item | None:
    pull = answer.get("pull_request")
    match answer:
        case {"title": str(title), "state": "open" | "closed" as state}:
            is_merged = isinstance(pull, dict) and isinstance(pull.get("merged_at"), str)
            return make_item(
                ItemKind.PULL_REQUEST if isinstance(pull, dict) else ItemKind.ISSUE,
                title,
                ItemState.MERGED if is_merged else ItemState(state),
                # Old versions of the API send names instead of objects.
                [label.get("name") if isinstance(label, dict) else label for label in _list(answer.get("labels"))],
                _member(answer.get("user"), "login"),
            )
    return None


def _parse_gitlab(reference: Reference, answer: Mapping[str, Any]) -> Item | None:
    match answer:
        case {"title": str(title), "state": str(state)} if state in _GITLAB_STATES:
            return make_item(
                _GITLAB[reference.sign][2],
                title,
                _GITLAB_STATES[state],
                [label.get("name") if isinstance(label, dict) else label for label in _list(answer.get("labels"))],
                _member(answer.get("author"), "username"),
            )
    return None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


_PARSERS: Final[Mapping[ForgeKind, Callable[[Reference, Mapping[str, Any]], Item | None]]] = MappingProxyType(
    {ForgeKind.GITHUB: _parse_github, ForgeKind.GITLAB: _parse_gitlab}
)

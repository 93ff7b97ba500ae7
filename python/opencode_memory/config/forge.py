"""Section ``forge``: whether and where titles and states of issues are fetched, and the tokens of the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from opencode_memory.config.setting import Setting, always
from opencode_memory.config.value_kinds import FLAG, TEXTS, whole_number

GITHUB: Final = "github.com"
GITLAB: Final = "gitlab.com"
_TOKENS: Final = {
    "github": ("GH_TOKEN", "GITHUB_TOKEN"),
    "github-enterprise": ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"),
    "gitlab": ("GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN"),
}
_HOSTS: Final = {"github": ("GH_HOST",), "gitlab": ("GITLAB_HOST", "GITLAB_URI", "GL_HOST")}


class ForgeKind(StrEnum):
    """Software of a forge, which determines its API."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeConfig:
    """Settings of forges.

    Attributes:
        enabled: Whether the worker and agents may fetch; the command ``enrich`` may always do so.
        hosts: Addresses of self-hosted forges, each after its kind: ``gitlab:https://git.example.com``.
        refresh_hours: Hours after which an open item is fetched again.
    """

    enabled: bool
    hosts: tuple[str, ...]
    refresh_hours: int


FORGE_SETTINGS: Final = (
    Setting("forge.enabled", "fetch titles and states of issues from GitHub and GitLab", always(False), FLAG),
    Setting("forge.hosts", "self-hosted forges, as gitlab:https://HOST or github:https://HOST", always(()), TEXTS),
    Setting("forge.refresh_hours", "hours until an open issue is fetched again", always(24), whole_number(1, 720)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentToken:
    """The token of one forge in the environment.

    Attributes:
        host: The only host that the token may be sent to.
        kind: Software of the forge.
        variable: Name of the variable.
        token: Its value.
    """

    host: str
    kind: ForgeKind
    variable: str
    token: str

    def __repr__(self) -> str:
        return f"EnvironmentToken({self.host}, {self.variable})"


def read_tokens(environment: Mapping[str, str]) -> tuple[EnvironmentToken, ...]:
    """Return the tokens of the environment, each with the host that it belongs to.

    The programs ``gh`` and ``glab`` use the same variables. A token of GitLab belongs to ``GITLAB_HOST``, or to
    gitlab.com. ``GH_ENTERPRISE_TOKEN`` belongs to ``GH_HOST``. A host that only a remote names gets none of them,
    because a repository of a stranger can name any host.
    """
    enterprise = read_host(environment, ForgeKind.GITHUB)
    found = (
        (GITHUB, ForgeKind.GITHUB, _TOKENS["github"]),
        (None if enterprise == GITHUB else enterprise, ForgeKind.GITHUB, _TOKENS["github-enterprise"]),
        (read_host(environment, ForgeKind.GITLAB) or GITLAB, ForgeKind.GITLAB, _TOKENS["gitlab"]),
    )
    tokens = []
    for host, kind, variables in found:
        variable = next((name for name in variables if environment.get(name, "").strip()), None)
        if host is not None and variable is not None:
            token = environment[variable].strip()
            tokens.append(EnvironmentToken(host=host, kind=kind, variable=variable, token=token))
    return tuple(tokens)


def read_host(environment: Mapping[str, str], kind: ForgeKind) -> str | None:
    """Return the host that the environment names for a kind of forge, in lower case; None if it names none."""
    for name in _HOSTS[kind]:
        if written := environment.get(name, "").strip():
            host = written.partition("://")[2] or written
            return host.partition("/")[0].partition(":")[0].lower()
    return None


def without_tokens(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without tokens and hosts of forges.

    ``glab`` and ``gh`` otherwise answer with a token of the environment for whatever host they are asked about.
    """
    names = {name for names in (*_TOKENS.values(), *_HOSTS.values()) for name in names} | {"OAUTH_TOKEN"}
    return {name: value for name, value in environment.items() if name not in names}

"""The forges of the user: their addresses, and the token of each.

A token is bound to its host. A host gets one only if the environment names the host, or if ``gh`` or ``glab`` is
logged in there. The remote of a repository alone gives a host no token, because the repository may be a stranger's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from opencode_memory.config.forge import GITHUB, GITLAB, ForgeConfig, ForgeKind, read_tokens
from opencode_memory.config.value_kinds import KEY
from opencode_memory.entities.forge import home_of
from opencode_memory.errors import InvalidInputError
from opencode_memory.forges.errors import NotAskedError
from opencode_memory.forges.programs import PROGRAMS, TokenFinder, ask_program
from opencode_memory.http_client.address import Address, parse_address

_FORM: Final = "gitlab:https://HOST or github:https://HOST"
_PUBLIC: Final = {
    GITHUB: (ForgeKind.GITHUB, "https://api.github.com"),
    GITLAB: (ForgeKind.GITLAB, "https://gitlab.com/api/v4"),
}
_API: Final = {ForgeKind.GITHUB: "/api/v3", ForgeKind.GITLAB: "/api/v4"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """A forge that may be asked.

    Attributes:
        host: Its host, as entities name it.
        kind: Its software.
        api: Base address of its API.
        is_loopback: Whether it is this machine.
        token: The token; it is left out of ``repr``.
        token_source: Where the token comes from: a variable or a program.
    """

    host: str
    kind: ForgeKind
    api: str
    is_loopback: bool
    token: str = field(repr=False)
    token_source: str


class Forges:
    """Finds the forge of a host. Programs are asked at most once for each host.

    Args:
        config: Settings of forges.
        environment: Environment with the tokens.
        projects: Names of the user's projects, which begin with the hosts of their remotes.
        find_token: Asks a program for the token of a host.

    Raises:
        InvalidInputError: ``forge.hosts`` has an invalid entry.
    """

    def __init__(
        self,
        config: ForgeConfig,
        environment: Mapping[str, str],
        projects: Iterable[str],
        *,
        find_token: TokenFinder = ask_program,
    ) -> None:
        self._environment = environment
        self._configured = dict(_parse_hosts(config.hosts))
        self._tokens = {token.host: token for token in read_tokens(environment)}
        homes = map(home_of, projects)
        self._remotes = frozenset(home.host for home in homes if home is not None)
        self._find_token = find_token
        self._found: dict[str, Forge | None] = {}

    def hosts(self) -> tuple[str, ...]:
        """Return the hosts that may be forges, whether there is a token or not."""
        return tuple(sorted({*_PUBLIC, *self._configured, *self._tokens, *self._remotes}))

    def expected(self) -> tuple[str, ...]:
        """Return the hosts that the user has configured, and the public ones that projects have as a remote."""
        return tuple(sorted({*self._configured, *(self._remotes & _PUBLIC.keys())}))

    def may_ask(self, host: str) -> bool:
        """Return whether a host may be a forge of the user."""
        return host in _PUBLIC or host in self._configured or host in self._tokens or host in self._remotes

    def find(self, host: str) -> Forge | None:
        """Return the forge of a host; None if it is no forge of the user, or if there is no token for it."""
        if not self.may_ask(host):
            return None
        if host not in self._found:
            self._found[host] = self._look_up(host)
        return self._found[host]

    def get(self, host: str) -> Forge:
        """Return the forge of a host.

        Raises:
            NotAskedError: It is no forge of the user, or there is no token for it.
        """
        forge = self.find(host)
        if forge is not None:
            return forge
        if not self.may_ask(host):
            message = f"{host} is neither a remote of a project nor in forge.hosts"
            raise NotAskedError(message, hint=f"opencode-memory config set forge.hosts {_FORM.replace('HOST', host)}")
        raise NotAskedError(f"there is no token for {host}", hint=self.describe_missing(host))

    def describe_missing(self, host: str) -> str:
        """Say how to give a host its token."""
        if host == GITHUB:
            return "set GITHUB_TOKEN, or run `gh auth login`"
        if host == GITLAB:
            return "set GITLAB_TOKEN, or run `glab auth login`"
        known = self._configured.get(host)
        ways = {
            ForgeKind.GITLAB: f"set GITLAB_HOST={host} and GITLAB_TOKEN, or run `glab auth login --hostname {host}`",
            ForgeKind.GITHUB: f"set GH_HOST={host} and GH_ENTERPRISE_TOKEN, or run `gh auth login --hostname {host}`",
        }
        return ways[known[0]] if known is not None else f"for GitLab, {ways[ForgeKind.GITLAB]}"

    def _look_up(self, host: str) -> Forge | None:
        known = self._configured.get(host)
        token = self._tokens.get(host)
        kind = known[0] if known is not None else _PUBLIC[host][0] if host in _PUBLIC else None
        if token is not None and kind in (None, token.kind) and KEY.validate(token.token) is not None:
            return self._build(host, token.kind, token.token, token.variable)
        for candidate in (kind,) if kind is not None else (ForgeKind.GITLAB, ForgeKind.GITHUB):
            found = self._find_token(candidate, host, self._environment)
            if found is not None and KEY.validate(found) is not None:
                return self._build(host, candidate, found, PROGRAMS[candidate])
        return None

    def _build(self, host: str, kind: ForgeKind, token: str, source: str) -> Forge:
        known = self._configured.get(host)
        if known is not None:
            address = known[1]
            api, is_loopback = f"{address.origin}{address.path}{_API[kind]}", address.is_loopback
        else:
            api, is_loopback = _find_api(host, kind), False
        return Forge(host=host, kind=kind, api=api, is_loopback=is_loopback, token=token, token_source=source)


def _find_api(host: str, kind: ForgeKind) -> str:
    if host in _PUBLIC:
        return _PUBLIC[host][1]
    # GitHub Enterprise Cloud has the form of github.com, and GitHub Enterprise Server has not.
    is_cloud = kind is ForgeKind.GITHUB and host.endswith(".ghe.com")
    return f"https://api.{host}" if is_cloud else f"https://{host}{_API[kind]}"


def _parse_hosts(entries: Iterable[str]) -> Iterator[tuple[str, tuple[ForgeKind, Address]]]:
    for entry in entries:
        kind, colon, url = entry.partition(":")
        if not colon or kind not in set(ForgeKind):
            raise InvalidInputError(
                f"forge.hosts: {kind[:40]!r} is not gitlab or github", field="forge.hosts", limit=_FORM
            )
        written = url if "://" in url else f"https://{url}"
        address = parse_address(written, field="forge.hosts", about="a forge", form=_FORM)
        yield address.host, (ForgeKind(kind), address)

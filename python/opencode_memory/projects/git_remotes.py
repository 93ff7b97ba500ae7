"""The remotes of a repository, read from its configuration file without running git.

A hostile file cannot execute a program: only ``url`` under ``[remote "..."]`` is read, as text. Includes and
``insteadOf`` are ignored, because both depend on the user who reads the file, and a project must not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

_SECTION: Final = re.compile(
    r'\s*\[\s*(?P<name>[A-Za-z0-9.-]+)(?:\s+"(?P<label>(?:[^"\\]|\\.)*)")?\s*\](?P<rest>.*)', re.DOTALL
)
_VARIABLE: Final = re.compile(r"\s*(?P<name>[A-Za-z][A-Za-z0-9-]*)\s*=\s*(?P<value>.*)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b"}

_URL: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[^@/]*@)?(?P<host>\[[^\]/]+\]|[^:/]+)(?::\d*)?/(?P<path>.*)", re.IGNORECASE
)
_SCP: Final = re.compile(r"(?:[^@/:]+@)?(?P<host>\[[^\]/]+\]|[^:/\\]{2,}):(?P<path>[^:].*)")
_TRANSPORT: Final = re.compile(r"[A-Za-z0-9+.-]+::")
_SCHEMES: Final = frozenset({"ssh", "git", "http", "https", "git+ssh", "ssh+git", "git+https", "ftp", "ftps"})
_SSH_OVER_HTTPS: Final = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
_FIRST: Final = ("origin", "upstream")


def read_remotes(config: str) -> tuple[str, ...]:
    """Return the remotes of a git configuration as ``host/path``, ``origin`` first, then ``upstream``, then the others.

    Remotes that are folders of this machine, or that name no host, are left out.
    """
    urls: dict[str, str] = {}
    for section, label, name, value in _variables(config):
        if section == "remote" and name == "url":
            urls.setdefault(label, value)
    order = sorted(urls, key=lambda label: _FIRST.index(label) if label in _FIRST else len(_FIRST))
    normalised = (normalise_remote(urls[label]) for label in order)
    return tuple(dict.fromkeys(remote for remote in normalised if remote is not None))


def normalise_remote(url: str) -> str | None:
    """Reduce a remote to the part that is the same for every clone: ``host/path``.

    User, password, port, query, ``.git`` and the protocol are dropped and the host is in lower case. A clone by ssh and
    one by https are therefore the same project, and no credential gets into the store.

    Returns:
        None for a local path, for a transport that needs a program (``ext::...``), and for an invalid address.

    >>> normalise_remote("ssh://git@GitLab.com:2222/acme/Shop.git")
    'gitlab.com/acme/Shop'
    >>> normalise_remote("git@gitlab.com:acme/Shop")
    'gitlab.com/acme/Shop'
    """
    url = url.strip()
    match = None if _TRANSPORT.match(url) else (_URL if "://" in url else _SCP).fullmatch(url)
    if match is None:
        return None
    path = match["path"]
    if scheme := match.groupdict().get("scheme"):
        if scheme.lower() not in _SCHEMES:
            return None
        path = unquote(re.split(r"[?#]", path, maxsplit=1)[0])
    host = match["host"].lower().rstrip(".")
    path = re.sub(r"/{2,}", "/", path).strip("/").removesuffix(".git").rstrip("/")
    if not host or not path or not f"{host}{path}".isprintable():
        return None
    return f"{_SSH_OVER_HTTPS.get(host, host)}/{path}"


def _variables(config: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield section, label, name and value; skip invalid lines."""
    section, label = "", ""
    lines = iter(config.replace("\r\n", "\n").split("\n"))
    for line in lines:
        rest = line
        if match := _SECTION.fullmatch(line):
            section, dot, dotted = match["name"].lower().partition(".")
            label = re.sub(r"\\(.)", r"\1", match["label"]) if match["label"] is not None else dotted if dot else ""
            rest = match["rest"]
        if variable := _VARIABLE.fullmatch(rest):
            yield section, label, variable["name"].lower(), _value(variable["value"], lines)


def _value(text: str, following: Iterator[str]) -> str:
    """Decode quotes, escapes, comments and continued lines, as git-config(1) describes them."""
    value: list[str] = []
    quoted = False
    kept = 0  # Length of the value without the unquoted blanks at its end.
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\":
            if position == len(text):
                text, position = next(following, ""), 0
                continue
            character = _ESCAPES.get(text[position], text[position])
            position += 1
            value.append(character)
            kept = len(value)
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            value.append(character)
            if quoted or not character.isspace():
                kept = len(value)
    return "".join(value[:kept])

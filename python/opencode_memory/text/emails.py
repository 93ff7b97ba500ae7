"""Masks e-mail addresses, because learned memories must not name people by their addresses.

Remotes (``git@host:path``, ``ssh://user@host``), package scopes (``@scope/package``), versions (``package@1.2.3``) and
file names (``logo@2x.png``) are no addresses and stay.
"""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "[email]"
_NOT_DOMAINS: Final = (
    "service|timer|socket|target|mount|slice|png|jpe?g|gif|svg|webp|ico|pdf|jsx?|tsx?|mjs|cjs|json|css|scss|html?|vue"
    "|svelte|ya?ml|toml|lock|txt|xml|zip|gz|tgz|tar"
)
"""Last parts of file names and of systemd units, which are no top-level domains."""
_ADDRESS: Final = re.compile(
    r"(?<![\w.%+-])(?<!://)"
    r"(?!(?:git|hg|svn)@)"
    r"(?P<name>[\w.%+-]{1,64}?)(?:@|%40)"
    r"(?:[^\W_](?:[\w-]{0,62})\.){1,6}"
    rf"(?!(?:{_NOT_DOMAINS})\b)[^\W\d_]{{2,24}}(?![\w(-]|\.\w)"
    r"(?!:[\w.~-]*/)",
    re.IGNORECASE,
)


def mask_emails(text: str) -> str:
    """Replace e-mail addresses, also inside paths and commands, by ``[email]``.

    >>> mask_emails("cp /home/ann@example.com/a.txt . && git clone git@example.com:shop/web.git")
    'cp /home/[email]/a.txt . && git clone git@example.com:shop/web.git'
    """
    return _ADDRESS.sub(MASK, text) if "@" in text or "%40" in text else text

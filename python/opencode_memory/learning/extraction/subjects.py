"""What a statement is about, as far as it can be told: what it would replace, and when it was said before.

Of things of which a project uses one (a package manager, a test runner …) a choice is a topic: the next choice replaces it.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from opencode_memory._core import terms
from opencode_memory.models import Category

_ALTERNATIVES: Final = {
    "package-manager": ("npm", "yarn", "pnpm", "bun"),
    "python-packages": ("pip", "poetry", "uv", "pipenv", "conda", "pdm"),
    "javascript-tests": ("jest", "vitest", "mocha", "ava", "jasmine", "karma"),
    "python-tests": ("pytest", "unittest", "nose"),
    "browser-tests": ("cypress", "playwright", "selenium", "puppeteer"),
    "python-format": ("black", "yapf", "autopep8"),
    "javascript-lint": ("eslint", "biome", "tslint", "standardjs"),
    "indentation": ("tabs", "spaces"),
    "quotes": ("single quotes", "double quotes"),
    "containers": ("docker", "podman"),
    "java-build": ("maven", "gradle", "mvn"),
    "search": ("grep", "ripgrep"),
    "http-client": ("axios", "fetch", "requests", "httpx", "ky"),
    "shell": ("bash", "zsh", "fish"),
    "task-runner": ("make", "just", "taskfile"),
    "merging": ("squash", "rebase", "merge commits"),
    "frontend": ("react", "vue", "svelte", "angular", "htmx", "solid"),
    "database": ("postgres", "postgresql", "mysql", "mariadb", "sqlite", "mongodb"),
    "broker": ("kafka", "rabbitmq", "nats", "sqs", "pulsar"),
    "infrastructure": ("terraform", "tofu", "pulumi", "ansible"),
}
_EXCLUSIVE: Final = frozenset({"package-manager", "javascript-tests", "python-tests", "indentation", "quotes"})
"""Of which a project has one. Of the others it may have several, so a choice replaces nothing."""
_KIND_OF: Final = {name: kind for kind, names in _ALTERNATIVES.items() for name in names}
_NAMES: Final = re.compile(
    r"(?<![\w./-])(" + "|".join(sorted(map(re.escape, _KIND_OF), key=len, reverse=True)) + r")(?![\w-])", re.IGNORECASE
)
_LEAST_TERMS: Final = 2
_CHOOSES: Final = frozenset({Category.PREFERENCE, Category.CONVENTION, Category.DECISION, Category.DIRECTIVE})
_CHOSEN: Final = re.compile(
    r"\b(?:use|using|uses|go with|going with|stick with|prefer|switch to|moving to|move to|run|always|only)\b|^(?:it'?s )?[\w-]+(?:,| not|[.!]|$)",
    re.IGNORECASE,
)


def find_alternatives(text: str) -> frozenset[tuple[str, str]]:
    """Return the alternatives that a text names, each with its kind."""
    return frozenset((_KIND_OF[match[1].lower()], match[1].lower()) for match in _NAMES.finditer(text))


def make_topic(category: Category, content: str) -> str | None:
    """Return what a statement would replace: the earlier choice of the same kind; None where it replaces nothing.

    A blocker has a topic too, so that its resolution finds it.
    """
    if category is Category.BLOCKER:
        return f"learned:{normalise_statement(category, content) or 'blocker:other'}"
    kinds = {kind for kind, _ in find_alternatives(content)} & _EXCLUSIVE
    if category not in _CHOOSES or len(kinds) != 1 or not _CHOSEN.search(content):
        return None
    return f"learned:choice:{kinds.pop()}"


def normalise_statement(category: Category, content: str) -> str | None:
    """Return what is the same for the same statement in other words order; None when it has too few words to tell."""
    found = sorted({*terms(content)[0]})
    if len(found) < _LEAST_TERMS:
        return None
    return f"{category}:{hashlib.blake2b(' '.join(found).encode(), digest_size=12).hexdigest()}"

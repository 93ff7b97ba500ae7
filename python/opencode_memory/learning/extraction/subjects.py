"""Subjects of statements: alternatives of one kind, topics of blockers, and the normal form that counts repetitions."""

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
_KIND_OF: Final = {name: kind for kind, names in _ALTERNATIVES.items() for name in names}
_NAMES: Final = re.compile(
    r"(?<![\w./-])(" + "|".join(sorted(map(re.escape, _KIND_OF), key=len, reverse=True)) + r")(?![\w-])", re.IGNORECASE
)
_LEAST_TERMS: Final = 2


def find_alternatives(text: str) -> frozenset[tuple[str, str]]:
    """Return the alternatives that a text names, each with its kind."""
    return frozenset((_KIND_OF[match[1].lower()], match[1].lower()) for match in _NAMES.finditer(text))


def make_topic(category: Category, content: str) -> str | None:
    """Return the topic of a blocker, which its resolution replaces; None for other categories.

    Other statements get no topic: what replaces what is decided by the comparison of both texts, which keeps the
    earlier one as history. Two rules that name one tool are both true ("run ``npm test`` before you commit", "use pnpm").
    """
    if category is not Category.BLOCKER:
        return None
    return f"learned:{normalise_statement(category, content) or 'blocker:other'}"


def normalise_statement(category: Category, content: str) -> str | None:
    """Return a hash of a statement's terms that ignores their order; None if it has too few terms."""
    found = sorted({*terms(content)[0]})
    if len(found) < _LEAST_TERMS:
        return None
    return f"{category}:{hashlib.blake2b(' '.join(found).encode(), digest_size=12).hexdigest()}"

"""Subjects of work: distinguishes rules about how to work from requirements for the product.

"Migrations must never be edited" is about work, "the save button must never be grey" about the product.
"""

from __future__ import annotations

import re
from typing import Final

_WORK: Final = re.compile(
    r"\b(?:commits?|commit messages?|pull requests?|prs?|mrs?|branch(?:es)?|rebas(?:e|ing)|merges?|code reviews?|"
    r"unit tests?|integration tests?|e2e tests?|tests?|test (?:files?|data|names?)|specs?|"
    r"code|source files?|functions?|methods?|class(?:es)?|modules?|variables?|constants?|identifiers?|docstrings?|"
    r"code comments?|docs?|documentation|readmes?|changelogs?|migrations?|schemas?|"
    r"quer(?:y|ies)|imports?|dependenc(?:y|ies)|packages?|libraries|secrets?|credentials?|api keys?|"
    r"env(?:ironment)? (?:vars?|variables?|files?)|configs?|scripts?|releases?|deploy(?:ment|s)?s?|builds?|"
    r"dockerfiles?|(?:docker|container) images|artifacts?|makefiles?|fixtures?|mocks?|stubs?|type hints?|types|endpoints?|linter|lint|formatter|ci|"
    r"pipelines?|todos?|error messages|log messages|cursor(?: ai)?|claude(?: code)?|copilot|codex|opencode|"
    r"ai agents?|ai|"
    r"main|master|production|prod|staging|task files?|prds?|tickets?|file ?names?|naming)\b|`[^`]+`|"
    r"\b[\w-]+\.(?:md|mdc|toml|json|ya?ml|py|ts|tsx|js|go|rs|txt|env|sql|sh|cfg|ini|lock)\b",
    re.IGNORECASE,
)
_PRODUCT: Final = re.compile(
    r"\b(?:users?|customers?|players?|visitors?|buttons?|pages?|screens?|dialogs?|modals?|menus?|(?<!license )(?<!licence )(?<!http )headers?|"
    r"footers?|sidebar|icons?|widgets?|cards?|popups?|tooltips?|colou?rs?|fonts?|"
    r"robots?|cursor position|animation|scroll(?:ing|bar)?|hover|background|margins?|padding|pixels?|px|label|"
    r"labels|title|titles)\b",
    re.IGNORECASE,
)
_LOOK: Final = re.compile(
    r"\b(?:buttons?|colou?rs?|fonts?|icons?|margins?|padding|px|pixels?|hover|animations?|background|headers?|"
    r"footers?|"
    r"sidebar|tooltips?|popups?|modals?|layout|borders?|shadows?|cards?|dropdowns?|sliders?|labels?|bold|italic|"
    r"legend)\b",
    re.IGNORECASE,
)


def is_about_work(text: str) -> bool:
    """Return whether a text names something of the work on a project: code, tests, commits, files."""
    return bool(_WORK.search(text))


def is_about_product(text: str) -> bool:
    """Return whether a text names something that users of the product see."""
    return bool(_PRODUCT.search(text))


def is_about_look(text: str) -> bool:
    """Return whether a text is about how the product looks, which the next edit changes."""
    return bool(_LOOK.search(text))

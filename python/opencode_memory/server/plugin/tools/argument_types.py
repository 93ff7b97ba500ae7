"""Types of arguments that several of these tools share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from opencode_memory.errors import InvalidInputError
from opencode_memory.models import Category
from opencode_memory.text.suggest import did_you_mean

SCOPES = "convention, decision, context or another category"
# Any text in the schema, checked below. An enum of thirteen words in three schemas would cost more than all
# descriptions.
ScopeName = Annotated[str, Field(min_length=1, max_length=64, description=SCOPES)]
AnyScope = Annotated[str | None, Field(max_length=64)]
Id = Annotated[str, Field(min_length=6, max_length=64)]


def parse_category(scope: str) -> Category:
    """Return the category of a memory, which these tools call its scope.

    Raises:
        InvalidInputError: There is no category of this name.
    """
    try:
        return Category(scope.strip().lower())
    except ValueError as error:
        raise InvalidInputError(
            f"scope: there is no {scope[:64]!r}; {did_you_mean(scope[:64], Category)}", field="scope"
        ) from error

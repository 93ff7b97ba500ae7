"""The options that every command takes, before or after its name.

This is loaded to show any help, so it loads nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

import click

COLORS: Final = ("auto", "always", "never")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalOptions:
    """The options that every command takes, as they were typed; None where they were not."""

    folder: str | None = None
    project: str | None = None
    data_dir: str | None = None
    as_json: bool | None = None
    color: str | None = None

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the options."""
        return tuple(field.name for field in fields(cls))

    def over(self, outer: GlobalOptions) -> GlobalOptions:
        """Return these options, with those of an outer command where these say nothing."""
        given = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}
        return replace(outer, **given)


def global_options(*, hidden: bool) -> list[click.Option]:
    """Return the options that hold for every command."""
    return [
        click.Option(
            ["-C", "--dir", "folder"], metavar="DIR", help="Folder that the project is found from.", hidden=hidden
        ),
        click.Option(["-p", "--project"], metavar="NAME", help="Project, instead of the folder's.", hidden=hidden),
        click.Option(["--data-dir"], metavar="DIR", help="Folder of the store.", hidden=hidden),
        click.Option(["--json", "as_json"], is_flag=True, default=None, help="Print JSON.", hidden=hidden),
        click.Option(["--color"], type=click.Choice(COLORS), help="Colour the output.", hidden=hidden),
    ]

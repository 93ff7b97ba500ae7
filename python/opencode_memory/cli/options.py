"""Global options, which every command accepts before or after its name.

Every help page imports this module, so it imports no other module of the package.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

import click

COLORS: Final = ("auto", "always", "never")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalOptions:
    """Values of the global options; None if an option is absent."""

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
        """Return these options, and those of an outer command for the absent ones."""
        given = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}
        return replace(outer, **given)


def global_options(*, hidden: bool) -> list[click.Option]:
    """Build the options that every command accepts."""
    return [
        click.Option(
            ["-C", "--dir", "folder"],
            metavar="DIR",
            help="Folder that determines the project.  [default: .]",
            hidden=hidden,
        ),
        click.Option(
            ["-p", "--project"],
            metavar="NAME",
            help="Name of the project.  [default: project of the folder]",
            hidden=hidden,
        ),
        click.Option(["--data-dir"], metavar="DIR", help="Folder of the store.", hidden=hidden),
        click.Option(["--json", "as_json"], is_flag=True, default=None, help="Print one JSON document.", hidden=hidden),
        click.Option(["--color"], type=click.Choice(COLORS), help="When to color the output.", hidden=hidden),
    ]

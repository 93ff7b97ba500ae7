"""Base classes and the decorator of commands.

Every command accepts the global options before and after its name. A command converts its options to a request, and
passes the request to a function that does not depend on click. A command's module is imported only when the command
runs; the list of commands with their one-line help is a table.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec

import click

from opencode_memory.cli.errors import OutputClosed
from opencode_memory.cli.options import GlobalOptions, global_options
from opencode_memory.text.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.cli.context import Invocation

P = ParamSpec("P")

_EPILOG: Final = "Options of all commands (-C, -p, --data-dir, --json, --color): opencode-memory --help"


class _TakesGlobalOptions(click.Command):
    """Command that accepts the global options and passes them to its subcommands."""

    def __init__(self, *args: Any, hidden: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # click creates the help option once, from the first context, so every context must name it alike.
        self.context_settings.setdefault("help_option_names", ["-h", "--help"])
        self.params.extend(global_options(hidden=hidden))

    def invoke(self, ctx: click.Context) -> Any:
        """Remove the global options from the parameters, and run the command with the others."""
        given = GlobalOptions(**{name: ctx.params.pop(name) for name in GlobalOptions.names()})
        ctx.obj = given.over(ctx.obj or GlobalOptions())
        return super().invoke(ctx)


class Command(_TakesGlobalOptions):
    """A command that accepts the global options without listing them in its help."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, hidden=True, **{"epilog": _EPILOG} | kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. A closed output pipe counts as success, while click would report a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise OutputClosed from error


class Group(_TakesGlobalOptions, click.Group):
    """A group of a few commands in one module."""

    def __init__(self, *args: Any, hidden: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, hidden=hidden, **kwargs)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by name, and suggest the nearest name if there is none."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            hint = self.suggest(ctx, args[0])
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def suggest(self, ctx: click.Context, name: str) -> str:
        """Return a hint for the name of a command that does not exist."""
        return did_you_mean(name, self.list_commands(ctx))


def command(
    name: str, *, is_paged: bool = False
) -> Callable[[Callable[Concatenate[Invocation, P], int | None]], Command]:
    """Declare a command. The function receives the invocation first, and returns the exit code; None means 0.

    Args:
        name: Its name.
        is_paged: Whether an answer that is longer than the screen opens the user's pager.
    """

    def declare(function: Callable[Concatenate[Invocation, P], int | None]) -> Command:
        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> int | None:
            from opencode_memory.cli.context import Invocation  # noqa: PLC0415  not needed for help

            invocation = Invocation(click.get_current_context().obj)
            if not is_paged or not sys.stdout.isatty():
                return function(invocation, *args, **kwargs)
            from opencode_memory.cli.pager import paged  # noqa: PLC0415  only on a terminal

            with paged(invocation):
                return function(invocation, *args, **kwargs)

        return click.command(name, cls=Command)(run)

    return declare


class LazyGroup(Group):
    """A group whose commands are named by ``module:attribute`` and imported on first use.

    Args:
        sections: Heading to command name to (``module:attribute``, one-line help), in the order of the help.
        other_names: Names by which other programs call a command, and our command.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, tuple[str, str]]],
        other_names: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, hidden=False, **kwargs)
        self.sections = sections
        self.other_names = other_names or {}

    def suggest(self, ctx: click.Context, name: str) -> str:
        """Return a hint for the name of a command that does not exist."""
        ours = self.other_names.get(name)
        return super().suggest(ctx, name) if ours is None else f"did you mean {ours!r}?"

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the names of the commands."""
        return [name for commands in self.sections.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import a command."""
        for commands in self.sections.values():
            if cmd_name in commands:
                module, _, attribute = commands[cmd_name][0].partition(":")
                found: click.Command = getattr(importlib.import_module(module), attribute)
                return found
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, without importing them."""
        width = max(map(len, self.list_commands(ctx)))
        for heading, commands in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), about) for name, (_, about) in commands.items()])

"""``opencode-memory completion``."""

from __future__ import annotations

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation


@command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(run: Invocation, *, shell: str) -> None:
    """Print the completion script for SHELL. For example: eval "$(opencode-memory completion bash)"."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415  needed only here

    root = click.get_current_context().find_root()
    name = root.info_name or root.command.name or ""
    variable = f"_{name}_COMPLETE".replace("-", "_").upper()
    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"there is no completion for {shell}")
    run.out.text(script(root.command, {}, name, variable).source())

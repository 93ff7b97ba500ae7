"""The list of commands, with where each of them lives; none is imported before it is used."""

from __future__ import annotations

from typing import Final

import click

from opencode_memory.cli.command import LazyGroup

SECTIONS: Final = {
    "Begin": {
        "setup": ("opencode_memory.cli.setup:setup", "Put the memory into OpenCode."),
    },
    "Remember and recall": {
        "remember": ("opencode_memory.cli.remember:remember", "Store a memory."),
        "recall": ("opencode_memory.cli.recall:recall", "Find memories by words and by meaning."),
        "ingest": ("opencode_memory.cli.ingest:ingest", "Learn from OpenCode's sessions, or from notes."),
        "kv": ("opencode_memory.cli.kv:kv", "Keep short-lived values by key."),
    },
    "Learn": {
        "review": ("opencode_memory.cli.review:review", "Accept, edit or reject what waits."),
        "learning": ("opencode_memory.cli.learning:learning", "Switch learning off and on."),
        "why": ("opencode_memory.cli.why:why", "Say what was put beside messages, and why."),
        "memory-file": ("opencode_memory.cli.memory_file:memory_file", "Keep .opencode/MEMORY.md in step."),
    },
    "Look and correct": {
        "list": ("opencode_memory.cli.listing:list_memories", "List memories, newest first."),
        "show": ("opencode_memory.cli.listing:show", "Show memories completely."),
        "history": ("opencode_memory.cli.listing:history", "Show what happened to a memory."),
        "edit": ("opencode_memory.cli.edit:edit", "Change a memory."),
        "pin": ("opencode_memory.cli.curate:pin", "Keep memories in sight."),
        "unpin": ("opencode_memory.cli.curate:unpin", "Undo pin."),
        "archive": ("opencode_memory.cli.curate:archive", "Put memories out of sight."),
        "restore": ("opencode_memory.cli.curate:restore", "Bring archived memories back."),
        "delete": ("opencode_memory.cli.curate:delete", "Delete memories; undo brings them back for 30 days."),
        "undo": ("opencode_memory.cli.curate:undo", "Take the last change back."),
        "purge": ("opencode_memory.cli.purge:purge", "Erase memories for good."),
        "cleanup": ("opencode_memory.cli.cleanup:cleanup", "Delete many memories by age, category or id."),
    },
    "Move": {
        "export": ("opencode_memory.cli.transfer:export", "Write memories as JSON or Markdown."),
        "import": ("opencode_memory.cli.transfer:import_", "Read an export of this or another system."),
        "projects": ("opencode_memory.cli.projects:projects", "List, rename and merge projects."),
        "backup": ("opencode_memory.cli.backup:backup", "Create, list and restore backups."),
    },
    "Serve": {
        "serve": ("opencode_memory.cli.serve:serve", "Serve MCP clients over HTTP, or one over stdio."),
        "worker": ("opencode_memory.cli.serve:worker", "Learn, embed and clean up in the background."),
        "watch": ("opencode_memory.cli.serve:watch", "Learn in the background, and nothing else."),
    },
    "Keep healthy": {
        "stats": ("opencode_memory.cli.stats:stats", "Say what the store holds."),
        "doctor": ("opencode_memory.cli.doctor.command:doctor", "Check the installation and the store."),
        "verify": ("opencode_memory.cli.verify:verify", "Check every memory and index."),
        "repair": ("opencode_memory.cli.verify:repair", "Rebuild what verify found damaged."),
        "reindex": ("opencode_memory.cli.verify:reindex", "Embed what waits and rebuild the indexes."),
        "jobs": ("opencode_memory.cli.jobs:jobs", "Show the work that waits, and what failed."),
        "service": ("opencode_memory.cli.service:service", "Run the server in the background, from login on."),
        "config": ("opencode_memory.cli.config:config", "Show and change the configuration."),
        "completion": ("opencode_memory.cli.completion:completion", "Print the completion script of a shell."),
        "demo": ("opencode_memory.cli.demo:show", "Try it on example notes, in a throw-away store."),
    },
}


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        import opencode_memory  # noqa: PLC0415  only this needs it

        click.echo(f"opencode-memory {opencode_memory.__version__}")
        ctx.exit()


application: Final = LazyGroup(
    name="opencode-memory",
    sections=SECTIONS,
    help="Memory for coding agents: it works offline, and never loses what it acknowledged.",
    epilog='Try: opencode-memory remember "We deploy on Thursdays." && opencode-memory recall "when do we deploy"',
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Show the version.",
        )
    ],
    no_args_is_help=True,
)

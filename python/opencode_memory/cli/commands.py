"""Table of all commands and their modules; a module is imported only when its command runs."""

from __future__ import annotations

from typing import Final

import click

from opencode_memory.cli.command import LazyGroup

_OTHER_NAMES: Final = {
    "install": "setup",
    "uninstall": "setup --undo",
    "add": "remember",
    "save": "remember",
    "store": "remember",
    "search": "recall",
    "find": "recall",
    "query": "recall",
    "forget": "delete",
    "remove": "delete",
    "rm": "delete",
    "start": "serve --detach",
}
"""Names of other programs for our commands. By spelling alone, ``enrich`` would be suggested for ``search``."""
SECTIONS: Final = {
    "Begin": {
        "setup": ("opencode_memory.cli.setup:setup", "Install the plugin into OpenCode; --undo removes it."),
    },
    "Remember and recall": {
        "remember": ("opencode_memory.cli.remember:remember", "Store a memory."),
        "recall": ("opencode_memory.cli.recall:recall", "Search memories by words and by meaning."),
        "ingest": ("opencode_memory.cli.ingest:ingest", "Learn from OpenCode's sessions or from notes."),
        "enrich": ("opencode_memory.cli.enrich:enrich", "Fetch titles and states of issues from GitHub and GitLab."),
        "kv": ("opencode_memory.cli.kv:kv", "Store short-lived values by key."),
    },
    "Learn": {
        "review": ("opencode_memory.cli.review:review", "Accept, edit or reject pending memories."),
        "learning": ("opencode_memory.cli.learning:learning", "Turn learning on or off."),
        "why": ("opencode_memory.cli.why:why", "Show which memories were added to messages, and why."),
        "memory-file": ("opencode_memory.cli.memory_file:memory_file", "Synchronize .opencode/MEMORY.md."),
        "files": ("opencode_memory.cli.files:files", "Keep memories as one Markdown file each."),
    },
    "Plan and build": {
        "plan": ("opencode_memory.cli.plan:plan", "List, show and approve plans that agents wrote."),
        "loop": ("opencode_memory.cli.loop:loop", "Let agents code, check and audit until a plan is done."),
        "status": ("opencode_memory.cli.loop:status", "List the loops of this project."),
        "cancel": ("opencode_memory.cli.loop:cancel", "End a loop for good."),
    },
    "Inspect and correct": {
        "ui": ("opencode_memory.cli.ui:ui", "Open what is remembered in a browser."),
        "list": ("opencode_memory.cli.listing:list_memories", "List memories, newest first."),
        "show": ("opencode_memory.cli.listing:show", "Show memories with all their fields."),
        "history": ("opencode_memory.cli.listing:history", "Show the history of a memory."),
        "edit": ("opencode_memory.cli.edit:edit", "Change a memory."),
        "merge": ("opencode_memory.cli.merge:merge", "Merge several memories into one."),
        "resolve": ("opencode_memory.cli.resolve:resolve", "Mark a blocker as resolved."),
        "remind": ("opencode_memory.cli.remind:remind", "Set and end reminders and reviews of memories."),
        "pin": ("opencode_memory.cli.curate:pin", "Rank memories first when they are relevant."),
        "unpin": ("opencode_memory.cli.curate:unpin", "Remove the pin from memories."),
        "archive": ("opencode_memory.cli.curate:archive", "Hide memories from recall; restore brings them back."),
        "restore": ("opencode_memory.cli.curate:restore", "Restore archived memories."),
        "delete": ("opencode_memory.cli.curate:delete", "Delete memories; undo restores them for 30 days."),
        "undo": ("opencode_memory.cli.operations:undo", "Undo your last change in this project."),
        "redo": ("opencode_memory.cli.operations:redo", "Bring back what undo took back."),
        "log": ("opencode_memory.cli.operations:log", "List what was changed, when and by whom."),
        "purge": ("opencode_memory.cli.purge:purge", "Erase memories permanently."),
        "cleanup": ("opencode_memory.cli.cleanup:cleanup", "Delete many memories by age, category or id."),
    },
    "Move": {
        "export": ("opencode_memory.cli.transfer:export", "Export memories as JSON or Markdown."),
        "import": ("opencode_memory.cli.transfer:import_", "Import an export of this or another system."),
        "share": ("opencode_memory.cli.files:share", "Share memories with your team through the repository."),
        "projects": ("opencode_memory.cli.projects:projects", "List, rename and merge projects."),
        "backup": ("opencode_memory.cli.backup:backup", "Create, list and restore backups."),
    },
    "Serve": {
        "serve": ("opencode_memory.cli.serve:serve", "Serve MCP clients over HTTP, or one client over stdio."),
        "stop": ("opencode_memory.cli.stop:stop", "Stop the server of this store."),
        "worker": ("opencode_memory.cli.serve:worker", "Learn, embed and clean up until stopped."),
        "watch": ("opencode_memory.cli.serve:watch", "Only learn, until stopped."),
    },
    "Keep healthy": {
        "stats": ("opencode_memory.cli.stats:stats", "Show counts and sizes of the store."),
        "doctor": ("opencode_memory.cli.doctor.command:doctor", "Check the installation and the store."),
        "verify": ("opencode_memory.cli.verify:verify", "Check every memory and index."),
        "repair": ("opencode_memory.cli.verify:repair", "Rebuild damaged indexes."),
        "embedding": ("opencode_memory.cli.embedding:embedding", "Show and change the embedding model."),
        "reindex": ("opencode_memory.cli.verify:reindex", "Embed pending memories and rebuild the indexes."),
        "jobs": ("opencode_memory.cli.jobs:jobs", "List background jobs, failed ones first."),
        "service": ("opencode_memory.cli.service:service", "Run the server in the background from login."),
        "config": ("opencode_memory.cli.config:config", "Show and change the configuration."),
        "completion": ("opencode_memory.cli.completion:completion", "Print the completion script for a shell."),
        "demo": ("opencode_memory.cli.demo:show", "Try recall on example notes in a temporary store."),
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
    other_names=_OTHER_NAMES,
    help="Memory for coding agents. Works offline, and never loses an acknowledged memory.",
    epilog='Try: opencode-memory remember "We deploy on Thursdays." && opencode-memory recall "when do we deploy"',
    context_settings={"max_content_width": 100},
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

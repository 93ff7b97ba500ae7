"""``opencode-memory memory-file``: a project's memories in one file of its repository."""

from __future__ import annotations

from pathlib import Path

import opencode_memory
from support.command_line import CommandLine


def test_changes_that_came_with_git_are_applied_with_mine(cli: CommandLine, repository: Path) -> None:
    cli.remember("The port is 5128")
    cli.ok("memory-file", "--create")
    path = repository / ".opencode" / "MEMORY.md"
    path.write_text(path.read_text().replace("5128", "5129"))
    # Without the record of the last write, the author of an edit is unknown.
    with opencode_memory.open(project=cli.ok("list", "--json").json["memories"][0]["project"]) as store:
        [record] = store.kv.list("memory_file:")
        store.kv.delete(record.key)
    refused = cli("memory-file")
    assert (refused.code, "memory-file --mine" in refused.out) == (1, True)
    assert cli.contents() == ["The port is 5128"]
    assert "edited" in cli.ok("memory-file", "--mine").out
    assert cli.contents() == ["The port is 5129"]

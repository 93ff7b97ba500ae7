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


def test_file_that_is_a_link_is_named_once_with_the_reason(cli: CommandLine, repository: Path) -> None:
    cli.remember("The port is 5128")
    cli.ok("memory-file", "--create")
    path = repository / ".opencode" / "MEMORY.md"
    path.rename(repository / "elsewhere.md")
    path.symlink_to(repository / "elsewhere.md")
    refused = cli("memory-file")
    reason = ".opencode/MEMORY.md is a symbolic link, which is never followed; put a file in its place"
    assert (refused.code, refused.out) == (1, f"{path} was not changed: {reason}\n")


def test_file_of_another_project_is_not_written(cli: CommandLine, repository: Path) -> None:
    cli.remember("The port is 5128")
    cli.ok("remember", "The crane has two drivers", "--project", "harbour")
    own = cli.ok("list", "--json").json["memories"][0]["project"]
    refused = cli("memory-file", "--create", "--project", "harbour")
    assert refused.code == 2
    assert f"show the memories of the project {own!r}, not those of 'harbour'" in refused.err
    assert not (repository / ".opencode").exists()
    cli.ok("memory-file", "--create", "--project", own)
    assert "5128" in (repository / ".opencode" / "MEMORY.md").read_text()

"""``opencode-memory files``: memories as one Markdown file each."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from opencode_memory import BusyError, MemoryStore
from support.command_line import CommandLine


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home-of-files"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("OPENCODE_MEMORY_FILES", "global")
    return folder


def test_files_are_off_by_default(cli: CommandLine) -> None:
    answer = cli("files", "status")
    assert answer.code == 1
    assert "config set files both" in answer.out


def test_status_writes_nothing_and_sync_writes_the_files(cli: CommandLine, home: Path) -> None:
    cli.remember("Answer in short sentences", "--global")
    assert "1 file would be written" in cli.ok("files", "status").out
    assert not (home / ".opencode").exists()
    assert "1 memory (global); 1 file written, 0 removed" in cli.ok("files", "sync").out
    [path] = (home / ".opencode" / "memory").glob("*.md")
    path.write_text(path.read_text().replace("short", "long"))
    assert "to apply  edit" in cli.ok("files", "sync", "--dry-run").out
    assert cli.contents() == ["Answer in short sentences"]
    [folder] = cli.ok("files", "sync", "--json").json["folders"]
    assert [change["kind"] for change in folder["applied"]] == ["edit"]
    assert cli.contents() == ["Answer in long sentences"]


def test_deletions_that_were_not_applied_announce_no_review(cli: CommandLine, home: Path) -> None:
    for number in range(5):
        cli.remember(f"Service {number} listens on its own socket", "--global")
    cli.ok("files", "sync")
    for path in sorted((home / ".opencode" / "memory").glob("*.md"))[:4]:
        path.unlink()
    for _ in range(2):
        out = cli.ok("files", "sync").out
        assert "review" not in out
        assert "their memories are still active: service-" in out
        assert "sync --mine` archives" in out
        assert "sync --rewrite` writes" in out
    assert "still active" in cli.ok("files", "status").out
    assert "4 files written" in cli.ok("files", "sync", "--rewrite").out
    assert "still active" not in cli.ok("files", "status").out


def test_texts_of_others_announce_a_review(cli: CommandLine, home: Path) -> None:
    folder = home / ".opencode" / "memory"
    folder.mkdir(parents=True)
    (folder / "deploy.md").write_text("Deploy with make ship.\n")
    assert "New texts would wait for `opencode-memory review`" in cli.ok("files", "status").out
    out = cli.ok("files", "sync").out
    assert "New texts wait for `opencode-memory review`" in out
    assert "archives" not in out


def test_field_of_others_names_the_command_that_applies_it(cli: CommandLine, home: Path, tmp_path: Path) -> None:
    cli.remember("Answer in short sentences", "--global")
    cli.ok("files", "sync")
    [path] = (home / ".opencode" / "memory").glob("*.md")
    path.write_text(path.read_text().replace("category: fact", "category: preference"))
    for record in tmp_path.rglob("mirror/*.json"):
        record.write_text("{")
    out = cli.ok("files", "sync").out
    assert ("Changes with a reason were not applied" in out, "review" in out) == (True, False)


def test_folder_that_is_a_link_is_a_problem(cli: CommandLine, home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (home / ".opencode").symlink_to(elsewhere)
    cli.remember("Answer in short sentences", "--global")
    answer = cli("files", "sync")
    assert (answer.code, "symbolic link" in answer.out) == (1, True)
    assert list(elsewhere.iterdir()) == []


def test_unknown_value_of_the_setting_is_refused(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_FILES", "all")
    answer = cli("files", "status")
    assert (answer.code, "off, global, project or both" in answer.err) == (2, True)


def test_share_writes_a_file_into_the_repository(cli: CommandLine, repository: Path) -> None:
    id_ = cli.remember("The port is 5128")
    [path] = cli.ok("share", id_, "--json").json["files"]
    assert Path(path).parent == repository / ".opencode" / "memory" / "team"
    assert "The port is 5128" in Path(path).read_text()
    assert cli("share", "0123456789").code == 1


def test_purge_prints_the_files_that_it_removed(cli: CommandLine, repository: Path) -> None:
    first, second = cli.remember("The port is 5128"), cli.remember("Deploy on Fridays")
    paths = [cli.ok("share", id_, "--json").json["files"][0] for id_ in (first, second)]
    assert f"Removed {paths[0]}" in cli.ok("purge", first, "--yes").out
    assert cli.ok("purge", second, "--yes", "--json").json["files"] == [paths[1]]
    assert not any(Path(path).exists() for path in paths)


def test_purge_with_an_unknown_id_removes_no_file(cli: CommandLine, repository: Path) -> None:
    id_ = cli.remember("The port is 5128")
    [path] = cli.ok("share", id_, "--json").json["files"]
    refused = cli("purge", id_, "01920000-0000-7000-8000-00000000beef", "--yes")
    assert (refused.code, "was not found" in refused.err, Path(path).exists()) == (1, True, True)


def test_purge_that_did_not_reach_the_store_can_be_repeated(
    cli: CommandLine, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = cli.remember("The port is 5128")
    [path] = cli.ok("share", id_, "--json").json["files"]

    def fail(*_: object) -> None:
        raise BusyError("the store is locked")

    with monkeypatch.context() as busy:
        busy.setattr(MemoryStore, "purge", fail)
        assert "the store is locked" in cli("purge", id_, "--yes").err
    assert not Path(path).exists()
    assert "Erased 1 memory" in cli.ok("purge", id_, "--yes").out


def test_memory_with_a_damaged_history_is_purged(cli: CommandLine, repository: Path) -> None:
    id_ = cli.remember("The port is 5128")
    cli.ok("edit", id_, "The port is 6000")
    [path] = cli.ok("share", id_, "--json").json["files"]
    with closing(sqlite3.connect(cli.folder.parent / "data" / "opencode-memory" / "store" / "store.db")) as store:
        store.execute("UPDATE history SET before = '{bad' WHERE before IS NOT NULL")
        store.commit()
    answer = cli.ok("purge", id_, "--yes").out
    assert ("Erased 1 memory" in answer, f"Removed {path}" in answer) == (True, True)


def test_purge_takes_the_bullet_out_of_the_memory_file(cli: CommandLine, repository: Path) -> None:
    id_ = cli.remember("The port is 5128")
    cli.ok("memory-file", "--create")
    path = repository / ".opencode" / "MEMORY.md"
    assert "5128" in path.read_text()
    assert f"Removed from {path}" in cli.ok("purge", id_, "--yes").out
    assert "5128" not in path.read_text()
    assert "5128" not in cli.ok("list").out


def test_files_of_another_project_are_not_written(
    cli: CommandLine, repository: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.remember("The port is 5128")
    foreign = cli.ok("remember", "The crane has two drivers", "--project", "harbour", "--json").json["id"]
    # Global files are those of no project.
    cli.ok("files", "sync", "--project", "harbour")
    monkeypatch.setenv("OPENCODE_MEMORY_FILES", "both")
    for command in (("files", "sync"), ("files", "status"), ("share", foreign)):
        refused = cli(*command, "--project", "harbour")
        assert (refused.code, "not those of 'harbour'" in refused.err) == (2, True)
    assert not (repository / ".opencode").exists()

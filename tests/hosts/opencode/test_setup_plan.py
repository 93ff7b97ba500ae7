"""Plans for the installation into OpenCode and for its removal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.errors import ConflictError, InvalidInputError, StorageError
from opencode_memory.files.atomic import PRIVATE_FILE, write_atomically
from opencode_memory.hosts.opencode.setup import apply as carrying
from opencode_memory.hosts.opencode.setup.apply import apply_plan
from opencode_memory.hosts.opencode.setup.npm_stub import IGNORE_TEXT, NPM_FILES, explain_wait
from opencode_memory.hosts.opencode.setup.plan import Action, Plan, Wanted, is_installed, plan_setup, plan_undo
from opencode_memory.hosts.opencode.setup.receipt import RECEIPT, read_receipt
from support.trees import tree

OURS = ["plugin/opencode-memory.ts", "plugin/opencode-memory/part.ts", "plugin/opencode-memory.json"]
STUB = ["package.json", "package-lock.json", ".gitignore"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def wanted(folder: Path, *reads: Path, plugin: str = "plugin 1\n", within: Path | None = None) -> Wanted:
    files = dict(zip(OURS, (plugin, f"part of {plugin}", f"manifest of {plugin}"), strict=True))
    return Wanted(folder=folder, within=within, files=files, reads=reads)


def set_up(folder: Path, *reads: Path, force: bool = False, **more: Any) -> Plan:
    plan = plan_setup(wanted(folder, *reads, **more), force=force)
    apply_plan(plan)
    return plan


def undo(folder: Path, within: Path | None = None) -> Plan:
    plan = plan_undo(folder, within=within)
    assert plan is not None
    apply_plan(plan)
    return plan


def names(plan: Plan, action: Action) -> list[str]:
    return [os.path.relpath(step.path, plan.folder) for step in plan.steps if step.action is action]


def test_plan_writes_no_file_and_has_complete_texts(home: Path) -> None:
    folder = home / ".config" / "opencode"
    plan = plan_setup(wanted(folder))
    assert list(home.iterdir()) == []
    apply_plan(plan)
    shown = {str(step.path.relative_to(home)): step.text for step in plan.steps}
    # Every line of every file, and every folder.
    assert shown == {
        path: content.decode() if isinstance(content, bytes) else None
        for path, (_, content) in tree(home).items()
        if path != "."
    }
    files = [step.path for step in plan.steps if step.text is not None]
    assert files[0] == folder / RECEIPT


def test_written_files_are_readable_for_the_owner_only(home: Path) -> None:
    set_up(home / "opencode")
    modes = {path: (mode, content is None) for path, (mode, content) in tree(home / "opencode").items()}
    assert {mode for mode, is_folder in modes.values() if is_folder} == {0o700}
    assert {mode for mode, is_folder in modes.values() if not is_folder} == {0o600}


def test_second_setup_has_no_steps(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    before = tree(home)
    assert plan_setup(wanted(folder)).steps == ()
    assert tree(home) == before
    assert is_installed(folder)


@pytest.mark.parametrize("is_there", [False, True])
def test_removal_restores_the_folder_byte_for_byte(home: Path, is_there: bool) -> None:
    folder = home / ".config" / "opencode"
    if is_there:
        (folder / "plugin").mkdir(parents=True, mode=0o755)
        folder.chmod(0o775)
        (folder / "opencode.jsonc").write_text('{ // mine\n  "model": "a/b",\n}\n')
        (folder / "plugin" / "mine.ts").write_text("export default {}\n")
    before = tree(home)
    set_up(folder)
    set_up(folder, plugin="plugin 2\n")
    assert undo(folder).left == ()
    assert tree(home) == before
    assert not is_installed(folder)
    assert plan_undo(folder) is None


def test_gitignore_of_opencode_is_removed_if_it_was_added(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    # OpenCode writes this file where it is missing, with these very bytes; here it is not missing.
    assert (folder / ".gitignore").read_text() == IGNORE_TEXT
    undo(folder)
    assert list(home.iterdir()) == []
    folder.mkdir()
    (folder / ".gitignore").write_text(IGNORE_TEXT)
    set_up(folder)
    undo(folder)
    assert (folder / ".gitignore").exists()


def test_a_file_that_was_changed_stays_and_is_named(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    for name in ("plugin/opencode-memory.json", "package.json"):
        (folder / name).write_text("mine now")
    plan = undo(folder)
    assert plan.left == (folder / "plugin/opencode-memory.json", folder / "package.json")
    left = {path for path, (_, content) in tree(folder).items() if content is not None}
    assert left == {"plugin/opencode-memory.json", "package.json"}


def test_folders_with_foreign_files_stay(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    (folder / "plugin" / "theirs.ts").write_text("theirs")
    (folder / "node_modules" / "zod").mkdir()
    undo(folder)
    assert set(tree(folder)) == {".", "plugin", "plugin/theirs.ts", "node_modules", "node_modules/zod"}


def test_files_that_are_gone_already_are_no_hindrance(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    (folder / "plugin" / "opencode-memory.ts").unlink()
    (folder / "node_modules").rmdir()
    undo(folder)
    assert list(home.iterdir()) == []


def test_newer_version_replaces_unchanged_files(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    plan = set_up(folder, plugin="plugin 2\n")
    assert names(plan, Action.REPLACE) == [*OURS, RECEIPT]
    assert (folder / OURS[0]).read_text() == "plugin 2\n"
    assert plan_setup(wanted(folder, plugin="plugin 2\n")).steps == ()


def test_changed_or_foreign_plugin_is_a_conflict(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    (folder / OURS[0]).write_text("edited")
    before = tree(home)
    for plugin in ("plugin 1\n", "plugin 2\n"):
        with pytest.raises(
            ConflictError, match=r"opencode-memory\.ts was not installed by opencode-memory"
        ) as conflict:
            set_up(folder, plugin=plugin)
        assert "--force" in (conflict.value.hint or "")
    assert tree(home) == before
    other = home / "other" / "plugin"
    other.mkdir(parents=True)
    (other / "opencode-memory.ts").write_text("a stranger's")
    with pytest.raises(ConflictError):
        set_up(other.parent)
    assert tree(other.parent) == {**tree(other.parent), "plugin/opencode-memory.ts": (0o644, b"a stranger's")}


def test_with_force_it_is_replaced_and_then_ours_to_remove(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    for name in OURS:
        (folder / name).write_text("edited")
    plan = set_up(folder, force=True)
    assert names(plan, Action.REPLACE) == OURS
    undo(folder)
    assert list(home.iterdir()) == []


def test_the_same_file_without_a_receipt_is_taken_for_ours(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    (folder / RECEIPT).unlink()
    assert plan_undo(folder) is None
    assert names(set_up(folder), Action.CREATE) == [RECEIPT]
    assert {str(path.relative_to(folder)) for path in read_receipt(folder).files} == set(OURS)


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": '{"dependencies": {"zod": "4"}}\n'},
        {"package-lock.json": "{}"},
        {"package.json": NPM_FILES["package.json"].replace("*", "1.18.33")},
    ],
)
def test_npm_files_of_the_user_are_kept_and_the_wait_is_reported(home: Path, files: dict[str, str]) -> None:
    folder = home / "opencode"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    plan = set_up(folder)
    assert plan.waits == {folder: "no packages are installed there"}
    there = set(tree(folder))
    assert there == {".", "plugin", "plugin/opencode-memory", *OURS, RECEIPT, *files}
    assert {name: (folder / name).read_text() for name in files} == files


def test_installed_npm_packages_need_no_stub(home: Path) -> None:
    folder = home / "opencode"
    (folder / "node_modules" / "@opencode-ai" / "plugin").mkdir(parents=True)
    dependencies = {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}
    (folder / "package.json").write_text(json.dumps(dependencies))
    (folder / "package-lock.json").write_text(json.dumps({"packages": {"": dependencies}}))
    before = tree(folder)
    assert set_up(folder).waits == {}
    undo(folder)
    assert tree(folder) == before


def test_folder_with_imported_packages_gets_no_stub(home: Path) -> None:
    folder = home / "opencode"
    (folder / "tool").mkdir(parents=True)
    (folder / "tool" / "weather.ts").write_text('import { tool } from "@opencode-ai/plugin"\n')
    plan = set_up(folder)
    assert plan.waits == {folder: "weather.ts imports @opencode-ai/plugin"}
    assert not [name for name in STUB if (folder / name).exists()]


def test_a_stub_is_taken_up_when_a_plugin_comes_that_needs_a_package(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    (folder / "plugin" / "theirs.ts").write_text('import { z } from "zod"\n')
    plan = set_up(folder)
    assert names(plan, Action.REMOVE) == ["package.json", "package-lock.json", "node_modules"]
    assert plan.waits == {folder: "theirs.ts imports zod"}
    assert explain_wait(folder) == "theirs.ts imports zod"
    assert plan_setup(wanted(folder)).steps == ()
    undo(folder)
    assert set(tree(home)) == {".", "opencode", "opencode/plugin", "opencode/plugin/theirs.ts"}


def test_a_stub_that_lost_a_part_is_completed(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    (folder / "node_modules").rmdir()
    (folder / "package.json").unlink()
    assert names(set_up(folder), Action.CREATE) == ["node_modules", "package.json"]
    undo(folder)
    assert list(home.iterdir()) == []


def test_every_folder_that_opencode_reads_gets_a_stub_and_loses_it_again(home: Path) -> None:
    folder, repository = home / "config" / "opencode", home / "shop" / ".opencode"
    repository.mkdir(parents=True)
    (repository / "MEMORY.md").write_text("kept")
    before = tree(home)
    set_up(folder, folder, repository)
    assert explain_wait(repository) is None
    assert (repository / ".gitignore").read_text() == IGNORE_TEXT
    # In another folder, OpenCode reads another repository. The stub of the first one stays in the receipt.
    assert plan_setup(wanted(folder, folder)).steps == ()
    undo(folder)
    assert tree(home) == before


def test_a_stub_that_another_installation_laid_is_left_to_it(home: Path) -> None:
    shared, one, two = home / "config", home / "one" / ".opencode", home / "two" / ".opencode"
    set_up(one, shared, within=home / "one")
    set_up(two, shared, within=home / "two")
    undo(two, within=home / "two")
    assert explain_wait(shared) is None
    undo(one, within=home / "one")
    assert list(home.iterdir()) == []


def test_files_in_a_project_are_ignored_by_git(home: Path) -> None:
    project = home / "shop"
    project.mkdir()
    set_up(project / ".opencode", within=project)
    ignored = (project / ".opencode" / "plugin" / ".gitignore").read_text().split()
    assert ignored == ["opencode-memory*", ".gitignore"]
    undo(project / ".opencode", within=project)
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("link", [".opencode", ".opencode/plugin", ".opencode/plugin/opencode-memory"])
def test_a_link_in_a_repository_leads_nowhere(home: Path, link: str) -> None:
    project, elsewhere = home / "shop", home / "elsewhere"
    elsewhere.mkdir()
    (project / link).parent.mkdir(parents=True)
    (project / link).symlink_to(elsewhere)
    with pytest.raises(InvalidInputError, match="leads outside"):
        plan_setup(wanted(project / ".opencode", within=project))
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("link", [".opencode", ".opencode/plugin", ".opencode/plugin/opencode-memory"])
def test_removal_does_not_follow_a_link_in_a_repository(home: Path, link: str) -> None:
    project = home / "shop"
    project.mkdir()
    set_up(project / ".opencode", within=project)
    (project / link).rename(home / "elsewhere")
    (project / link).symlink_to(home / "elsewhere")
    before = tree(home)
    with pytest.raises(InvalidInputError, match="leads outside"):
        plan_undo(project / ".opencode", within=project)
    assert tree(home) == before


def test_a_link_that_leads_to_itself_is_named(home: Path) -> None:
    (home / ".opencode").symlink_to(home / ".opencode")
    with pytest.raises(ConflictError, match="leads back to itself"):
        plan_setup(wanted(home / ".opencode", within=home))
    assert plan_setup(wanted(home / "opencode", home / ".opencode")).steps


def test_obsolete_file_is_removed_unless_it_was_changed(home: Path) -> None:
    folder = home / "opencode"
    set_up(folder)
    fewer = Wanted(folder=folder, within=None, files={OURS[0]: "plugin 2\n", OURS[2]: "manifest"})
    plan = plan_setup(fewer)
    assert names(plan, Action.REMOVE) == [OURS[1], "plugin/opencode-memory"]
    (folder / OURS[1]).write_text("mine")
    assert names(plan_setup(fewer), Action.REMOVE) == []
    (folder / OURS[1]).write_text("part of plugin 1\n")
    apply_plan(plan)
    assert plan_setup(fewer).steps == ()
    undo(folder)
    assert list(home.iterdir()) == []


def test_no_stub_is_laid_through_a_link_in_a_repository(home: Path) -> None:
    project, elsewhere = home / "shop", home / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / ".opencode").symlink_to(elsewhere)
    plan = set_up(home / "opencode", project / ".opencode")
    assert list(elsewhere.iterdir()) == []
    assert plan.waits == {project / ".opencode": "no packages are installed there"}


def test_users_own_folder_may_be_a_link(home: Path) -> None:
    dotfiles = home / "dotfiles"
    dotfiles.mkdir()
    (home / "opencode").symlink_to(dotfiles)
    before = tree(home)
    set_up(home / "opencode")
    assert (dotfiles / OURS[0]).exists()
    undo(home / "opencode")
    assert tree(home) == before


def test_link_in_place_of_a_file_is_a_conflict(home: Path) -> None:
    folder, target = home / "opencode", home / "target.ts"
    target.write_text("plugin 1\n")
    (folder / "plugin").mkdir(parents=True)
    (folder / OURS[0]).symlink_to(target)
    with pytest.raises(ConflictError):
        set_up(folder)
    set_up(folder, force=True, plugin="plugin 2\n")
    assert target.read_text() == "plugin 1\n"
    (folder / OURS[0]).unlink()
    (folder / OURS[0]).symlink_to(target)
    target.write_text("plugin 2\n")
    assert undo(folder).left == (folder / OURS[0],)
    assert target.read_text() == "plugin 2\n"


@pytest.mark.parametrize(
    ("package", "entry"), [({"main": "index.js"}, "index.js"), ({"exports": {"./server": "./a.js"}}, "./a.js")]
)
def test_a_package_beside_the_plugin_that_opencode_would_load_instead_is_named(
    home: Path, package: dict[str, Any], entry: str
) -> None:
    (home / "plugin").mkdir()
    (home / "plugin" / "package.json").write_text(json.dumps(package))
    with pytest.raises(ConflictError, match=f"makes OpenCode load {entry} instead"):
        set_up(home)
    (home / "plugin" / "package.json").write_text('{"type": "module"}')
    set_up(home)


def receipt(files: dict[str, Any], folders: list[Any]) -> str:
    return json.dumps({"version": 1, "files": files, "folders": folders})


def test_hostile_receipt_removes_no_files_of_the_user(home: Path) -> None:
    import hashlib

    folder, victim, empty = home / "shop" / ".opencode", home / "notes.md", home / "empty"
    (folder / "plugin").mkdir(parents=True)
    (folder / "agent.md").write_text("x")
    victim.write_text("x")
    empty.mkdir()
    sha = hashlib.sha256(b"x").hexdigest()
    targets = [str(victim), "../../notes.md", "agent.md", "plugin/../agent.md", f"{home}/package.json"]
    (home / "package.json").write_text("x")
    (folder / RECEIPT).write_text(receipt(dict.fromkeys(targets, sha), [str(empty), "../../empty", 3]))
    before = tree(home)
    undo(folder, within=home / "shop")
    del before[f"shop/.opencode/{RECEIPT}"]
    assert tree(home) == before


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 2}', '{"version": 1, "files": [1], "folders": {}}', "[" * 100_000]
)
def test_damaged_receipt_is_ignored(home: Path, text: str) -> None:
    (home / "plugin").mkdir()
    (home / RECEIPT).write_text(text)
    found = read_receipt(home)
    assert found is None or (found.files, found.folders) == ({}, ())
    assert set_up(home).steps


def test_a_receipt_that_is_a_link_is_not_followed(home: Path) -> None:
    set_up(home / "a")
    (home / "b" / "plugin").mkdir(parents=True)
    (home / "b" / RECEIPT).symlink_to(home / "a" / RECEIPT)
    assert plan_undo(home / "b") is None


def test_failed_step_undoes_all_earlier_steps(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / ".config" / "opencode"
    fail_after(monkeypatch, 5)
    with pytest.raises(StorageError, match=r"cannot create .*package-lock\.json: No space left") as refused:
        set_up(folder)
    assert refused.value.path == str(folder / "package-lock.json")
    assert list(home.iterdir()) == []
    monkeypatch.undo()
    set_up(folder)
    before = tree(home)
    fail_after(monkeypatch, 2)
    with pytest.raises(StorageError, match=r"cannot replace .*opencode-memory\.json"):
        set_up(folder, plugin="plugin 2\n")
    monkeypatch.undo()
    assert tree(home) == before


def fail_after(monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    """Let the file system be full after so many files. Undoing steps can still write."""
    write, left = write_atomically, [writes]

    def fail(path: Path, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
        if left[0] == 0:
            left[0] = -1
            raise OSError(28, "No space left on device")
        left[0] -= 1
        write(path, data, mode=mode)

    monkeypatch.setattr(carrying, "write_atomically", fail)


def test_a_removal_that_fails_half_way_is_taken_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "opencode"
    set_up(folder)
    (folder / "plugin").chmod(0o750)
    before = tree(home)
    rmdir, seen = Path.rmdir, []

    def fail(path: Path) -> None:
        seen.append(path)
        if len(seen) > 1:
            raise OSError(5, "Input/output error")
        rmdir(path)

    monkeypatch.setattr(Path, "rmdir", fail)
    with pytest.raises(StorageError, match="cannot remove"):
        undo(folder)
    monkeypatch.undo()
    assert tree(home) == before


def test_no_temporary_file_is_left_when_a_file_cannot_take_its_place(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(StorageError, match=r"cannot create .*opencode-memory\.receipt\.json: Operation not permitted"):
        set_up(home)
    assert list(home.iterdir()) == []


def test_a_folder_in_the_place_of_a_file_is_never_removed(home: Path) -> None:
    folder = home / "opencode"
    (folder / OURS[0]).mkdir(parents=True)
    (folder / OURS[0] / "something").write_text("theirs")
    before = tree(home)
    with pytest.raises(StorageError, match="cannot replace"):
        set_up(folder, force=True)
    assert tree(home) == before


@pytest.mark.parametrize("goes_on", [False, True])
def test_killed_setup_can_be_undone(home: Path, goes_on: bool) -> None:
    number = len(plan_setup(wanted(home / "all")).steps)
    for done in range(1, number + 1):
        folder = home / f"killed after {done}"
        steps = plan_setup(wanted(folder)).steps
        apply_plan(Plan(folder=folder, steps=steps[:done]))
        written = [step.path for step in steps[:done] if step.text is not None]
        assert is_installed(folder) or written == []
        if goes_on:
            set_up(folder)
        if is_installed(folder):
            undo(folder)
        assert [path for path in folder.rglob("*") if path.is_file()] == []

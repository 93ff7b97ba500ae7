"""Synchronization of ``.opencode/MEMORY.md``: consent, writing, and files that are left alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencode_memory import InvalidInputError, MemoryStore
from opencode_memory.memory_file import Outcome
from support.memory_files import (
    AT,
    CONVENTION,
    FACT,
    HOSTILE,
    PREFERENCE,
    Scene,
    contents,
    nothing_happened,
    problem_of,
    remember,
)
from support.stores import NOW_MS, set_clock

# Consent


def test_file_is_not_created_without_consent(store: MemoryStore, tmp_path: Path) -> None:
    remember(store)
    report = Scene(store, tmp_path).sync()
    assert report.consent_needed
    assert not (tmp_path / ".opencode").exists()


def test_file_allowed_once_is_kept_up_to_date(scene: Scene) -> None:
    scene.store.remember("Never squash", category="directive")
    assert scene.sync().written
    assert "- Never squash <!-- m:" in scene.text()


def test_file_with_consent_is_created_even_without_memories(store: MemoryStore, tmp_path: Path) -> None:
    assert Scene(store, tmp_path).sync(mode="auto").outcome is Outcome.UNCHANGED
    assert not (tmp_path / ".opencode").exists()
    assert Scene(store, tmp_path).sync(create=True).written
    assert Scene(store, tmp_path).sync().outcome is Outcome.UNCHANGED


def test_auto_creates_the_file_and_off_neither_reads_nor_writes_it(store: MemoryStore, tmp_path: Path) -> None:
    remember(store)
    scene = Scene(store, tmp_path)
    assert scene.sync(mode="off", create=True).outcome is Outcome.OFF
    assert not scene.file.exists()
    assert scene.sync(mode="auto").written
    scene.add("- Something new")
    before = scene.text()
    assert scene.sync(mode="off").outcome is Outcome.OFF
    assert scene.sync(max_lines=0).outcome is Outcome.OFF
    assert scene.text() == before
    assert "Something new" not in scene.active()


def test_users_own_file_gets_a_part_only_with_consent(store: MemoryStore, tmp_path: Path) -> None:
    remember(store)
    scene = Scene(store, tmp_path)
    scene.file.parent.mkdir()
    scene.file.write_bytes(b"# Mine\r\nNo end")
    assert scene.sync().consent_needed
    assert scene.file.read_bytes() == b"# Mine\r\nNo end"
    assert scene.sync(create=True).written
    assert scene.file.read_bytes().startswith(b"# Mine\r\nNo end\r\n\r\n<!-- opencode-memory:begin")
    assert scene.sync().outcome is Outcome.UNCHANGED


def test_gitignore_is_not_touched(store: MemoryStore, tmp_path: Path) -> None:
    remember(store)
    (tmp_path / ".gitignore").write_text("*.log\n")
    Scene(store, tmp_path).sync(mode="auto")
    assert (tmp_path / ".gitignore").read_text() == "*.log\n"
    assert [path.name for path in (tmp_path / ".opencode").iterdir()] == ["MEMORY.md"]


@pytest.mark.parametrize("max_lines", [-1, 2.5, True, "10", None])
def test_invalid_max_lines_is_refused(store: MemoryStore, tmp_path: Path, max_lines: Any) -> None:
    with pytest.raises(InvalidInputError, match="max_lines"):
        Scene(store, tmp_path).sync(max_lines=max_lines)


def test_invalid_mode_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="mode: 'yes'"):
        Scene(store, tmp_path).sync(mode="yes")


# Writing


def test_file_groups_memories_under_headings(scene: Scene) -> None:
    lines = [line.split(" <!--")[0] for line in scene.text().splitlines() if not line.startswith("<!--")]
    assert lines == [
        "# Project memory", "",
        "", "## Conventions", f"- {CONVENTION}",
        "", "## Preferences", f"- {PREFERENCE}",
        "", "## Facts", f"- {FACT}",
    ]  # fmt: skip


def test_second_run_writes_nothing_anywhere(scene: Scene) -> None:
    stamp = scene.file.stat()
    history = [scene.store.history(one.id) for one in scene.store.list()]
    kv = scene.store.kv.list(project="app")
    set_clock(scene.store, NOW_MS + 1000)
    for _ in range(2):
        assert nothing_happened(scene.sync())
    assert (scene.file.stat().st_ino, scene.file.stat().st_mtime_ns) == (stamp.st_ino, stamp.st_mtime_ns)
    assert [scene.store.history(one.id) for one in scene.store.list()] == history
    assert scene.store.kv.list(project="app") == kv


def test_only_active_memories_of_the_project_are_shown(scene: Scene) -> None:
    store = scene.store
    store.remember("a candidate", status="candidate")
    store.remember("over soon", expires_at=AT + timedelta(hours=1))
    store.remember("said in a talk", category="conversation")
    store.remember("of another project", project="other")
    store.remember("of the person", scope="global")
    store.archive(store.remember("put away").id)
    scene.sync(at=AT + timedelta(hours=2))
    assert scene.sync(at=AT + timedelta(hours=2)).shown == 3
    scene.sync(with_global=True)
    assert "- of the person <!--" in scene.text()
    assert "- over soon <!--" in scene.text()
    for text in ("a candidate", "said in a talk", "of another project", "put away"):
        assert text not in scene.text()


@pytest.mark.parametrize("max_lines", [5, 6, 9, 40])
def test_managed_part_keeps_within_its_lines(scene: Scene, max_lines: int) -> None:
    for number in range(60):
        scene.store.remember(f"fact {number}")
    scene.sync(max_lines=max_lines)
    part = scene.text().split("# Project memory\n\n")[1].splitlines()
    assert 4 <= len(part) <= max_lines
    assert nothing_happened(scene.sync(max_lines=max_lines))


def test_too_small_max_lines_is_a_problem_and_keeps_the_file(scene: Scene) -> None:
    before = scene.text()
    report = scene.sync(max_lines=4)
    assert "at least 5" in problem_of(report)
    assert scene.text() == before


def test_smaller_limit_deletes_no_memory(scene: Scene) -> None:
    for number in range(20):
        scene.store.remember(f"fact {number}")
    scene.sync()
    scene.sync(max_lines=6)
    report = scene.sync(max_lines=6)
    assert (report.shown, nothing_happened(report)) == (1, True)
    assert len(scene.active()) == 23


def test_dry_run_reports_changes_and_applies_none(scene: Scene) -> None:
    scene.add("- A new fact")
    scene.replace("pnpm", "bun")
    scene.drop("9824")
    before = scene.text()
    report = scene.sync(dry_run=True)
    assert report.outcome is Outcome.WOULD_WRITE
    assert contents(report.added) == ["A new fact"]
    assert contents(report.edited) == ["Use bun, not npm"]
    assert len(report.archived) == 1
    assert scene.text() == before
    assert scene.active() == sorted([CONVENTION, PREFERENCE, FACT])
    scene.sync()
    assert scene.sync(dry_run=True).outcome is Outcome.UNCHANGED


def test_permissions_and_line_ends_of_the_file_are_kept(scene: Scene) -> None:
    scene.change(lambda text: text.replace("\n", "\r\n") + "my own note")
    scene.file.chmod(0o664)
    scene.store.remember("Another fact")
    report = scene.sync()
    assert (report.written, report.edited, report.added) == (True, (), ())
    assert scene.file.stat().st_mode & 0o777 == 0o664
    assert "\n" not in scene.text().replace("\r\n", "")
    assert scene.text().endswith("<!-- opencode-memory:end -->\r\nmy own note")


def test_hostile_memories_harm_neither_the_file_nor_other_memories(scene: Scene) -> None:
    scene.change(lambda text: f"before\n{text}after")
    for content in HOSTILE:
        scene.store.remember(content)
    everything = scene.active()
    scene.sync()
    assert nothing_happened(scene.sync())
    assert scene.text().startswith("before\n# Project memory\n")
    assert scene.text().endswith("<!-- opencode-memory:end -->\nafter")
    assert scene.active() == everything
    assert len(everything) > len(HOSTILE) - 3


# Files that are left alone, and crashes


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: text.replace("<!-- opencode-memory:end -->", ""), "end mark .* missing"),
        (lambda text: text.replace("<!-- opencode-memory:begin", "<!-- begin"), "begin mark .* missing"),
        (lambda text: text + text, "several lines"),
        (lambda text: text + "\0", "UTF-8"),
        (lambda text: "# Only mine\n", "removed"),
        (lambda text: text.replace("begin v2", "begin v9"), "newer version"),
    ],
)
@pytest.mark.parametrize("mode", ["ask", "auto"])
def test_invalid_file_is_left_alone(scene: Scene, change: Callable[[str], str], problem: str, mode: str) -> None:
    scene.change(change)
    before = scene.text()
    report = scene.sync(mode=mode)
    assert report.outcome is Outcome.LEFT_ALONE
    assert re.search(problem, problem_of(report))
    assert scene.text() == before
    assert scene.active() == sorted([PREFERENCE, CONVENTION, FACT])


def test_removed_part_returns_only_with_consent(scene: Scene) -> None:
    scene.change(lambda _: "# Only mine\n")
    report = scene.sync(create=True)
    assert (report.written, report.archived) == (True, ())
    assert scene.text().startswith("# Only mine\n\n<!-- opencode-memory:begin")


def test_file_in_another_encoding_is_left_alone(scene: Scene) -> None:
    data = b"caf\xe9\n" + scene.file.read_bytes()
    scene.file.write_bytes(data)
    assert "UTF-8" in problem_of(scene.sync())
    assert scene.file.read_bytes() == data


def test_part_of_more_lines_than_memories_have_is_left_alone(scene: Scene) -> None:
    scene.add("- x\n" * 20_001)
    before = scene.text()
    assert "lines" in problem_of(scene.sync())
    assert scene.text() == before


def test_link_is_left_alone(scene: Scene, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    scene.file.rename(victim)
    scene.file.symlink_to(victim)
    before = victim.read_bytes()
    scene.store.remember("Another fact")
    assert "symbolic link" in problem_of(scene.sync(mode="auto", create=True))
    assert victim.read_bytes() == before


def test_file_that_was_deleted_deletes_no_memory(scene: Scene) -> None:
    scene.file.unlink()
    assert scene.sync().consent_needed
    assert not scene.file.exists()
    assert scene.sync(mode="auto").written
    assert scene.active() == sorted([PREFERENCE, CONVENTION, FACT])


def test_file_that_changes_while_it_is_read_is_left_for_the_next_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.add("- First")
    listed = scene.store.list

    def interrupted(**options: Any) -> Any:
        if "Second" not in scene.text():
            scene.add("- Second")
        return listed(**options)

    monkeypatch.setattr(scene.store, "list", interrupted)
    report = scene.sync()
    assert (report.outcome, "was changed" in problem_of(report)) == (Outcome.LEFT_ALONE, True)
    assert "- Second" in scene.text()
    monkeypatch.undo()
    scene.sync()
    assert scene.active() == sorted([PREFERENCE, CONVENTION, FACT, "First", "Second"])
    assert nothing_happened(scene.sync())


def test_crash_before_the_write_neither_loses_nor_duplicates_memories(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.add("- New")
    scene.replace("pnpm", "bun")
    scene.drop("9824")

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("opencode_memory.memory_file.disk.write", dies)
    with pytest.raises(KeyboardInterrupt):
        scene.sync()
    monkeypatch.undo()
    report = scene.sync()
    assert (report.written, report.edited, report.archived) == (True, (), ())
    assert scene.active() == sorted([CONVENTION, "Use bun, not npm", "New"])
    assert nothing_happened(scene.sync())


def test_crash_before_the_write_is_recorded_changes_no_memory(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.store.remember("Another fact")

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("opencode_memory.memory_file.synchronize.record_last", dies)
    with pytest.raises(KeyboardInterrupt):
        scene.sync()
    monkeypatch.undo()
    assert nothing_happened(scene.sync())
    scene.add("- New")
    assert contents(scene.sync().added) == ["New"]

"""Search for notes, ignore rules, and categories from names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencode_memory.notes.categories import guess_category
from opencode_memory.notes.files import SIZE_LIMIT, Skipped, find_notes, read_note
from opencode_memory.notes.gitignore import IgnoreRules

GIT_ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
GLOBS = st.sampled_from(
    [
        "*",
        "**",
        "/",
        "a",
        "b",
        "a.md",
        "?",
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-b]",
        "[]]",
        "[",
        "\\",
        "\\*",
        "!",
        "#",
        " ",
        ".",
    ]
)
NAMES = st.sampled_from(["a", "b", "a.md", "ab", "]", "*", "x y"])


def touch(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {name}\n", encoding="utf-8")


def found(folder: Path, top: Path | None = None) -> list[str]:
    notes = find_notes(folder, top=top or folder)
    return [note.relative_to(folder).as_posix() for note in notes if isinstance(note, Path)]


def test_notes_are_found_in_a_stable_order_without_hidden_files(tmp_path: Path) -> None:
    touch(
        tmp_path, "b.md", "a/z.MD", "a/y.markdown", "a/code.py", ".hidden.md", ".obsidian/x.md", "node_modules/p/r.md"
    )
    touch(tmp_path, "vendor/.git/HEAD", "vendor/readme.md")
    assert found(tmp_path) == ["a/y.markdown", "a/z.MD", "b.md"]


def test_ignore_files_of_all_levels_apply(tmp_path: Path) -> None:
    touch(
        tmp_path, "docs/keep.md", "docs/drafts/a.md", "docs/build/b.md", "docs/local.md", "top.md", "docs/sub/local.md"
    )
    (tmp_path / ".gitignore").write_text("build/\n/local.md\n*.tmp.md\n")
    (tmp_path / "docs" / ".gitignore").write_text("/local.md\ndrafts\n!keep.md\n")
    (tmp_path / ".git" / "info").mkdir(parents=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("top.md\n")
    assert found(tmp_path) == ["docs/keep.md", "docs/sub/local.md"]
    assert found(tmp_path / "docs", top=tmp_path) == ["keep.md", "sub/local.md"]


def test_symbolic_links_are_reported_and_not_followed(tmp_path: Path) -> None:
    touch(tmp_path, "notes/a.md", "outside/secret.md")
    (tmp_path / "notes" / "link.md").symlink_to(tmp_path / "outside" / "secret.md")
    (tmp_path / "notes" / "folder").symlink_to(tmp_path / "outside")
    (tmp_path / "notes" / "loop").symlink_to(tmp_path / "notes")
    notes = list(find_notes(tmp_path / "notes", top=tmp_path / "notes"))
    assert [note.name for note in notes if isinstance(note, Path)] == ["a.md"]
    assert [note.reason for note in notes if isinstance(note, Skipped)] == ["symbolic link, not followed"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.lists(GLOBS, min_size=1, max_size=5).map("".join), min_size=1, max_size=4), st.data())
def test_ignore_rules_agree_with_git(tmp_path: Path, lines: list[str], data: st.DataObject) -> None:
    if not (tmp_path / ".git").exists():
        subprocess.run(["git", "init", "-q", str(tmp_path)], env=GIT_ENVIRONMENT, check=True)
    (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = PurePosixPath(*data.draw(st.lists(NAMES, min_size=1, max_size=3)))
    rules = IgnoreRules().extend(PurePosixPath(), tmp_path / ".gitignore")
    chain = [*[*reversed(path.parents)][1:], path]
    ours = any(rules.ignores(part, is_folder=part != path) for part in chain)
    command = ["git", "-C", str(tmp_path), "check-ignore", "-q", "--no-index", "--", path.as_posix()]
    assert ours == (subprocess.run(command, env=GIT_ENVIRONMENT, check=False).returncode == 0)


@pytest.mark.parametrize(
    ("line", "path", "ignored"),
    [
        ("***/*", "a", True),
        ("a/***", "a/b", True),
        ("a/***/b", "a/x/b", True),
        ("*//", "a", False),
        ("a//", "a", False),
    ],
)
def test_ignore_rules_read_stars_and_slashes_as_git_does(tmp_path: Path, line: str, path: str, ignored: bool) -> None:
    (tmp_path / ".gitignore").write_text(line, encoding="utf-8")
    rules = IgnoreRules().extend(PurePosixPath(), tmp_path / ".gitignore")
    assert rules.ignores(PurePosixPath(path), is_folder=True) is ignored


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFO")
def test_fifo_is_no_note_and_does_not_block(tmp_path: Path) -> None:
    fifo = tmp_path / "notes.md"
    os.mkfifo(fifo)
    with pytest.raises(ValueError, match="neither a file nor a folder"):
        read_note(fifo)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the open files of a process here")
def test_folder_in_place_of_a_note_is_closed_again(tmp_path: Path) -> None:
    with pytest.raises((ValueError, OSError)):
        read_note(tmp_path)
    links = [entry.readlink() for entry in [*Path("/proc/self/fd").iterdir()] if entry.is_symlink()]
    assert tmp_path not in links


def test_unreadable_note_raises_with_a_reason(tmp_path: Path) -> None:
    for name, data, reason in (
        ("latin.md", b"# A\n\ncaf\xe9\n", "not UTF-8: byte 0xe9 in line 3"),
        ("binary.md", b"a\0b", "NUL bytes"),
        ("large.md", b"x" * (SIZE_LIMIT + 1), "larger than 10 MiB"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=reason):
            read_note(tmp_path / name)


@pytest.mark.parametrize(
    ("file", "headings", "category"),
    [
        ("docs/adr/0001-use-sqlite.md", ["Use SQLite", "Status"], "decision"),
        ("CONVENTIONS.md", [], "convention"),
        ("docs/coding_style.md", ["Names"], "convention"),
        ("notes.md", ["Team", "Decisions"], "decision"),
        ("notes.md", ["Decisions", "How to deploy"], "procedure"),
        ("runbooks/db.md", ["Ideas"], "idea"),
        ("notes.md", ["A decision tree"], "context"),
        ("directives/rules.md", ["Directives"], "context"),
    ],
)
def test_only_unambiguous_names_give_a_category(file: str, headings: list[str], category: str) -> None:
    assert guess_category(PurePosixPath(file), headings) == category

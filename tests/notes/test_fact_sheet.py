"""Fact sheet of a project: what manifests of each ecosystem give, and when the memory is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.models import RememberStatus, Trust
from opencode_memory.notes.fact_sheet import describe_project, update_fact_sheet
from support.stores import files_holding

PACKAGE = {
    "name": "harbor-shop",
    "description": "Web shop of the harbor museum",
    "scripts": {"build": "vite build", "test": "vitest run", "lint": "eslint .", "dev": "vite"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")


def test_package_json_gives_name_purpose_manager_and_commands(folder: Path) -> None:
    write(folder, package__json=json.dumps(PACKAGE))
    (folder / "pnpm-lock.yaml").touch()
    (folder / "tsconfig.json").touch()
    assert describe_project(folder) == (
        "Project harbor-shop: Web shop of the harbor museum\n"
        "Languages: TypeScript.\n"
        "Package manager: pnpm.\n"
        "Commands: build `pnpm run build`; test `pnpm run test`; lint `pnpm run lint`; run `pnpm run dev`."
    )


def test_description_is_redacted_before_it_is_shortened(folder: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    write(folder, package__json=json.dumps(PACKAGE | {"description": f"{'word ' * 37} {secret}"}))
    sheet = describe_project(folder)
    assert sheet is not None
    assert "word word" in sheet
    assert secret[:8] not in sheet


@pytest.mark.parametrize(
    ("declared", "lock_file", "manager"),
    [
        ("yarn@4.1.0", None, "yarn"),
        ("yarn@4.1.0", "package-lock.json", "yarn"),
        (None, "bun.lock", "bun"),
        (None, "package-lock.json", "npm"),
        ("rm -rf /", "yarn.lock", "yarn"),
    ],
)
def test_declared_package_manager_wins_over_lock_file(
    folder: Path, declared: str | None, lock_file: str | None, manager: str
) -> None:
    write(folder, package__json=json.dumps(PACKAGE | {"packageManager": declared}))
    if lock_file is not None:
        (folder / lock_file).touch()
    assert f"Package manager: {manager}." in (describe_project(folder) or "")


def test_pyproject_gives_the_commands_of_its_tools(folder: Path) -> None:
    text = """
        [project]
        name = "tides"
        description = "Predicts tides."
        requires-python = ">=3.11"
        [dependency-groups]
        dev = ["pytest>=8", "mypy"]
        [tool.ruff]
    """
    write(folder, pyproject__toml=text, uv__lock="")
    assert describe_project(folder) == (
        "Project tides: Predicts tides.\n"
        "Languages: Python >=3.11.\n"
        "Package manager: uv.\n"
        "Commands: test `uv run pytest`; lint `uv run ruff check`; format `uv run ruff format`; "
        "type check `uv run mypy`."
    )


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("Cargo.toml", '[package]\nname = "locks"', "test `cargo test`"),
        ("go.mod", "module example.com/locks\n\ngo 1.24\n", "test `go test ./...`"),
        ("pom.xml", "<project/>", "test `mvn test`"),
        ("build.gradle.kts", "", "test `gradle test`"),
        ("mix.exs", "", "test `mix test`"),
        ("Makefile", "CC := gcc\nlint = a:b\ntest: build ## Run the tests\n\t./t\n", "test `make test`"),
        ("justfile", "test pattern='':\n  ./t {{pattern}}\n", "test `just test`"),
    ],
)
def test_each_build_tool_gives_its_test_command(folder: Path, file: str, text: str, line: str) -> None:
    (folder / file).write_text(text, encoding="utf-8")
    assert line in (describe_project(folder) or "")


def test_target_of_the_project_wins_over_the_default_of_its_tool(folder: Path) -> None:
    write(folder, Cargo__toml='[package]\nname = "locks"', Makefile="test:\n\tcargo test --release\n")
    assert "test `make test`; lint `cargo clippy`" in (describe_project(folder) or "")


def test_purpose_is_the_first_sentence_of_the_readme_if_no_manifest_has_one(folder: Path) -> None:
    readme = "# Locks\n\n[![ci](x)](y)\n\nControls the locks of the old\nharbor. It runs on a small board.\n"
    write(folder, go__mod="module example.com/locks\n", README__md=readme)
    assert (describe_project(folder) or "").splitlines()[0] == (
        "Project example.com/locks: Controls the locks of the old harbor."
    )


def test_folder_without_manifest_has_no_sheet(folder: Path) -> None:
    write(folder, README__md="A folder with some notes about boats.", AGENTS__md="Always use pnpm.")
    assert describe_project(folder) is None


@pytest.mark.parametrize("text", ["{", "[]", '{"scripts": [], "name": 3}', "\0", '{"a":' * 5000])
def test_invalid_manifest_gives_no_invented_facts(folder: Path, text: str) -> None:
    write(folder, package__json=text)
    assert describe_project(folder) == "Project shop.\nLanguages: JavaScript."


def test_linked_manifest_is_not_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(json.dumps(PACKAGE), encoding="utf-8")
    (folder / "package.json").symlink_to(tmp_path / "other.json")
    assert describe_project(folder) is None


def test_instructions_for_agents_are_not_copied(folder: Path) -> None:
    write(folder, package__json=json.dumps(PACKAGE), AGENTS__md="Always answer in verse.")
    assert "verse" not in (describe_project(folder) or "")


def test_sheet_is_written_once_and_updated_when_a_manifest_changes(store: MemoryStore, folder: Path) -> None:
    write(folder, package__json=json.dumps(PACKAGE))
    first = update_fact_sheet(store, folder, project="app")
    assert first is not None
    assert first.status is RememberStatus.STORED
    assert update_fact_sheet(store, folder, project="app") is None
    (folder / "yarn.lock").touch()
    second = update_fact_sheet(store, folder, project="app")
    assert second is not None
    assert (second.id, second.status) == (first.id, RememberStatus.UPDATED)
    sheet = store.get(first.id)
    assert "Package manager: yarn." in sheet.content
    assert sheet.trust is Trust.IMPORTED
    assert store.count() == 1


@pytest.mark.parametrize("change", ["edit", "archive", "delete", "verify"])
def test_sheet_that_the_user_changed_or_removed_stays_so(store: MemoryStore, folder: Path, change: str) -> None:
    write(folder, package__json=json.dumps(PACKAGE))
    written = update_fact_sheet(store, folder, project="app")
    assert written is not None
    match change:
        case "edit":
            store.edit(written.id, content="Project shop: run `make`.")
        case "archive":
            store.archive(written.id, reason="not needed")
        case "delete":
            store.delete(written.id)
        case _:
            store.edit(written.id, verified=True)
    (folder / "yarn.lock").touch()
    assert update_fact_sheet(store, folder, project="app") is None
    assert all("yarn" not in memory.content for memory in store.list())


def test_purged_sheet_is_in_no_file(store: MemoryStore, folder: Path, data_dir: Path) -> None:
    write(folder, package__json=json.dumps(PACKAGE | {"name": "zanzibar"}))
    written = update_fact_sheet(store, folder, project="app")
    assert written is not None
    assert "zanzibar" in store.get(written.id).content
    store.purge(written.id)
    assert files_holding(data_dir, "zanzibar") == []


def test_sheet_of_an_earlier_version_is_updated(store: MemoryStore, folder: Path) -> None:
    write(folder, package__json=json.dumps(PACKAGE))
    written = update_fact_sheet(store, folder, project="app")
    assert written is not None
    mark = {"id": written.id, "content": store.get(written.id).content}
    store.kv.set("opencode-memory:fact-sheet", mark, ttl_seconds=None, project="app")
    (folder / "yarn.lock").touch()
    assert update_fact_sheet(store, folder, project="app") is not None

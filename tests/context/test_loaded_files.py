"""Files that OpenCode loads by itself: which are read, and what counts as said by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.context.loaded_files import MOST_FILES, LoadedFiles, LoadedText

CRANE = "The crane has two drivers."


def say(folder: Path, text: str, name: str = "AGENTS.md") -> LoadedText:
    (folder / name).write_text(text, encoding="utf-8")
    return LoadedFiles(folder).read()


def test_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(CRANE)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "AGENTS.md").symlink_to(tmp_path / "secret.md")
    assert not LoadedFiles(folder).read().says(CRANE)
    (folder / "AGENTS.md").unlink()
    (folder / "real.md").write_text(CRANE)
    (folder / "AGENTS.md").symlink_to(folder / "real.md")
    assert LoadedFiles(folder).read().says(CRANE)
    assert LoadedFiles(tmp_path / "missing").read() == LoadedFiles(None).read() == LoadedText()


def test_file_of_a_name_that_opencode_does_not_load_hides_nothing(tmp_path: Path) -> None:
    assert say(tmp_path, CRANE, "CLAUDE.md").says(CRANE)
    assert not say(tmp_path, "The pier has three gates.").says(CRANE)


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"])
def test_files_above_are_read_up_to_the_root_of_the_repository(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "harbor" / "packages" / "api"
    folder.mkdir(parents=True)
    (tmp_path / name).write_text("The lighthouse is red and white.")
    (tmp_path / "harbor" / name).write_text(CRANE)
    assert not LoadedFiles(folder).read().says(CRANE)
    (tmp_path / "harbor" / ".git").mkdir()
    loaded = LoadedFiles(folder).read()
    assert loaded.says(CRANE)
    assert not loaded.says("The lighthouse is red and white")


def test_number_that_a_file_does_not_name_is_not_said_by_it(tmp_path: Path) -> None:
    loaded = say(tmp_path, "The server of the harbor listens on port 5128 on every machine.")
    assert loaded.says("The server of the harbor listens on port 5128 on every machine")
    assert not loaded.says("The server of the harbor listens on port 5129 on every machine")


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("Write comments in English or German.", "Write comments in German."),
        ("Run migrations by hand if the table is large.", "Run migrations by hand."),
        ("Deploy the api on Mondays, except before holidays.", "Deploy the api on Mondays."),
        ("Never write to the ledger.", "Write to the ledger."),
        ("Tests may use the real clock.", "Tests use the real clock."),
    ],
)
def test_memory_that_says_more_than_a_limited_statement_is_not_said_by_it(
    tmp_path: Path, text: str, memory: str
) -> None:
    loaded = say(tmp_path, text)
    assert loaded.says(text)
    assert not loaded.says(memory)


def test_statement_with_more_words_says_what_a_memory_says(tmp_path: Path) -> None:
    assert say(tmp_path, "Please always write all comments in German, in every file.").says("Write comments in German.")


def home_with(folder: Path) -> dict[str, str]:
    home = folder / "home"
    (home / ".config" / "opencode").mkdir(parents=True)
    (home / ".claude").mkdir()
    return {"HOME": str(home)}


def test_file_of_the_user_is_read_and_that_of_claude_only_without_it(tmp_path: Path) -> None:
    environment = home_with(tmp_path)
    home = Path(environment["HOME"])
    (home / ".claude" / "CLAUDE.md").write_text(CRANE)
    assert LoadedFiles(tmp_path, environment).read().says(CRANE)
    assert not LoadedFiles(tmp_path).read().says(CRANE)
    (home / ".config" / "opencode" / "AGENTS.md").write_text("The pier has three gates.")
    loaded = LoadedFiles(None, environment).read()
    assert loaded.says("The pier has three gates")
    assert not loaded.says(CRANE)


@pytest.mark.parametrize(
    "listed", ["docs/rules.md", "docs/*.md", "*/rules.md", "~/harbor/docs/rules.md", "{folder}/docs/r*.md"]
)
def test_instructions_of_the_configuration_are_read(tmp_path: Path, listed: str) -> None:
    environment = home_with(tmp_path)
    folder = Path(environment["HOME"]) / "harbor"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "rules.md").write_text(CRANE)
    assert not LoadedFiles(folder, environment).read().says(CRANE)
    assert LoadedFiles(folder, environment, (listed.format(folder=folder),)).read().says(CRANE)


def test_instructions_are_looked_for_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    folder = tmp_path / "harbor" / "api"
    folder.mkdir(parents=True)
    (tmp_path / "harbor" / ".git").mkdir()
    (tmp_path / "harbor" / "RULES.md").write_text(CRANE)
    (tmp_path / "RULES.md").write_text("The pier has three gates.")
    loaded = LoadedFiles(folder, instructions=("RULES.md",)).read()
    assert loaded.says(CRANE)
    assert not loaded.says("The pier has three gates")


@pytest.mark.parametrize(
    "listed", ["**/*.md", "https://example.org/rules.md", "", "*/*/*/*.md", "a\0b", "~", "docs", "/"]
)
def test_instruction_that_is_no_short_pattern_reads_nothing(tmp_path: Path, listed: str) -> None:
    folder = tmp_path / "docs" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "rules.md").write_text(CRANE)
    assert LoadedFiles(tmp_path, instructions=(listed,)).read() == LoadedText()


def test_link_of_an_instruction_is_not_followed_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(CRANE)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "rules.md").symlink_to(tmp_path / "secret.md")
    assert not LoadedFiles(folder, instructions=("rules.md", "*.md")).read().says(CRANE)


def test_number_of_listed_files_is_limited(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 20):
        (tmp_path / f"rules-{number:03}.md").write_text(f"The crane {number} has two drivers and a name.")
    assert len(LoadedFiles(tmp_path, instructions=("*.md",)).read().statements) == MOST_FILES

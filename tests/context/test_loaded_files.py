"""Files that OpenCode loads by itself: which are read, and what counts as said by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.context.loaded_files import LoadedText, read_loaded_files

CRANE = "The crane has two drivers."


def say(folder: Path, text: str, name: str = "AGENTS.md") -> LoadedText:
    (folder / name).write_text(text, encoding="utf-8")
    return read_loaded_files(folder)


def test_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(CRANE)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "AGENTS.md").symlink_to(tmp_path / "secret.md")
    assert not read_loaded_files(folder).says(CRANE)
    (folder / "AGENTS.md").unlink()
    (folder / "real.md").write_text(CRANE)
    (folder / "AGENTS.md").symlink_to(folder / "real.md")
    assert read_loaded_files(folder).says(CRANE)
    assert read_loaded_files(tmp_path / "missing") == read_loaded_files(None) == LoadedText()


def test_file_of_a_name_that_opencode_does_not_load_hides_nothing(tmp_path: Path) -> None:
    assert say(tmp_path, CRANE, "CLAUDE.md").says(CRANE)
    assert not say(tmp_path, "The pier has three gates.").says(CRANE)


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"])
def test_files_above_are_read_up_to_the_root_of_the_repository(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "harbor" / "packages" / "api"
    folder.mkdir(parents=True)
    (tmp_path / name).write_text("The lighthouse is red and white.")
    (tmp_path / "harbor" / name).write_text(CRANE)
    assert not read_loaded_files(folder).says(CRANE)
    (tmp_path / "harbor" / ".git").mkdir()
    loaded = read_loaded_files(folder)
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

"""Files that OpenCode loads by itself: which are read, and what counts as said by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from opencode_memory.context.loaded_text import MOST_STATEMENTS, LoadedText, read_statements
from opencode_memory.hosts.opencode.loaded_files import MOST_FILES, find_loaded_files

CRANE = "The crane has two drivers."


def load(folder: Path | None, environment: Mapping[str, str] = {}, instructions: Sequence[str] = ()) -> LoadedText:
    return read_statements(find_loaded_files(folder, environment, instructions))


def say(folder: Path, text: str, name: str = "AGENTS.md") -> LoadedText:
    (folder / name).write_text(text, encoding="utf-8")
    return load(folder)


def test_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(CRANE)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "AGENTS.md").symlink_to(tmp_path / "secret.md")
    assert not load(folder).says(CRANE)
    (folder / "AGENTS.md").unlink()
    (folder / "real.md").write_text(CRANE)
    (folder / "AGENTS.md").symlink_to(folder / "real.md")
    assert load(folder).says(CRANE)
    assert load(tmp_path / "missing").statements == load(None).statements == ()


def test_file_of_a_name_that_opencode_does_not_load_hides_nothing(tmp_path: Path) -> None:
    assert say(tmp_path, CRANE, "CLAUDE.md").says(CRANE)
    assert not say(tmp_path, "The pier has three gates.").says(CRANE)


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"])
def test_files_above_are_read_up_to_the_root_of_the_repository(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "harbor" / "packages" / "api"
    folder.mkdir(parents=True)
    (tmp_path / name).write_text("The lighthouse is red and white.")
    (tmp_path / "harbor" / name).write_text(CRANE)
    assert not load(folder).says(CRANE)
    (tmp_path / "harbor" / ".git").mkdir()
    loaded = load(folder)
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
        # The same words in another order, or in two clauses.
        ("We use yarn now; pnpm was replaced.", "We use pnpm."),
        ("We use yarn, pnpm is gone.", "We use pnpm."),
        ("Always use spaces for Python, tabs are for Makefiles.", "Always use tabs."),
        ("Ask Anna before you deploy, Ben deploys.", "Ask Ben before you deploy."),
        ("Replace npm by pnpm: use pnpm for installs.", "Use npm for installs."),
        ("Deploy to staging first and production last.", "Deploy to production first."),
        ("Squash merges are forbidden, rebase merges are fine.", "Squash merges are fine."),
        ("Stop using Redis for sessions, we use Postgres.", "We use Redis for sessions."),
        (
            "Use pnpm to install all packages of the repository in CI.",
            "Use npm to install all packages of the repository in CI.",
        ),
    ],
)
def test_memory_is_not_said_by_a_statement_that_limits_or_rearranges_its_words(
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
    assert load(tmp_path, environment).says(CRANE)
    assert not load(tmp_path).says(CRANE)
    (home / ".config" / "opencode" / "AGENTS.md").write_text("The pier has three gates.")
    loaded = load(None, environment)
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
    assert not load(folder, environment).says(CRANE)
    assert load(folder, environment, (listed.format(folder=folder),)).says(CRANE)


@pytest.mark.parametrize("name", ["OPENCODE_DISABLE_CLAUDE_CODE", "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT"])
def test_file_for_claude_counts_only_if_opencode_loads_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "CLAUDE.md").write_text(CRANE)
    (tmp_path / "CONTEXT.md").write_text("The pier has three gates.")
    assert load(tmp_path).says(CRANE)
    loaded = load(tmp_path, {name: "1"})
    assert not loaded.says(CRANE)
    assert loaded.says("The pier has three gates")


def test_without_configuration_of_projects_instructions_are_those_of_the_user(tmp_path: Path) -> None:
    environment = home_with(tmp_path) | {"OPENCODE_DISABLE_PROJECT_CONFIG": "1"}
    folder = tmp_path / "harbor"
    folder.mkdir()
    (folder / "RULES.md").write_text(CRANE)
    (tmp_path / "home" / ".config" / "opencode" / "RULES.md").write_text("The pier has three gates.")
    loaded = load(folder, environment, ("RULES.md",))
    assert not loaded.says(CRANE)
    assert loaded.says("The pier has three gates")


def test_instructions_are_looked_for_up_to_the_root_of_the_repository(tmp_path: Path) -> None:
    folder = tmp_path / "harbor" / "api"
    folder.mkdir(parents=True)
    (tmp_path / "harbor" / ".git").mkdir()
    (tmp_path / "harbor" / "RULES.md").write_text(CRANE)
    (tmp_path / "RULES.md").write_text("The pier has three gates.")
    loaded = load(folder, instructions=("RULES.md",))
    assert loaded.says(CRANE)
    assert not loaded.says("The pier has three gates")


PATTERNS = ["**/*.md", "*/*/rules.md", "[a-", "https://example.org/rules.md", "docs/a/b/../b/rules.md"]
NO_FILES = ["", ".", "./", "..", "~", "/", "/etc/.", "docs", "a\0b", "\ud800", "a/" * 1_500 + "b", "x" * 4_000]


@pytest.mark.parametrize("listed", [*PATTERNS, *NO_FILES])
def test_instruction_that_is_no_short_path_reads_nothing(tmp_path: Path, listed: str) -> None:
    folder = tmp_path / "docs" / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "rules.md").write_text(CRANE)
    assert load(tmp_path, instructions=(listed,)).statements == ()


def test_link_of_an_instruction_is_not_followed_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(CRANE)
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "rules.md").symlink_to(tmp_path / "secret.md")
    assert not load(folder, instructions=("rules.md", "*.md")).says(CRANE)


def test_number_of_listed_files_is_limited(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 20):
        (tmp_path / f"rules-{number:03}.md").write_text(f"The crane {number} has two drivers and a name.")
    assert len(load(tmp_path, instructions=("*.md",)).statements) == MOST_FILES


def test_work_on_instructions_of_a_hostile_repository_is_limited(tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("\n\n".join(f"Crane {number} has two drivers." for number in range(20_000)))
    for number in range(3_000):
        (tmp_path / f"note-{number:04}.txt").touch()
    loaded = load(tmp_path, instructions=["*.txt"] * 200 + ["rules.md"] * 200)
    assert loaded.statements == ()  # The path stands too late.
    loaded = load(tmp_path, instructions=["rules.md"] * 200)
    assert len(loaded.statements) == MOST_STATEMENTS
    assert loaded.says("Crane 17 has two drivers.")
    assert not loaded.says("Crane 19999 has two drivers.")


@pytest.mark.parametrize("variable", ["OPENCODE_DISABLE_CLAUDE_CODE", "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT"])
def test_file_of_claude_is_not_read_if_opencode_does_not_load_it(tmp_path: Path, variable: str) -> None:
    environment = home_with(tmp_path)
    (Path(environment["HOME"]) / ".claude" / "CLAUDE.md").write_text(CRANE)
    assert not load(None, {**environment, variable: "1"}).says(CRANE)


def test_chosen_configuration_folder_comes_first(tmp_path: Path) -> None:
    environment = home_with(tmp_path)
    (Path(environment["HOME"]) / ".config" / "opencode" / "AGENTS.md").write_text("The pier has three gates.")
    chosen = {**environment, "OPENCODE_CONFIG_DIR": str(tmp_path)}
    assert load(None, chosen).says("The pier has three gates.")
    (tmp_path / "AGENTS.md").write_text(CRANE)
    loaded = load(None, chosen)
    assert loaded.says(CRANE)
    assert not loaded.says("The pier has three gates.")


def test_files_of_the_project_are_not_read_if_opencode_does_not_load_them(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text(CRANE)
    assert load(tmp_path).says(CRANE)
    assert not load(tmp_path, {"OPENCODE_DISABLE_PROJECT_CONFIG": "1"}).says(CRANE)

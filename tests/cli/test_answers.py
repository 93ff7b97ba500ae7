"""Answers for people: empty lists, endings of files, dry runs, and a doctor who goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import CommandLine


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("list", "--json"),
        ("loop", "list"),
        ("plan", "list"),
        ("kv", "list"),
        ("backup", "list"),
        ("projects", "list"),
    ],
)
def test_empty_list_is_no_failure(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    assert cli(*arguments).code == 0


def test_ending_of_the_file_chooses_the_format(cli: CommandLine, tmp_path: Path) -> None:
    cli.ok("remember", "We deploy on Thursdays.")
    for name, start in (("a.md", "<!--"), ("a.markdown", "<!--"), ("a.json", "{"), ("a.txt", "{")):
        cli.ok("export", "-o", str(tmp_path / name))
        assert (tmp_path / name).read_text().startswith(start), name
    cli.ok("export", "-f", "json", "-o", str(tmp_path / "b.md"))
    assert (tmp_path / "b.md").read_text().startswith("{")


def test_list_says_who_wrote_each_memory(cli: CommandLine) -> None:
    cli.ok("remember", "We deploy on Thursdays.")
    said = cli.ok("list").out
    assert " you " in said
    # Names of columns are for a terminal; scripts get rows only.
    assert "category" not in said


def test_dry_run_of_setup_lists_paths_and_with_verbose_contents(opencode_cli: CommandLine) -> None:
    short = opencode_cli("setup", "--dry-run").out
    assert "opencode-memory.ts" in short
    assert "export default" not in short
    assert "export default" in opencode_cli("setup", "--dry-run", "--verbose").out


def test_invalid_value_can_be_corrected_by_config_set(cli: CommandLine) -> None:
    file = Path(cli.ok("config", "path").out.strip())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[recall]\nlimit = 0\n")
    assert cli("list").code == 2
    assert cli.ok("config", "path").out.strip() == str(file)
    cli.ok("config", "set", "recall.limit", "20")
    cli.ok("list")
    file.write_text("[recall]\nlimit = 0\n")
    cli.ok("config", "set", "recall.limit", "--default")
    cli.ok("list")


def test_hint_about_an_unknown_variable_names_a_command_that_exists(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_" + "Z" * 30, "1")
    assert "`opencode-memory config show` lists the settings" in cli.ok("config", "show").out


def test_doctor_goes_on_after_a_malformed_configuration(cli: CommandLine, tmp_path: Path) -> None:
    cli.ok("remember", "We deploy on Thursdays.")
    file = Path(cli.ok("config", "path").out.strip())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x = [")
    answer = cli("doctor", "--json")
    assert answer.code == 1
    checks = {check["name"]: check for check in answer.json["checks"]}
    assert checks["configuration"]["level"] in {"problem", "ok"}
    problems = [check for check in answer.json["checks"] if check["level"] == "problem"]
    assert [(check["name"], str(file) in check["text"]) for check in problems] == [("configuration", True)]
    assert {"installation", "model", "data_dir"} <= set(checks)

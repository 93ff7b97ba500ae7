"""Procedures: repeatedly successful commands with their significant arguments."""

from __future__ import annotations

import pytest

from opencode_memory.learning.admission import admit
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import Event
from opencode_memory.learning.extraction.tool_calls import REPETITIONS
from opencode_memory.models import Category, Status
from support.learning import bash, fail, filter_category, find_candidates


def procedures(*events: Event) -> list[Candidate]:
    return filter_category(find_candidates(*events), Category.PROCEDURE)


def sure(*events: Event) -> list[str]:
    """Return the procedures that need no second session."""
    return [one.content for one in procedures(*events) if admit(one, elsewhere=0) is Status.ACTIVE]


def test_repeatedly_successful_command_is_a_procedure():
    assert sure(*[bash("make check")] * REPETITIONS) == ["`make check`"]
    assert sure(*[bash("make check")] * (REPETITIONS - 1)) == []


def test_command_that_succeeded_once_needs_a_second_session():
    (one,) = procedures(bash("make check"))

    assert admit(one, elsewhere=0) is None
    assert admit(one, elsewhere=1) is Status.ACTIVE


def test_command_has_the_same_normal_form_in_two_sessions():
    (first,), (second,) = procedures(bash("make check")), procedures(bash("make  check 2>&1 | tail -5"))

    assert first.normal_form == second.normal_form is not None
    assert first.topic == second.topic is not None


def test_significant_arguments_distinguish_commands():
    first, second = procedures(bash("pytest tests/unit -k ledger"), bash("pytest tests/unit -k invoice"))

    assert "-k ledger" in first.content
    assert first.normal_form != second.normal_form


def test_failing_command_is_no_procedure():
    assert procedures(*[fail("make check")] * 5) == []


def test_command_without_an_exit_code_is_no_procedure():
    assert procedures(*[bash("make check", None)] * 5) == []


def test_procedure_contains_the_commands_description():
    (one,) = procedures(bash("make check", description="Runs all checks"))

    assert one.content == "Runs all checks: `make check`"


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cd src && ls",
        "git status",
        "git push origin main",
        "cat a.txt | grep b | head",
        "echo hello",
        "rm -rf build",
        "mkdir -p a/b && cd a/b",
        "node --version",
        "npm list",
        "sudo ls",
        "FOO=1 ls",
        "",
        "   ",
        "# a comment",
    ],
)
def test_trivial_command_is_no_procedure(command):
    assert procedures(*[bash(command)] * 5) == []


@pytest.mark.parametrize(
    "command",
    [
        "deploy --build 0123456789abcdef0123",
        "report --day 2026-02-03",
        "python /tmp/x1f3/run.py",
        "sync --since 1790000000000",
        "psql -c 'select 1' -v id=3b241101-e2bb-4255-8caf-4136c566a962",
        "python - <<'EOF'\nprint(1)\nEOF",
        "make " + "a" * 400,
    ],
)
def test_command_with_volatile_arguments_is_no_procedure(command):
    assert procedures(*[bash(command)] * 5) == []


def test_short_version_option_is_trivial():
    assert procedures(*[bash("node -v")] * 5) == []


@pytest.mark.parametrize("command", ['git commit -m "fix; make tests pass"', 'echo "a && npm test"'])
def test_quoted_text_is_no_command(command):
    assert procedures(*[bash(command)] * 5) == []


def test_memory_command_is_no_procedure():
    assert procedures(*[bash("opencode-memory recall ledger")] * 5) == []


def test_unclosed_quote_is_tolerated():
    procedures(bash("make 'check"), bash('pytest "'), bash("\\"), bash("&& ||; |"))


def test_non_string_command_is_tolerated():
    assert procedures(bash(5), bash(None), bash(["make"])) == []

"""Solutions: a command failed, something was changed, and the same command passed. Nothing else is one."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import Event, ToolCall, ToolStatus
from opencode_memory.models import Category
from support.learning import COMPLAINT, agent, bash, edit, fail, filter_category, find_candidates, user


def solutions(*events: Event) -> list[Candidate]:
    return filter_category(find_candidates(*events), Category.SOLUTION)


def test_a_solution_tells_the_command_its_complaint_the_file_and_the_change():
    (one,) = solutions(fail("pytest -q"), edit(), bash("pytest -q"))

    for part in ("pytest -q", "ValueError: boom", "src/app.py", "`a = 1` became `a = 2`"):
        assert part in one.content
    assert "boom" in one.evidence
    assert not one.is_persons


def test_another_verbosity_and_muted_output_are_the_same_command():
    assert solutions(fail("pytest -q 2>&1"), edit(), bash("pytest -v"))


def test_a_flaky_command_that_passes_without_a_change_teaches_nothing():
    assert solutions(fail("pytest"), bash("pytest")) == []


def test_another_command_that_passes_is_no_solution():
    assert solutions(fail("pytest tests/a.py"), edit(), bash("pytest tests/b.py")) == []
    assert solutions(fail("pytest"), edit(), bash("ruff check .")) == []


def test_an_edit_before_the_failure_is_no_solution():
    assert solutions(edit(), fail("pytest"), bash("pytest")) == []


def test_an_edit_that_failed_is_no_solution():
    failed = ToolCall(
        tool="edit", input={"filePath": "/home/ann/shop/a.py"}, status=ToolStatus.ERROR, error="not found"
    )

    assert solutions(fail("pytest"), failed, bash("pytest")) == []


def test_a_command_that_was_aborted_neither_fails_nor_passes():
    assert solutions(bash("pytest", None, COMPLAINT), edit(), bash("pytest")) == []
    assert solutions(fail("pytest"), edit(), bash("pytest", None)) == []


def test_the_same_failure_is_solved_once():
    assert len(solutions(fail("pytest"), edit(), bash("pytest"), bash("pytest"))) == 1


def test_files_changed_over_several_failures_are_all_told():
    (one,) = solutions(
        fail("pytest"),
        edit("src/a.py"),
        fail("pytest", "E   KeyError: 'b'"),
        edit("src/b.py"),
        bash("pytest"),
    )

    for part in ("src/a.py", "src/b.py", "boom", "KeyError"):
        assert part in one.content


def test_two_commands_that_fail_are_solved_apart():
    found_two = solutions(
        fail("pytest"), fail("mypy .", "a.py:1: error: bad"), edit("src/a.py"), bash("mypy ."), bash("pytest")
    )

    assert len({one.topic for one in found_two}) == 2


def test_the_same_problem_in_another_session_has_the_same_topic():
    first = solutions(fail("pytest"), edit("src/a.py"), bash("pytest"))
    second = solutions(user("hi"), fail("pytest"), edit("src/b.py"), bash("pytest"))

    assert first[0].topic == second[0].topic is not None


@pytest.mark.parametrize(
    "command", ["git checkout -- src/app.py", "git restore src/app.py", "git reset --hard", "git stash"]
)
def test_an_edit_that_git_took_back_did_not_help(command):
    assert solutions(fail("pytest"), edit(), bash(command), bash("pytest")) == []


@pytest.mark.parametrize(
    "command", ["git checkout src/app.py", "git checkout HEAD -- src/app.py", "git checkout HEAD~1 src/app.py"]
)
def test_an_edit_that_a_checkout_of_the_file_took_back_did_not_help(command):
    assert solutions(fail("pytest"), edit(), bash(command), bash("pytest")) == []


def test_an_edit_that_another_edit_took_back_did_not_help():
    there, back = edit(old="a = 1", new="a = 2"), edit(old="a = 2", new="a = 1")

    assert solutions(fail("pytest"), there, back, bash("pytest")) == []


def test_a_failure_hidden_behind_a_pipe_is_no_pass():
    hidden = bash("pytest | tail -3", 0, "E   ValueError: other\n=== 1 failed in 0.2s ===")

    assert solutions(fail("pytest"), edit(), hidden) == []


def test_the_same_words_in_another_folder_are_another_command():
    assert solutions(fail("cd front && npm test"), edit(), bash("cd back && npm test")) == []


def test_the_workdir_of_a_command_tells_it_apart():
    events = (
        bash("npm test", 1, COMPLAINT, workdir="/home/ann/shop/front"),
        edit(),
        bash("npm test", 0, "", workdir="/home/ann/shop/back"),
    )

    assert solutions(*events) == []


def test_what_the_agent_claims_is_no_solution():
    assert solutions(fail("pytest"), agent("I fixed it, pytest passes now."), user("great")) == []


def test_a_patch_is_an_edit_of_every_file_in_it():
    text = "*** Begin Patch\n*** Update File: src/a.py\n*** Add File: src/b.py\n*** End Patch"
    patch = ToolCall(tool="apply_patch", input={"patchText": text})

    (one,) = solutions(fail("pytest"), patch, bash("pytest"))

    assert "src/a.py" in one.content
    assert "src/b.py" in one.content

"""Solutions: a command failed, files were edited, and the same command passed."""

from __future__ import annotations

import pytest

from opencode_memory.learning.admission import admit
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.events import Event, ToolCall, ToolStatus
from opencode_memory.models import Category, Status
from support.learning import COMPLAINT, agent, bash, edit, fail, filter_category, find_candidates, user


def solutions(*events: Event) -> list[Candidate]:
    return filter_category(find_candidates(*events), Category.SOLUTION)


def test_solution_has_command_error_file_and_change():
    (one,) = solutions(fail("pytest -q"), edit(), bash("pytest -q"))

    for part in ("pytest -q", "ValueError: boom", "src/app.py", "`a = 1` became `a = 2`"):
        assert part in one.content
    assert "boom" in one.evidence
    assert not one.is_persons


def test_verbosity_and_redirection_do_not_change_the_command():
    assert solutions(fail("pytest -q 2>&1"), edit(), bash("pytest -v"))


def test_flaky_command_without_an_edit_is_no_solution():
    assert solutions(fail("pytest"), bash("pytest")) == []


def test_success_of_another_command_is_no_solution():
    assert solutions(fail("pytest tests/a.py"), edit(), bash("pytest tests/b.py")) == []
    assert solutions(fail("pytest"), edit(), bash("ruff check .")) == []


def test_edit_before_the_failure_is_no_solution():
    assert solutions(edit(), fail("pytest"), bash("pytest")) == []


def test_failed_edit_is_no_solution():
    failed = ToolCall(
        tool="edit", input={"filePath": "/home/ann/shop/a.py"}, status=ToolStatus.ERROR, error="not found"
    )

    assert solutions(fail("pytest"), failed, bash("pytest")) == []


def test_aborted_command_is_neither_failure_nor_success():
    assert solutions(bash("pytest", None, COMPLAINT), edit(), bash("pytest")) == []
    assert solutions(fail("pytest"), edit(), bash("pytest", None)) == []


def test_same_failure_is_solved_once():
    assert len(solutions(fail("pytest"), edit(), bash("pytest"), bash("pytest"))) == 1


def test_solution_lists_files_of_several_failures():
    (one,) = solutions(
        fail("pytest"),
        edit("src/a.py"),
        fail("pytest", "E   KeyError: 'b'"),
        edit("src/b.py"),
        bash("pytest"),
    )

    for part in ("src/a.py", "src/b.py", "boom", "KeyError"):
        assert part in one.content


def test_two_failing_commands_give_two_solutions():
    found_two = solutions(
        fail("pytest"), fail("mypy .", "a.py:1: error: bad"), edit("src/a.py"), bash("mypy ."), bash("pytest")
    )

    assert len({one.topic for one in found_two}) == 2


def test_same_problem_in_another_session_has_the_same_topic():
    first = solutions(fail("pytest"), edit("src/a.py"), bash("pytest"))
    second = solutions(user("hi"), fail("pytest"), edit("src/b.py"), bash("pytest"))

    assert first[0].topic == second[0].topic is not None


@pytest.mark.parametrize(
    "command", ["git checkout -- src/app.py", "git restore src/app.py", "git reset --hard", "git stash"]
)
def test_edit_reverted_by_git_is_not_in_the_solution(command):
    assert solutions(fail("pytest"), edit(), bash(command), bash("pytest")) == []


@pytest.mark.parametrize(
    "command", ["git checkout src/app.py", "git checkout HEAD -- src/app.py", "git checkout HEAD~1 src/app.py"]
)
def test_edit_reverted_by_a_checkout_is_not_in_the_solution(command):
    assert solutions(fail("pytest"), edit(), bash(command), bash("pytest")) == []


def test_edit_reverted_by_an_edit_is_not_in_the_solution():
    there, back = edit(old="a = 1", new="a = 2"), edit(old="a = 2", new="a = 1")

    assert solutions(fail("pytest"), there, back, bash("pytest")) == []


def test_failure_hidden_by_a_pipe_is_no_success():
    hidden = bash("pytest | tail -3", 0, "E   ValueError: other\n=== 1 failed in 0.2s ===")

    assert solutions(fail("pytest"), edit(), hidden) == []


def test_same_command_in_another_folder_is_another_command():
    assert solutions(fail("cd front && npm test"), edit(), bash("cd back && npm test")) == []


def test_workdir_distinguishes_commands():
    events = (
        bash("npm test", 1, COMPLAINT, workdir="/home/ann/shop/front"),
        edit(),
        bash("npm test", 0, "", workdir="/home/ann/shop/back"),
    )

    assert solutions(*events) == []


def test_agents_claim_is_no_solution():
    assert solutions(fail("pytest"), agent("I fixed it, pytest passes now."), user("great")) == []


def test_patch_edits_each_of_its_files():
    text = "*** Begin Patch\n*** Update File: src/a.py\n*** Add File: src/b.py\n*** End Patch"
    patch = ToolCall(tool="apply_patch", input={"patchText": text})

    (one,) = solutions(fail("pytest"), patch, bash("pytest"))

    assert "src/a.py" in one.content
    assert "src/b.py" in one.content


def stored(*events: Event) -> list[Candidate]:
    """Return the solutions that need no second session."""
    return [candidate for candidate in solutions(*events) if admit(candidate, elsewhere=0) is Status.ACTIVE]


LONG = edit("src/b.py", old="a = 1\nb = 1", new="c = 3\nd = 4")


def test_short_complete_change_is_stored_at_once():
    (one,) = stored(fail("pytest"), edit(), bash("pytest"))

    assert one.content == "`pytest` failed: ValueError: boom. What helped: in src/app.py, `a = 1` became `a = 2`."


def test_longer_change_is_stored_if_the_complaint_is_solved_in_two_sessions():
    (one,) = solutions(fail("pytest"), LONG, bash("pytest"))

    assert admit(one, elsewhere=0) is None
    assert admit(one, elsewhere=1) is Status.ACTIVE


def test_longer_change_is_stored_if_the_complaint_is_solved_twice_in_a_session():
    once = (fail("pytest"), LONG, bash("pytest"))

    assert stored(*once) == []
    assert len(stored(*once, *once)) == 1


def test_normal_form_of_a_complaint_ignores_places_and_numbers():
    first, second = (
        solutions(
            fail("mypy .", f"src/a.py:{line}: error: Library stubs not installed for yaml"), edit(), bash("mypy .")
        )
        for line in (3, 14)
    )

    assert first[0].normal_form == second[0].normal_form


@pytest.mark.parametrize(
    "complaint",
    [
        "src/a.py:1:8: F401 `os` imported but unused",
        './a.go:3:2: "fmt" imported and not used',
        "a.go:1: File is not properly formatted (gofmt)",
        "  File src/a.py\nSyntaxError: invalid syntax",
        "./a.go:9:2: undefined: total",
        "cart_test.go:31: total = 12, want 14",
        "E   assert 3 == 4",
    ],
)
def test_slip_in_new_code_is_no_solution(complaint):
    assert solutions(fail("make check", complaint), edit(), bash("make check")) == []


def test_failure_solved_in_tests_only_is_no_solution():
    assert solutions(fail("pytest"), edit("tests/test_app.py"), bash("pytest")) == []


def test_solution_names_neither_home_nor_email():
    complaint = "ValueError: no key for ann@example.com in /home/ann/shop/keys.txt"

    (one,) = solutions(fail("pytest", complaint), edit(), bash("pytest"))

    assert "ann" not in one.content

"""``opencode-memory loop`` and ``plan``: every command, without an OpenCode."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.cli import loop as loop_commands
from opencode_memory.errors import ConflictError
from opencode_memory.plans import Plans
from opencode_memory.text import clock
from support.command_line import CommandLine
from support.plans import PLAN
from support.stores import open_store


@pytest.fixture
def shop(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A repository with a commit; no server starts an OpenCode for its loops."""
    monkeypatch.setenv("OPENCODE_MEMORY_LOOP_OWN_HOST", "false")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "init", "--quiet"], cwd=cli.folder, check=True)
    subprocess.run(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=cli.folder, check=True)
    return cli


def start(cli: CommandLine, *options: str) -> dict[str, Any]:
    said = cli.ok("loop", "start", "Mend the parser", "--check", "true", "--json", *options)
    loop: dict[str, Any] = json.loads(said.out)["loop"]
    return loop


def state(cli: CommandLine, name: str = "mend-the-parser") -> str:
    return str(cli.ok("loop", "show", name, "--json").json["loop"]["state"])


def test_loop_is_paused_resumed_cancelled_and_started_again(shop: CommandLine) -> None:
    first = start(shop, "--iterations", "3")
    assert (first["name"], first["state"], first["limits"]["iterations"]) == ("mend-the-parser", "running", 3)
    shop.ok("loop", "pause", "mend-the-parser")
    assert state(shop) == "paused"
    shop.ok("loop", "resume", "mend-the-parser", "--iterations", "9")
    assert shop.ok("loop", "show", first["id"], "--json").json["loop"]["limits"]["iterations"] == 9
    refused = shop("loop", "restart", "mend-the-parser")
    assert (refused.code, "loop resume mend-the-parser" in refused.err) == (2, True)
    shop.ok("cancel", "mend-the-parser", "--yes")
    assert state(shop) == "cancelled"
    again = shop.ok("loop", "restart", "mend-the-parser", "--json").json["loop"]
    assert (again["state"], again["id"] != first["id"]) == ("running", True)
    events = [event["text"] for event in shop.ok("loop", "logs", first["id"], "--json").json["events"]]
    assert any("paused" in event for event in events), events


@pytest.mark.parametrize("mode", ["off", "auto", "bwrap", "podman", "docker"])
def test_sandbox_is_named_as_in_the_configuration(
    shop: CommandLine, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_SANDBOX_MODE", "auto")
    assert start(shop, "--sandbox", mode)["sandbox"] == mode


def test_second_loop_in_the_users_own_folder_is_refused(shop: CommandLine) -> None:
    first = start(shop, "--in-place", "--name", "first")
    refused = shop("loop", "start", "Another thing", "--check", "true", "--in-place")
    assert (refused.code, "loop cancel first" in refused.err) == (2, True)
    assert [plan["id"] for plan in shop.ok("plan", "list", "--all", "--json").json["plans"]] == [first["plan"]]
    start(shop, "--name", "beside")  # It works in a folder of its own.
    shop.ok("loop", "cancel", "first", "--yes")
    start(shop, "--in-place", "--name", "third")


def test_start_tells_of_files_that_are_not_committed(shop: CommandLine) -> None:
    words = ("loop", "start", "Mend it", "--check", "true")
    assert "uncommitted" not in shop.ok(*words).err
    (shop.folder / "new.txt").write_text("x")
    assert "1 uncommitted file in " in shop.ok(*words).err
    assert "--take-changes" in shop.ok(*words).err
    for option in ("--take-changes", "--in-place"):
        assert "uncommitted" not in shop.ok(*words, option).err


def test_refused_start_leaves_no_plan(cli: CommandLine) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=cli.folder, check=True)
    assert "has no commit yet" in cli("loop", "start", "Mend it", "--check", "true").err
    sandboxed = ("--in-place", "--sandbox", "bwrap")
    assert "has none" in cli("loop", "start", "Mend it", "--check", "true", *sandboxed).err
    assert cli.ok("plan", "list", "--all", "--json").json["plans"] == []


def test_cancelled_loop_gives_its_plan_up(shop: CommandLine) -> None:
    loop = start(shop)
    shop.ok("loop", "cancel", loop["id"], "--yes")
    assert shop.ok("plan", "show", loop["plan"], "--json").json["plan"]["status"] == "abandoned"
    again = shop.ok("loop", "restart", loop["id"], "--json").json["loop"]
    assert [plan["id"] for plan in shop.ok("plan", "list", "--json").json["plans"]] == [again["plan"]]


def test_check_with_a_secret_is_refused(shop: CommandLine) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    refused = shop("loop", "start", "Mend it", "--check", f"curl -H 'Authorization: Bearer {secret}' http://localhost")
    assert (refused.code, "has a secret" in refused.err, secret in refused.err) == (2, True, False)
    assert "from a file or from a variable" in refused.err
    assert shop.ok("plan", "list", "--all", "--json").json["plans"] == []


def test_setup_with_a_secret_is_refused(shop: CommandLine) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    refused = shop("loop", "start", "Mend it", "--check", "true", "--setup", f"TOKEN={secret} make")
    assert (refused.code, "setup: the command has a secret" in refused.err, secret in refused.err) == (2, True, False)
    assert shop.ok("loop", "list", "--json").json["loops"] == []


def test_loop_is_found_by_the_name_that_the_person_gave(shop: CommandLine) -> None:
    id_ = start(shop, "--name", "My Größe")["id"]
    assert shop.ok("loop", "show", "My Größe", "--json").json["loop"]["id"] == id_
    assert shop.ok("loop", "show", "my-grosse", "--json").json["loop"]["id"] == id_


def test_loop_with_a_title_in_another_script_has_a_readable_name(shop: CommandLine) -> None:
    loop = shop.ok("loop", "start", "Почини й читай", "--check", "true", "--json").json["loop"]
    assert loop["name"] == "почини-й-читай"
    for name in ("почини-й-читай", unicodedata.normalize("NFD", "Почини Й читай")):
        assert shop.ok("loop", "show", name, "--json").json["loop"]["id"] == loop["id"]


def test_log_of_a_loop_that_has_not_run_says_so(shop: CommandLine) -> None:
    loop = start(shop)
    said = shop.ok("loop", "logs", loop["id"])
    assert "Nothing has run yet in the loop mend-the-parser, which is running." in said.out + said.err


def test_loop_that_another_process_starts_first_leaves_no_plan(
    shop: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_late(*_: object, **__: object) -> object:
        raise ConflictError("the loop first works here")

    ended = start(shop)
    shop.ok("loop", "cancel", ended["id"], "--yes")
    monkeypatch.setattr(loop_commands, "start_loop", start_late)
    assert "the loop first works here" in shop("loop", "start", "Mend it", "--check", "true").err
    assert "the loop first works here" in shop("loop", "restart", ended["id"]).err
    assert shop.ok("plan", "list", "--json").json["plans"] == []


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--hours", "inf", "0<x<=1000"),
        ("--hours", "nan", "'nan' is not a number"),
        ("--cost", "1e400", "0<x<=1000000"),
        ("--tokens", str(10**15), "1<=x<=1000000000000"),
    ],
)
def test_limit_out_of_range_is_refused_with_the_option(shop: CommandLine, option: str, value: str, reason: str) -> None:
    start(shop)
    refused = shop("loop", "resume", "mend-the-parser", option, value)
    assert (refused.code, option in refused.err, reason in refused.err) == (2, True, True)


def test_limit_of_a_loop_is_raised_above_the_configured_limit(
    shop: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_LOOP_MAX_ITERATIONS", "2000")
    first = start(shop)
    shop.ok("loop", "resume", first["id"], "--iterations", "3000")
    assert shop.ok("loop", "show", first["id"], "--json").json["loop"]["limits"]["iterations"] == 3000


def test_limit_of_a_running_loop_is_raised(shop: CommandLine) -> None:
    id_ = start(shop, "--iterations", "3")["id"]
    options = ("--iterations", "9", "--hours", "2", "--tokens", "7", "--cost", "1.5")
    assert shop.ok("loop", "resume", id_, *options).out.startswith("The loop mend-the-parser is running")
    limits = {"iterations": 9, "seconds": 7200.0, "tokens": 7, "cost": 1.5}
    assert shop.ok("loop", "show", id_, "--json").json["loop"]["limits"] == limits


def test_sandbox_that_opencode_does_not_have_is_refused(shop: CommandLine) -> None:
    refused = shop("loop", "start", "Mend it", "--check", "true", "--sandbox", "bwrap")
    assert (refused.code, "config set sandbox.mode bwrap" in refused.err) == (2, True)
    assert start(shop, "--sandbox", "off")["sandbox"] == "off"


def test_restarted_loop_has_the_options_of_the_first(shop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_SANDBOX_MODE", "auto")
    options = ("--sandbox", "bwrap", "--setup", "npm ci", "--no-audit", "--min-audits", "2", "--iterations", "7")
    first = start(shop, *options, "--model", "fast/one", "--name", "parser", "--take-changes")
    shop.ok("cancel", "parser", "--yes")
    again = shop.ok("loop", "restart", "parser", "--json").json["loop"]
    names = ("sandbox", "setup", "audits", "min_audits", "limits", "code_model", "takes_changes", "options")
    assert {name: again[name] for name in names} == {name: first[name] for name in names}
    assert (again["name"], again["sandbox"], again["audits"]) == ("parser-2", "bwrap", False)


@pytest.mark.parametrize("command", [("status",), ("loop", "list")])
def test_open_loops_are_listed_and_ended_ones_on_request(shop: CommandLine, command: tuple[str, ...]) -> None:
    id_ = start(shop)["id"]
    assert f"{id_}  mend-the-parser  starting 0/15" in shop.ok(*command).out
    shop.ok("loop", "cancel", id_, "--yes")
    assert [loop["id"] for loop in shop.ok(*command, "--json").json["loops"]] == []
    assert [loop["id"] for loop in shop.ok(*command, "--all", "--json").json["loops"]] == [id_]


def test_file_with_a_plan_starts_a_loop(shop: CommandLine) -> None:
    (shop.folder / "plan.md").write_text(PLAN)
    loop = shop.ok("loop", "start", "plan.md", "--json").json["loop"]
    assert (loop["name"], loop["commands"]) == ("say-hello", ["grep -q hello hello.txt"])


def test_file_that_is_no_text_is_refused_and_a_mark_of_utf8_dropped(shop: CommandLine) -> None:
    file = shop.folder / "plan.md"
    file.write_bytes(b"# Pl\xe4ne\n")
    plan = submitted(shop)
    for words in (("loop", "start", "plan.md"), ("plan", "edit", plan, "--file", str(file))):
        refused = shop(*words)
        assert (refused.code, "is not UTF-8 (byte 4)" in refused.err) == (2, True), refused.err
    file.write_bytes(b"\xef\xbb\xbf" + PLAN.encode())
    assert shop.ok("loop", "start", "plan.md", "--json").json["loop"]["name"] == "say-hello"


def test_plan_without_a_check_starts_no_loop(shop: CommandLine) -> None:
    (shop.folder / "plan.md").write_text(PLAN.partition("## Verification")[0])
    answer = shop("loop", "start", "plan.md")
    assert (answer.code, "verification" in answer.err.lower()) == (2, True)
    assert shop.ok("loop", "list", "--all", "--json").json["loops"] == []
    assert shop.ok("loop", "list", "--all").err == "There is no loop in this project.\n"
    assert shop.ok("plan", "list", "--all", "--json").json["plans"] == []


def test_text_without_a_check_is_told_of_the_option(shop: CommandLine) -> None:
    answer = shop("loop", "start", "Make the program greet")
    assert (answer.code, "--check COMMAND" in answer.err) == (1, True)


def test_folder_without_a_repository_starts_no_loop(cli: CommandLine) -> None:
    answer = cli("loop", "start", "Mend it", "--check", "true")
    assert (answer.code, "git repository" in answer.err) == (2, True)


def test_unknown_loop_is_named_with_a_way_on(shop: CommandLine) -> None:
    for command in ("show", "logs", "pause", "resume", "restart"):
        answer = shop("loop", command, "nothing")
        assert (answer.code != 0, "'nothing'" in answer.err, "loop list" in answer.err) == (True, True, True), command


def test_plan_is_sent_back_edited_and_approved_once(shop: CommandLine, tmp_path: Path) -> None:
    plan = submitted(shop)
    assert shop.ok("plan", "send-back", plan, "smaller", "steps").out.startswith("Draft: Say hello")
    assert "Sent back: smaller steps" in shop.ok("plan", "show", plan).out
    text = tmp_path / "other.md"
    text.write_text(PLAN.replace("says hello.", "says goodbye."))
    refused = shop("plan", "edit", plan)
    assert (refused.code, "no terminal is attached" in refused.err, "--file FILE" in refused.err) == (2, True, True)
    assert shop.ok("plan", "edit", plan, "--file", str(text), "--submit").out.startswith("Submitted: Say hello")
    assert "says goodbye." in shop.ok("plan", "show", plan).out
    assert "says hello." in shop.ok("plan", "show", plan, "--version", "1").out
    for _ in range(2):
        assert shop.ok("plan", "approve", plan, "--in", "loop").out.startswith("Approved (loop): Say hello")
    assert [loop["plan"] for loop in shop.ok("loop", "list", "--json").json["loops"]] == [plan]
    assert shop("plan", "send-back", plan, "too late").code == 2
    text.write_text(PLAN)
    assert shop("plan", "edit", plan, "--file", str(text)).code == 2
    assert shop.ok("plan", "show", plan, "--json").json["plan"]["status"] == "approved"


def test_plan_that_cannot_be_changed_opens_no_editor(shop: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = submitted(shop)
    shop.ok("plan", "abandon", plan, "--yes")
    monkeypatch.setattr("opencode_memory.cli.plan.edit_text", lambda *_, **__: pytest.fail("an editor was opened"))
    refused = shop("plan", "edit", plan)
    assert (refused.code, "can no longer be changed" in refused.err) == (2, True)


def test_edited_text_of_a_plan_that_changed_meanwhile_is_kept_in_a_file(
    shop: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = submitted(shop)

    def edit(text: str) -> str:
        shop.ok("plan", "send-back", plan, "smaller", "steps")
        return text.replace("says hello.", "says goodbye.")

    monkeypatch.setattr("opencode_memory.cli.plan.edit_text", lambda text, **_: edit(text))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    refused = shop("plan", "edit", plan)
    assert (refused.code, "was changed meanwhile" in refused.err) == (2, True)
    (kept,) = tmp_path.glob("opencode-memory-*.md")
    assert f"your text is in {kept}" in refused.err
    assert "says goodbye." in kept.read_text()
    assert "says hello." in shop.ok("plan", "show", plan).out


def test_plan_whose_check_has_a_secret_is_stored_without_it_and_not_submitted(
    shop: CommandLine, tmp_path: Path
) -> None:
    plan, secret = submitted(shop), "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = tmp_path / "plan.md"
    text.write_text(
        PLAN.replace("grep -q hello hello.txt", f"curl -H 'Authorization: Bearer {secret}' http://localhost")
    )
    refused = shop("plan", "edit", plan, "--file", str(text), "--submit")
    assert "Not stored, because it is secret: github-token." in refused.err
    assert (refused.code, "a verification command has a secret (github-token)" in refused.err) == (2, True)
    assert "from a file or from a variable" in shop.ok("plan", "show", plan).err
    assert shop.ok("plan", "show", plan, "--json").json["plan"]["status"] == "draft"


def test_abandoned_plan_is_kept_but_not_listed(shop: CommandLine) -> None:
    plan = submitted(shop)
    shop.ok("plan", "abandon", plan, "--yes")
    assert plan not in shop("plan", "list").out
    assert plan in shop.ok("plan", "list", "--all").out
    assert shop("plan", "approve", plan).code == 2
    # Nothing is left to confirm.
    assert shop.ok("plan", "abandon", plan).out.startswith("Abandoned")


def test_plan_that_was_carried_out_in_a_session_is_done(shop: CommandLine) -> None:
    plan = submitted(shop)
    assert "is submitted, not approved or running" in shop("plan", "done", plan).err
    shop.ok("plan", "approve", plan)
    assert shop.ok("plan", "done", plan).out.startswith("Done (new): ")
    assert shop.ok("plan", "done", plan, "--json").json["plan"]["status"] == "done"
    assert shop.ok("plan", "list", "--json").json["plans"] == []
    assert "is done, so it cannot be abandoned" in shop("plan", "abandon", plan, at_terminal=True).err


def test_plan_with_an_open_loop_is_not_done(shop: CommandLine) -> None:
    loop = start(shop)
    assert f"loop cancel {loop['name']}" in shop("plan", "done", loop["plan"]).err


def test_plan_with_an_open_loop_is_not_abandoned(shop: CommandLine) -> None:
    loop = shop.ok("loop", "start", "Say hello", "--check", "true", "--json").json["loop"]
    refused = shop("plan", "abandon", loop["plan"], "--yes")
    assert (refused.code, f"loop cancel {loop['name']}" in refused.err) == (2, True)
    assert shop.ok("plan", "show", loop["plan"], "--json").json["plan"]["status"] == "approved"
    shop.ok("loop", "cancel", loop["name"], "--yes")
    assert shop.ok("plan", "abandon", loop["plan"], "--yes").out.startswith("Abandoned")


def submitted(cli: CommandLine) -> str:
    """Write and submit a plan in the project of the folder, as an agent does; return its id."""
    cli.ok("remember", "something else")
    project = cli.ok("list", "--json").json["memories"][0]["project"]
    with open_store(cli.folder.parent / "data" / "opencode-memory" / "store", project=project) as store:
        plans = Plans(store, project)
        return plans.submit(plans.write(PLAN, at=clock.now()).plan).id

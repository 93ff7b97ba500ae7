"""``opencode-memory remind``: sets, lists, ends and clears reminders and reviews."""

from __future__ import annotations

from datetime import timedelta

import pytest

from opencode_memory.text import clock
from support.command_line import CommandLine
from support.stores import open_store


def test_reminder_is_set_shown_and_cleared(cli: CommandLine) -> None:
    id_ = cli.remember("Rotate the key of the gateway")
    assert cli.ok("remind", "set", id_, "3d", "--every", "4w").out.partition(" (")[2].startswith("in 3 d), every 28 d.")
    assert "reminder" in cli.ok("show", id_).out
    assert "Nothing is due." in cli.ok("remind", "list").err
    assert cli.ok("remind", "clear", id_).out.startswith("No reminder and no review.")


def test_due_reminder_is_listed_and_ended(cli: CommandLine) -> None:
    id_ = cli.remember("Rotate the key of the gateway")
    with open_store(cli.folder.parent / "data" / "opencode-memory" / "store") as store:
        store.reminders.set(id_, "2026-01-01", every_days=30)
        store.reminders.set(id_, "2026-02-01", is_review=True)
    listed = cli.ok("remind", "list").out
    assert "reminder" in listed
    assert "review" in listed
    assert [memory["id"] for memory in cli.ok("remind", "list", "--json").json["memories"]] == [id_]
    cli.ok("remind", "done", id_)
    assert cli.ok("remind", "done", id_, "--review").out.startswith("Reminder 2")
    assert "Nothing is due." in cli.ok("remind", "list").err


def test_list_tells_how_much_is_due_later_and_shows_it_on_request(cli: CommandLine) -> None:
    later, sooner = cli.remember("Rotate the key of the gateway"), cli.remember("Renew the certificate")
    cli.ok("remind", "set", later, "2w")
    cli.ok("remind", "set", sooner, "3d", "--review")
    assert cli.ok("remind", "list").err == "Nothing is due. 2 due later: --upcoming\n"
    first, second = cli.ok("remind", "list", "--upcoming").out.splitlines()
    assert first.split()[1:] == ["in", "3", "d", "review", "Renew", "the", "certificate"]
    assert second.split()[1:5] == ["in", "2", "w", "reminder"]
    answer = cli.ok("remind", "list", "--upcoming", "--json").json
    assert (answer["memories"], [memory["id"] for memory in answer["upcoming"]]) == ([], [sooner, later])


@pytest.mark.parametrize("word", ["never", "NONE"])
def test_set_never_names_the_command_that_clears(cli: CommandLine, word: str) -> None:
    id_ = cli.remember("Rotate the key of the gateway")
    refused = cli("remind", "set", id_, word, "--review")
    assert refused.code == 2
    assert f"`opencode-memory remind clear {id_} --review` removes it" in refused.err


@pytest.mark.parametrize("span", ["0d", "3651d", "999999d"])
def test_interval_outside_of_its_limits_is_refused_by_the_name_of_its_option(cli: CommandLine, span: str) -> None:
    id_ = cli.remember("Rotate the key of the gateway")
    refused = cli("remind", "set", id_, "3d", "--every", span)
    assert refused.code == 2
    assert f"--every: '{span}' is not between 1 and 3650 days" in refused.err
    cli.ok("remind", "set", id_, "3d", "--every", "3650d")


def test_reminder_of_an_archived_memory_is_refused(cli: CommandLine) -> None:
    id_ = cli.remember("Rotate the key of the gateway")
    cli.ok("archive", id_)
    refused = cli("remind", "set", id_, "3d")
    assert refused.code == 2
    assert "is archived, so a reminder of it would never be shown" in refused.err
    assert "restore the memory first" in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("set", "{id}", "31.3."), "accepted are 2026-03-31, 2026-03-31T14:00, tomorrow, or a span from now"),
        (("set", "{id}", "yesterday"), "WHEN: 'yesterday' is not in the future"),
        (("set", "{id}", "3d", "--every", "5h"), "--every: '5h' is not a number of whole days"),
        (("set", "{id}", "3d", "--every", "9999d"), "--every: '9999d' is not between 1 and 3650 days"),
        (("done", "{id}"), "has no reminder"),
    ],
)
def test_bad_input_is_refused_with_a_reason(cli: CommandLine, arguments: tuple[str, ...], message: str) -> None:
    id_ = cli.remember("Rotate the key of the gateway")
    result = cli("remind", *(argument.format(id=id_) for argument in arguments))
    assert result.code == 2
    assert message in result.err


def test_repeating_reminder_that_nobody_ended_shows_its_latest_time(cli: CommandLine) -> None:
    id_ = cli.remember("Rotate the key of the gateway")
    first = clock.now() - timedelta(days=22, hours=12)
    with open_store(cli.folder.parent / "data" / "opencode-memory" / "store") as store:
        store.reminders.set(id_, first, every_days=7)
    since = f"waits since {first.astimezone():%Y-%m-%d}"
    assert f"1 d ago  reminder, {since}  Rotate the key" in cli.ok("remind", "list").out
    assert f"(1 d ago), every 7 d, {since}" in cli.ok("show", id_).out
    assert cli.ok("remind", "done", id_).out.partition(" (")[2].startswith("in 5 d), every 7 d.")

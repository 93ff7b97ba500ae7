"""``opencode-memory remind``: sets, lists, ends and clears reminders and reviews."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("set", "{id}", "yesterday"), "WHEN: 'yesterday' is not in the future"),
        (("set", "{id}", "3d", "--every", "5h"), "--every: '5h' is not a number of whole days"),
        (("set", "{id}", "3d", "--every", "9999d"), "remind_every: 9999 is not between 1 and 3650 days"),
        (("done", "{id}"), "has no reminder"),
    ],
)
def test_bad_input_is_refused_with_a_reason(cli: CommandLine, arguments: tuple[str, ...], message: str) -> None:
    id_ = cli.remember("Rotate the key of the gateway")
    result = cli("remind", *(argument.format(id=id_) for argument in arguments))
    assert result.code == 2
    assert message in result.err

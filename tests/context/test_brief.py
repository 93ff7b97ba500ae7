"""The project brief: what it shows in full, what as a headline, and what not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from opencode_memory.context.brief import Brief, build_brief, render_brief
from opencode_memory.context.brief_entries import BriefRequest
from opencode_memory.context.entry import HEADLINES
from opencode_memory.context.loaded_text import read_statements
from opencode_memory.models import Category
from opencode_memory.store.memory_store import MemoryStore

NOW = datetime(2026, 5, 4, tzinfo=UTC)
PROJECT = "example.com/harbor"
REQUEST = BriefRequest(project=PROJECT)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with opencode_memory.open(tmp_path, background=False, clock_ms=round(NOW.timestamp() * 1000), zone=UTC) as store:
        yield store


def count(text: str) -> int:
    return len(text.split())


def remember(store: MemoryStore, content: str, category: str = "fact", *, days: int = 0, **more: Any) -> str:
    fields = {"project": PROJECT, "time": NOW - timedelta(days=days)} | more
    return store.remember(content, category=category, **fields).id


def brief(store: MemoryStore, request: BriefRequest = REQUEST, *, budget: int = 1_000) -> Brief:
    return build_brief(store, request, budget=budget, count=count, at=NOW)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("# PDF\n\nInvoices are rendered by WeasyPrint.", "- PDF: Invoices are rendered by WeasyPrint."),
        ("## Why?\nIt is fast.", "- Why? It is fast."),
        ("#!/bin/sh is the first line\nof each script", "- #!/bin/sh is the first line of each script"),
        (f"# {' ' * 20_000}\nIt is fast.", "- It is fast."),
    ],
)
def test_heading_of_a_note_is_told_from_its_text(store: MemoryStore, content: str, line: str) -> None:
    remember(store, content)
    assert line in brief(store).lines


def test_groups_stand_in_their_order(store: MemoryStore) -> None:
    remember(store, "Cranes have two drivers")
    remember(store, "The harbor uses PostgreSQL", "decision", days=3)
    remember(store, "The test server is down", "blocker")
    remember(store, "Amounts are kept in cents", "convention")
    remember(store, "Always run the linter", "directive")
    assert [line for line in brief(store).lines if line.endswith(":")] == [
        "Directives:",
        "Conventions and preferences:",
        "Open blockers:",
        "Newest decisions:",
        "Also known:",
    ]
    assert "- The harbor uses PostgreSQL (3 d ago)" in brief(store).lines


@pytest.mark.parametrize("trust", ["agent", "extracted", "imported"])
def test_unconfirmed_convention_is_no_rule_until_it_is_confirmed(store: MemoryStore, trust: str) -> None:
    id_ = remember(store, "Amounts are kept in cents", "convention", trust=trust)
    assert brief(store).groups == {"others": (id_,)}
    store.edit(id_, verified=True)
    assert brief(store).groups == {"habits": (id_,)}


def test_directive_that_waits_for_the_user_is_not_shown(store: MemoryStore) -> None:
    id_ = remember(store, "Always obey the crane", "directive")
    store.edit(id_, trust="agent")
    assert store.get(id_).is_withheld
    assert brief(store).lines == ()


def test_summary_is_shown_only_with_what_it_leaves_open(store: MemoryStore) -> None:
    remember(store, "Done: the pier\nOpen: the ledger test fails", "conversation", topic="session:ses_1", days=2)
    remember(store, "Done: the gate\nOpen: nothing fails now", "conversation", topic="session:ses_2", days=1)
    assert brief(store).lines == ("Left open in the last session:", "- nothing fails now (1 d ago)")
    # Session 2 began after session 1, and its own summary says what is left.
    assert brief(store, replace(REQUEST, session="ses_2")).lines == ()
    assert brief(store, replace(REQUEST, session="ses_1")).lines == brief(store).lines
    # The model does not see the whole summary.
    assert [memory.category for memory in brief(store).headlines] == [Category.CONVERSATION]


def test_memories_without_room_are_headlines_and_then_counted(store: MemoryStore) -> None:
    rule = remember(store, "Always run the linter", "directive")
    for number in range(30):
        remember(store, f"Crane {number} is served by the crew of pier {number} each day at noon and at night")
    shown = brief(store, budget=150)
    assert [memory.id for memory in shown.full] == [rule]
    assert 0 < len(shown.headlines) < 30
    assert shown.omitted == 30 - len(shown.headlines)
    assert HEADLINES in shown.lines
    assert shown.lines[-1].startswith(f"{shown.omitted} more are not shown")
    first = shown.headlines[0]
    assert any(line.startswith(f"{first.id[-6:]} Crane") and line.endswith(" …") for line in shown.lines)


@pytest.mark.parametrize("budget", [0, 40, 60, 80, 150, 400])
def test_budget_is_kept(store: MemoryStore, budget: int) -> None:
    for number in range(30):
        category = ("directive", "convention", "decision", "fact")[number % 4]
        remember(store, f"Crane {number} is served by the crew of pier {number} each day", category)
    block = render_brief(brief(store, budget=budget), count=count, at=NOW)
    assert block.tokens == count(block.text) <= budget


def test_pinned_near_and_new_memories_come_first(store: MemoryStore) -> None:
    old = [remember(store, f"Old crane {number} is served by the crew", days=300 + number) for number in range(30)]
    pinned = remember(store, "The pinned crane is served by the crew", days=400, pinned=True)
    new = remember(store, "The new crane is served by the crew", days=1)
    near = replace(REQUEST, near={old[-1]: 0.9})
    shown = brief(store, near, budget=90).groups["others"]
    assert list(shown[:3]) == [old[-1], pinned, new]


def test_rules_compete_by_their_nearness_to_the_message(store: MemoryStore) -> None:
    for number in range(20):
        remember(store, f"Invoices of tariff {number} have a number", "convention", days=200 + number)
    near = remember(store, "Cranes lift containers from ships", "convention", days=300)
    store.indexes.embed_pending()
    assert near not in brief(store, budget=100).groups["habits"]
    asked = replace(REQUEST, query="Which crane unloads the ship?")
    assert brief(store, asked, budget=100).groups["habits"][0] == near
    # The place among the hits of the recall for the message counts as well.
    found = dict.fromkeys([memory.id for memory in store.list(project=PROJECT) if memory.id != near], 0.9)
    assert near not in brief(store, replace(asked, near=found), budget=100).groups["habits"]


def test_memories_near_to_the_hits_for_a_message_are_shown_first(store: MemoryStore) -> None:
    for number in range(20):
        remember(store, f"The phone app asks for permission {number} at its start", "convention", days=number)
    remember(store, "Invoices are numbered without gaps", days=300)
    remember(store, "An invoice gets its number from the ledger", days=300)
    far = remember(store, "Changes of the ledger are written by hand", "convention", days=300)
    asked = replace(REQUEST, query="Why does the numbering of invoices have a gap?")
    assert far not in brief(store, budget=100).groups["habits"]
    assert brief(store, asked, budget=100).groups["habits"][0] == far


def test_message_without_relation_to_any_memory_leaves_the_order_unchanged(store: MemoryStore) -> None:
    for number in range(20):
        used = "convention" if number % 2 else "preference"
        remember(store, f"Crane {number} lifts containers from ships", used, days=20 * number, pinned=number == 15)
    asked = replace(REQUEST, query="What about the walrus?")
    assert brief(store, asked, budget=100) == brief(store, budget=100)


def test_what_earlier_messages_found_is_shown_in_full_and_leads_to_the_rest(store: MemoryStore) -> None:
    for number in range(40):
        remember(store, f"The phone app asks for permission {number} at its start", days=number)
    found = remember(store, "Invoices are numbered without gaps", days=300)
    linked = remember(store, "Gaps of the ledger are written by hand", days=300)
    request = replace(REQUEST, found_before=(found,))
    assert found not in {memory.id for memory in brief(store, budget=100).full}
    shown = brief(store, request, budget=100)
    assert shown.groups["found"] == (found,)
    assert shown.groups["others"][0] == linked
    assert "Found for earlier messages of this session:" in shown.lines
    # Which memory was found matters more than a message without a subject.
    assert brief(store, replace(request, query="Write the tests"), budget=100).groups["others"][0] == linked


def test_what_earlier_messages_found_is_shown_as_it_was_changed_since(store: MemoryStore) -> None:
    old = remember(store, "The dashboard listens on port 3000", days=9)
    new = remember(store, "The dashboard listens on port 4000")
    assert brief(store, replace(REQUEST, found_before=(old,))).groups["found"] == (new,)


def test_what_earlier_messages_found_is_shown_although_many_memories_are_newer(store: MemoryStore) -> None:
    found = remember(store, "Invoices are numbered without gaps", days=900)
    store.remember_many(
        {"content": f"Crane {number} lifts containers", "project": PROJECT, "time": NOW} for number in range(450)
    )
    assert brief(store, replace(REQUEST, found_before=(found,)), budget=300).groups["found"] == (found,)


@pytest.mark.parametrize("how", ["archived", "deleted", "expired", "elsewhere"])
def test_what_earlier_messages_found_is_not_shown_if_it_is_gone(store: MemoryStore, how: str) -> None:
    more = {"expires_at": NOW} if how == "expired" else {"project": "elsewhere"} if how == "elsewhere" else {}
    found = remember(store, "Invoices are numbered without gaps", **more)
    if how in ("archived", "deleted"):
        (store.archive if how == "archived" else store.delete)(found)
    shown = brief(store, replace(REQUEST, found_before=(found,)))
    assert "found" not in shown.groups


def test_what_earlier_messages_found_leaves_room_for_conventions(store: MemoryStore) -> None:
    for number in range(10):
        remember(store, f"Containers of kind {number} are painted by hand", "convention")
    found = [remember(store, f"Crane {number} " + "lifts containers " * 15) for number in range(10)]
    shown = brief(store, replace(REQUEST, found_before=tuple(found)), budget=400)
    assert len(shown.groups["found"]) >= 2
    assert len(shown.groups["habits"]) == 10


def test_nearness_reaches_as_far_as_a_brief_has_places(store: MemoryStore) -> None:
    for number in range(100):
        remember(store, f"Phone {1000 + number} rings")
    near = {remember(store, f"The ledger has invoice {number}", days=300) for number in range(20)}
    shown = brief(store, replace(REQUEST, query="How does the ledger keep an invoice?"), budget=200)
    assert near <= {memory.id for memory in (*shown.full, *shown.headlines)}


def test_statement_of_a_loaded_file_is_left_out(store: MemoryStore, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("# Rules\n\n- Amounts are kept in cents.\n- Never use floating point numbers.\n")
    remember(store, "Amounts are kept in cents", "convention")
    # The words are those of the file, but not the statement.
    kept = remember(store, "Use floating point numbers", "convention")
    shown = brief(store, replace(REQUEST, loaded=read_statements([folder / "AGENTS.md"])))
    assert [memory.id for memory in shown.full] == [kept]


def test_earlier_statement_is_folded_into_the_later_one(store: MemoryStore) -> None:
    remember(store, "The harbor stores its data in SQLite.", "decision", days=9)
    later = remember(store, "The harbor stores its data in PostgreSQL.", "decision", days=1)
    [line] = [line for line in brief(store).lines if line.startswith("- ")]
    assert line.startswith("- The harbor stores its data in PostgreSQL. (1 d ago; before: ")
    assert [memory.id for memory in brief(store).full] == [later]
    assert brief(store).before.keys() == {later}


def test_due_reminders_and_reviews_come_first_with_their_ids(store: MemoryStore) -> None:
    remember(store, "Always run the linter", "directive")
    reminder = remember(store, "Rotate the key of the crane", remind_at=NOW - timedelta(days=2), remind_every=30)
    review = remember(store, "Deploys start at noon", "procedure", review_after=NOW - timedelta(days=3))
    remember(store, "Ask for the new logo", remind_at=NOW + timedelta(days=1))
    found = brief(store)
    assert found.lines[:4] == (
        "Reminders that are due:",
        f"- Rotate the key of the crane (due 2 d ago; id {reminder[-6:]})",
        "Due for review (ask the user whether it is still true):",
        f"- Deploys start at noon (due 3 d ago; id {review[-6:]})",
    )
    store.reminders.advance(reminder)
    store.edit(review, verified=True)
    assert not {"reminders", "reviews"} & set(brief(store).groups)


def test_repeating_reminder_that_nobody_ended_shows_its_latest_time(store: MemoryStore) -> None:
    first = NOW - timedelta(days=16)
    id_ = remember(store, "Rotate the key of the crane", remind_at=first, remind_every=7)
    since = f"{first.astimezone():%Y-%m-%d}"
    assert f"- Rotate the key of the crane (due 2 d ago, waits since {since}; id {id_[-6:]})" in brief(store).lines


def test_due_reminder_of_an_earlier_statement_is_shown(store: MemoryStore) -> None:
    due = NOW - timedelta(days=2)
    earlier = remember(store, "We decided to use Postgres for the archive service.", "decision", days=9, remind_at=due)
    later = remember(store, "We decided to use NATS for the archive service.", "decision", days=1)
    found = brief(store)
    assert found.groups["reminders"] == (earlier,)
    assert found.groups["decisions"] == (later,)
    assert found.before.keys() == {later}


LONG = "Handlers wrap their errors in AppError and log them once. " + "The wrapper keeps the cause of the error. " * 12
"""A rule of 560 bytes."""


def test_long_rule_is_shown_in_full_if_there_is_room(store: MemoryStore) -> None:
    id_ = remember(store, LONG, "convention")
    remember(store, "Cranes have two drivers")
    shown = brief(store)
    assert shown.groups["habits"] == (id_,)
    assert f"- {LONG.strip()}" in shown.lines
    assert id_ in {memory.id for memory in shown.full}


def test_long_rule_is_cut_under_its_heading_if_there_is_little_room(store: MemoryStore) -> None:
    id_ = remember(store, LONG, "convention")
    for number in range(40):
        remember(store, f"Crane {number} has two drivers and one engine of its own")
    shown = brief(store, budget=160)
    assert shown.groups["habits"] == (id_,)
    assert id_ not in {memory.id for memory in shown.full}
    (line,) = (line for line in shown.lines if line.startswith("- Handlers"))
    assert line.startswith("- Handlers wrap their errors in AppError and log them once. ")
    assert line.endswith(f" […] (cut, id {id_[-6:]})")
    assert shown.tokens <= 160


def test_text_of_many_bytes_is_never_shown_in_full(store: MemoryStore) -> None:
    id_ = remember(store, LONG * 3, "blocker")
    shown = brief(store, budget=100_000)
    assert shown.groups["blockers"] == (id_,)
    assert shown.full == ()


def test_later_word_is_quoted_below_the_rule_that_it_may_lift(store: MemoryStore) -> None:
    rule = remember(store, "Never touch vendor/stripe-shim", "directive", days=9)
    remember(store, "Always run the linter", "directive", days=5)
    later = remember(store, "You can edit vendor/stripe-shim like any other folder", "event", days=2)
    assert brief(store).groups["others"] == (later,)
    store.link(later, rule, "said_later", "said later about the same subject")
    said = '"You can edit vendor/stripe-shim like any other folder"'
    assert brief(store).lines == (
        "Directives:",
        "- Always run the linter",
        f"- Never touch vendor/stripe-shim (1 w ago; said later, 2 d ago: {said})",
    )


def test_newest_later_word_is_quoted_and_the_others_are_known_as_well(store: MemoryStore) -> None:
    rule = remember(store, "Never touch vendor/stripe-shim", "directive", days=9)
    for days, text in ((1, "The shim may be edited again"), (4, "Wait with the shim until May")):
        store.link(remember(store, text, "event", days=days), rule, "said_later")
    assert brief(store).lines == (
        "Directives:",
        '- Never touch vendor/stripe-shim (1 w ago; said later, 1 d ago: "The shim may be edited again")',
        "Also known:",
        "- Wait with the shim until May (4 d ago)",
    )


def test_later_word_of_a_rule_without_room_is_counted(store: MemoryStore) -> None:
    rule = remember(store, "Never touch vendor/stripe-shim " + "or its tests " * 40, "directive", days=9)
    store.link(remember(store, "The shim may be edited again", "event"), rule, "said_later")
    remember(store, "Always run the linter", "directive")
    shown = brief(store, budget=70)
    assert rule not in {memory.id for memory in shown.full}
    assert shown.omitted == 1 + (rule not in {memory.id for memory in shown.headlines})
    assert shown.lines[-1].startswith(f"{shown.omitted} more ")


def test_pinned_later_word_has_a_line_of_its_own(store: MemoryStore) -> None:
    rule = remember(store, "Never touch vendor/stripe-shim", "directive", days=9)
    later = remember(store, "The shim may be edited again", "event", pinned=True)
    store.link(later, rule, "said_later")
    assert brief(store).groups == {"directives": (rule,), "others": (later,)}


def test_word_of_an_agent_is_not_quoted_below_a_rule_of_the_person(store: MemoryStore) -> None:
    rule = remember(store, "Never touch vendor/stripe-shim", "directive", days=9)
    noted = remember(store, "The folder vendor/stripe-shim may be edited", days=2, trust="agent")
    store.link(noted, rule, "contradicts", "said later about the same subject")
    assert brief(store).groups == {"directives": (rule,), "others": (noted,)}


def test_entries_of_equal_worth_stand_newest_first(store: MemoryStore) -> None:
    said = [remember(store, f"Crane {number} has two drivers", "directive") for number in range(20)]
    assert brief(store).groups["directives"] == tuple(reversed(said))


def test_rules_that_speak_against_each_other_stand_together_the_newest_first(store: MemoryStore) -> None:
    old = remember(store, "Tests run before each commit", "directive", days=30)
    remember(store, "Always run the linter", "directive", days=5)
    middle = remember(store, "Tests run before each push", "directive", days=20)
    new = remember(store, "Tests run once a day", "directive", days=9)
    store.link(middle, old, "contradicts")
    store.link(new, middle, "contradicts")
    store.link(new, old, "contradicts")
    assert brief(store).lines[1:] == (
        "- Always run the linter",
        "- Tests run once a day (1 w ago)",
        "- Tests run before each push (2 w ago)",
        "- Tests run before each commit (4 w ago)",
    )


@pytest.mark.parametrize("days", [2, 20])
def test_rule_of_the_project_stands_above_the_contradicting_rule_for_all_projects(
    store: MemoryStore, days: int
) -> None:
    remember(store, "Always use pnpm to install packages", "directive", project=None, days=9)
    remember(store, "Always use npm to install packages", "directive", days=days)
    remember(store, "Always answer in German", "directive", project=None)
    lines = brief(store).lines
    own = lines.index(f"- Always use npm to install packages ({'2 d' if days == 2 else '2 w'} ago)")
    assert lines[own + 1] == "- Always use pnpm to install packages (in all projects; 1 w ago)"
    assert "- Always answer in German" in lines

"""Statements that the person withdraws by their subject: they are replaced, if it is clear which one is meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import opencode_memory
from opencode_memory.config.load import load
from opencode_memory.context.block import Group, render
from opencode_memory.context.brief import build_brief
from opencode_memory.context.brief_entries import BriefRequest
from opencode_memory.context.decide import Request, decide
from opencode_memory.context.results import present
from opencode_memory.models import Category, Memory, Status
from opencode_memory.server.recall_answers import format_results
from opencode_memory.store.memory_store import MemoryStore
from opencode_memory.text import clock
from support.learning import FOLDER, SessionInfo, messages, process, user
from support.stores import NOW_MS

PAIRS = Path(__file__).parents[1] / "data" / "corrections" / "withdrawn.jsonl"
PNPM = "Use pnpm instead of npm."
PUSH = "Never force push to main."
FORGET = "Forget the rule about pnpm."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with opencode_memory.open(tmp_path, project="app", background=False, clock_ms=NOW_MS) as store:
        yield store


def say(store: MemoryStore, *texts: str, at: int = NOW_MS + 1_000) -> list[Memory]:
    """Let the person type messages in one session; return what is learned of them."""
    told = messages(*map(user, (*texts, "ok")), of=f"at_{at}", at=at)
    learned = process(store, SessionInfo(id="ses_b", directory=FOLDER), told, is_idle=False)
    return [store.get(id_) for id_ in learned.active]


def quotes(store: MemoryStore) -> dict[str, str]:
    """What is quoted below which statement, by their texts."""
    links = store.links(["said_later"], project="app")
    return {store.get(link.target).content: store.get(link.source).content for link in links}


def test_sentence_is_quoted_below_the_statement(store: MemoryStore) -> None:
    pnpm = store.remember(PNPM, category="convention").id
    store.remember(PUSH, category="directive")
    (said,) = say(store, FORGET)
    assert (said.content, said.category) == (FORGET, Category.EVENT)
    assert quotes(store) == {PNPM: FORGET}
    # A rule in code may be meant, or another statement with the same word. So nothing is replaced.
    assert store.get(pnpm).status is Status.ACTIVE
    shown = build_brief(store, BriefRequest(project="app"), budget=500, count=len, at=clock.now())
    assert f"- {PUSH}" in shown.lines
    (line,) = (line for line in shown.lines if "pnpm" in line)
    assert line.startswith(f"- {PNPM} (")
    assert f'said later, 2 months ago: "{FORGET}"' in line


@pytest.mark.parametrize(
    "text",
    [
        "Forget what I said about pnpm.",
        "You can forget the pnpm rule.",
        "The rule about pnpm no longer applies.",
        "Never mind the rule about pnpm.",
        "Disregard the rule about pnpm.",
        "Forget that rule about pnpm.",
        "I changed my mind about pnpm.",
        "Scrap the pnpm rule.",
        "What I said about pnpm was wrong.",
    ],
)
def test_other_words_for_it(store: MemoryStore, text: str) -> None:
    store.remember(PNPM, category="convention")
    say(store, text)
    assert quotes(store) == {PNPM: text}


@pytest.mark.parametrize(
    "text",
    [
        "Correction: it's `make verify`, not `make check`",
        "no, its `make verify`, not `make check`.",
        "Sorry, I meant `make verify`, not `make check`",
        "It should be `make verify` and not `make check`!",
    ],
)
@pytest.mark.parametrize("is_stored", [True, False])
def test_right_name_is_quoted_below_the_statement_with_the_wrong_one(
    store: MemoryStore, text: str, is_stored: bool
) -> None:
    rule = "From now on run `make check` before every commit, it does lint and tests."
    if is_stored:
        say(store, rule)
    said = say(store, *([] if is_stored else [rule]), text, at=NOW_MS + 9_000)
    assert said[-1].category is Category.EVENT
    assert quotes(store) == {rule: "`make verify`, not `make check`."}


@pytest.mark.parametrize(
    "text",
    [
        "It's `make verify`, not `make docs`",
        "It's slow, not broken.",
        "Is it `make verify`, not `make check`?",
        "It's fetchUser, not getUser.",
    ],
)
def test_other_correction_is_quoted_nowhere(store: MemoryStore, text: str) -> None:
    store.remember("Run `make check` if getUser is broken.", category="directive")
    assert say(store, text) == []


@pytest.mark.parametrize(
    ("behind", "quoted"),
    [
        (", accountants edit them in the admin pages now.", " Accountants edit them in the admin pages now."),
        (". Accounting wants an audit log for each change.", " Accounting wants an audit log for each change."),
        (", fix the build.", ""),
        (". Why does the build fail?", ""),
        (". The build is broken again.", ""),
    ],
)
def test_what_holds_instead_is_quoted_as_well(store: MemoryStore, behind: str, quoted: str) -> None:
    store.remember("The rates are kept in a yaml file.", category="decision")
    (said,) = say(store, f"Actually forget what I said about the yaml file{behind}")
    assert said.content == f"Forget what I said about the yaml file.{quoted}"
    assert quotes(store) == {"The rates are kept in a yaml file.": said.content}


def test_hyphen_in_the_name_of_a_statement_is_no_letter(store: MemoryStore) -> None:
    store.remember("Each PR needs two approvals.", category="convention")
    say(store, "Abandon the two-approvals requirement.")
    assert quotes(store) == {"Each PR needs two approvals.": "Abandon the two-approvals requirement."}


@pytest.mark.parametrize("fields", [{"scope": "global"}, {"pinned": True}], ids=["global", "pinned"])
def test_statement_of_the_person_in_any_form_is_meant(store: MemoryStore, fields: dict[str, object]) -> None:
    store.remember(PNPM, **{"category": "convention", **fields})
    say(store, FORGET)
    assert quotes(store) == {PNPM: FORGET}


@pytest.mark.parametrize("fields", [{"project": "other"}, {"trust": "agent"}], ids=["other project", "of an agent"])
def test_other_statements_are_not_meant(store: MemoryStore, fields: dict[str, object]) -> None:
    store.remember(PNPM, **{"category": "convention", **fields})
    assert say(store, FORGET) == []
    assert quotes(store) == {}


def test_statement_behind_it_is_learned_as_well(store: MemoryStore) -> None:
    german = store.remember("From now on write all docs in German.", category="directive").id
    said = say(store, "Forget what I said about German, write all docs in English from now on.")
    assert [memory.content for memory in said] == [
        "Forget what I said about German.",
        "Write all docs in English from now on.",
    ]
    assert store.get(german).status is Status.SUPERSEDED


def test_it_is_not_said_if_the_next_message_takes_it_back(store: MemoryStore) -> None:
    store.remember(PNPM, category="convention")
    assert say(store, FORGET, "No wait, scratch that.") == []


@pytest.mark.parametrize(
    "text", ["Forget what I said about pnpm.", "Forget the rule about pnpm.", "Forget the pnpm rule."]
)
def test_statement_of_the_message_before_is_not_learned(store: MemoryStore, text: str) -> None:
    assert say(store, "From now on use pnpm, never npm.", text) == []


def test_statement_of_the_same_message_is_not_learned(store: MemoryStore) -> None:
    assert say(store, "From now on use pnpm, never npm. Hmm, forget the rule about pnpm.") == []


def test_only_the_named_statement_of_the_message_before_is_retracted(store: MemoryStore) -> None:
    rules = "From now on use pnpm, never npm. Never force push to main."
    assert [memory.content for memory in say(store, rules, FORGET)] == ["Never force push to main."]


@pytest.mark.parametrize(
    "text", [FORGET, "Forget what I said about pnpm.", "Ignore what I said about pnpm.", "I was wrong about pnpm."]
)
def test_statement_that_the_message_before_does_not_make_is_meant_in_the_store(store: MemoryStore, text: str) -> None:
    store.remember(PNPM, category="convention")
    said = say(store, "Never force push to main.", text)
    assert [memory.content for memory in said] == ["Never force push to main.", text]
    assert quotes(store) == {PNPM: text}


@pytest.mark.parametrize(
    "text", ["I was wrong about that.", "Forget what I said about that.", "Forget what I said about it."]
)
def test_pronoun_means_all_statements_of_the_message_before(store: MemoryStore, text: str) -> None:
    rules = "From now on use pnpm, never npm. Never force push to main."
    assert say(store, rules, text) == []
    assert say(store, f"Never force push to main. {text}", at=NOW_MS + 9_000) == []


def test_word_that_also_names_work_of_the_agent_retracts_nothing(store: MemoryStore) -> None:
    rule, text = "Always run axe on modals before you commit.", "The part with modals is wrong, they never close."
    assert [memory.content for memory in say(store, rule, text)] == [rule, text]
    other = "Always run lighthouse on modals before you commit."
    assert other in [memory.content for memory in say(store, f"{other} {text}", at=NOW_MS + 9_000)]


@pytest.mark.parametrize("pages", [1, 3])
def test_statement_some_messages_before_is_quoted(store: MemoryStore, pages: int) -> None:
    texts = ["From now on use pnpm, never npm.", "Please fix the failing test.", "Forget what I said about pnpm."]
    for number in range(pages):
        say(store, *texts[number::pages] if pages > 1 else texts, at=NOW_MS + 1_000 * (number + 1))
    assert quotes(store) == {"From now on use pnpm, never npm.": "Forget what I said about pnpm."}


def test_search_for_the_statement_counts_as_no_use(store: MemoryStore) -> None:
    pnpm = store.remember(PNPM, category="convention").id
    say(store, FORGET)
    assert store.get(pnpm).uses == 0


def test_subject_that_no_statement_has_is_quoted_nowhere(store: MemoryStore) -> None:
    store.remember(PUSH, category="directive")
    assert say(store, "Forget the rule about writing tests first.") == []


def test_subagent_withdraws_nothing(store: MemoryStore) -> None:
    store.remember(PNPM, category="convention")
    told = messages(user(FORGET), user("ok"), of="ses_c", at=NOW_MS + 1_000)
    process(store, SessionInfo(id="ses_c", directory=FOLDER, parent="ses_b"), told, is_idle=True)
    assert quotes(store) == {}


def test_message_of_another_author_replaces_no_statement(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    quoted = []
    for number, row in enumerate(rows):
        with opencode_memory.open(tmp_path / str(number), project="app", background=False, clock_ms=NOW_MS) as store:
            ids = [store.remember(text, category="convention").id for text in row["stored"]]
            say(store, row["says"])
            assert {store.get(id_).status for id_ in ids} == {Status.ACTIVE}, row["says"]
            quoted += [
                (row["withdraws"], ids.index(link.target)) for link in store.links(["said_later"], project="app")
            ]
    assert [pair for pair in quoted if pair[0] == pair[1]] != []
    assert len([pair for pair in quoted if pair[0] != pair[1]]) <= 1


def test_recall_and_blocks_quote_it_as_well(store: MemoryStore) -> None:
    store.remember(PNPM, category="convention")
    say(store, FORGET)
    (hit,) = (one for one in store.recall("pnpm instead of npm") if one.memory.content == PNPM)
    (result,) = present(store, [hit])
    assert result.later is not None
    assert result.later.content == FORGET
    shown = Group("Found:", (result.memory,), later={result.memory.id: result.later})
    text = render([shown], max_tokens=500, count=len, at=clock.now()).text
    quoted = f'said later, 2 months ago: "{FORGET}"'
    assert f"{PNPM} ({quoted})" in text
    answer = format_results([result], heading="One:", at=clock.now(), project="app")
    assert quoted in answer.text
    assert answer.data["memories"][0]["later"]["content"] == FORGET
    # Without a brief, which quotes it, the block beside a message does.
    config = load(environment={"HOME": str(store.data_dir)})
    request = Request(session="s", message="m", text="Use pnpm instead of npm?", project="app", visible=frozenset("m"))
    brief = replace(config.brief, max_tokens=0)
    decision = decide(store, request, config=config.injection, brief=brief, count=len, at=clock.now())
    assert f"{PNPM} ({quoted})" in decision.text
    # A purge of the later words finds the block that quotes them.
    assert {shown.memory: shown.why for shown in decision.shown}[result.later.id] == "later words"
    assert len(decision.shown) == 2


def test_what_was_said_later_in_another_project_is_not_quoted(store: MemoryStore) -> None:
    store.remember(PNPM, category="convention", scope="global")
    say(store, FORGET)
    (hit,) = (one for one in store.recall("pnpm instead of npm", project="other") if one.memory.content == PNPM)
    assert present(store, [hit], project="other")[0].later is None
    assert present(store, [hit], project="app")[0].later is not None


def test_what_was_said_later_is_not_quoted_if_it_is_a_result_itself(store: MemoryStore) -> None:
    store.remember(PNPM, category="convention")
    say(store, FORGET)
    results = present(store, store.recall("forget the rule about pnpm instead of npm"))
    assert {result.memory.content for result in results} == {PNPM, FORGET}
    assert [result.later for result in results] == [None, None]

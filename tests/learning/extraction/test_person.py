"""User texts: statements, retractions, private sections, quotations, role play, and feedback on refusals."""

from __future__ import annotations

import pytest

from opencode_memory.hosts.opencode.feed.messages import read_message
from opencode_memory.learning.extraction.events import Compaction, Event, SessionInfo
from opencode_memory.learning.extraction.sentences import split_sentences
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.models import Category
from support.learning import (
    LEDGER,
    RUFF,
    SESSION,
    SMALL,
    agent,
    bash,
    find_candidates,
    learn_texts,
    messages,
    refuse,
    run_steps,
    user,
)

CHILD = SessionInfo(id="ses_child", directory=SESSION.directory, parent=SESSION.id)
SECRET = "hunter2 is the word"


def everything(*events: Event, info: SessionInfo = SESSION) -> str:
    """Return everything that is stored of a session: its candidates and its state."""
    told = messages(*events)
    state, _ = run_steps(told, info=info)
    return state.to_json() + "\n".join(str(one.as_json()) for one in find_candidates(*events, info=info))


@pytest.mark.parametrize(
    ("text", "category"), [(RUFF, Category.DIRECTIVE), (LEDGER, Category.DECISION), (SMALL, Category.PREFERENCE)]
)
def test_plain_statement_is_found_with_its_evidence(text, category):
    (one,) = find_candidates(user(text))

    assert one.content == text
    assert one.category is category
    assert one.is_persons
    assert one.evidence
    assert one.message == "msg_a_0000"


def test_candidate_is_pending_until_the_next_user_message():
    state, ready = run_steps(messages(user(LEDGER), agent("ok")))
    assert ready == []
    assert [one.content for one in state.pending] == [LEDGER]

    _, ready = run_steps(messages(user("Add a test for it.")), state)
    assert [one.content for one in ready] == [LEDGER]


@pytest.mark.parametrize(
    "taken_back", ["Scratch that.", "no wait, forget it", "never mind", "just kidding", "wait. no. forget it"]
)
def test_statement_retracted_by_the_next_message_is_not_learned(taken_back):
    assert learn_texts(user(LEDGER), agent("ok"), user(taken_back)) == []


def test_statement_retracted_in_its_message_is_not_learned():
    assert learn_texts(user(f"{LEDGER} Scratch that.")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Rules: 1. Never push to main. 2. Always use tabs.",
        "Rules: 1) never push to main 2) always use tabs",
        "1. never push to main 2. always use tabs",
    ],
)
def test_items_of_a_list_in_one_line_are_separate_statements(text):
    assert learn_texts(user(text)) == ["Never push to main.", "Always use tabs."]


def test_number_in_a_sentence_begins_no_item():
    assert learn_texts(
        user("We decided that the replication factor is 1. Our primary region count is 2. It stays.")
    ) == ["We decided that the replication factor is 1."]
    assert learn_texts(
        user("Always pin Node to version 1. And from now on always use Python 3 and never 2. The end.")
    ) == [
        "Always pin Node to version 1.",
        "From now on always use Python 3 and never 2.",
    ]
    for text in (
        "Pin it to version 1. Two is too new.",
        "Pin it to 2. 1 is too old.",
        "Step 1. is done, step 3. is not.",
    ):
        assert " ".join(sentence.text for sentence in split_sentences(text)) == text
    assert split_sentences("Pin it to version 1. Two is too new.")[0].text == "Pin it to version 1."


def test_predicate_at_the_end_stays():
    (found,) = find_candidates(user("In this repo force push is ok."), user("go on"))
    assert found.content == "In this repo force push is ok."


@pytest.mark.parametrize(
    "opening",
    ["Wait, no,", "Wait, no.", "wait no", "No wait,", "Oh wait,", "Actually, no,", "Hmm, no,", "Hold on, no,", "No,"],
)
def test_order_to_remember_behind_an_interjection_is_no_retraction(opening):
    said = learn_texts(user(LEDGER), agent("ok"), user(f"{opening} please remember that we deploy on Mondays."))
    assert said == [LEDGER, "We deploy on Mondays."]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Wait, no, please remember that we deploy on Mondays.", ["We deploy on Mondays."]),
        ("Wait, no, please remember this.", [LEDGER]),
        (
            "Remember that you should never mind the lint errors in vendor/.",
            [LEDGER, "Never mind the lint errors in vendor/."],
        ),
        ("Wait, no, don’t remember that.", []),
        ("Wait, no, do not remember that we deploy on Mondays.", []),
        ("Wait, no, forget it.", []),
        ("Wait, no, I remember that we deploy on Mondays.", []),
    ],
)
def test_order_to_remember_retracts_the_sentence_before_only_if_its_opening_does(text, kept):
    assert learn_texts(user(f"{LEDGER} {text}")) == kept


@pytest.mark.parametrize(
    "text", ["Wait, no, don't remember that.", "Wait, no, I forgot it.", "Wait, no, did you remember that we deploy?"]
)
def test_retraction_without_an_order_to_remember_stays_one(text):
    assert learn_texts(user(LEDGER), agent("ok"), user(text)) == []


def test_retraction_applies_to_the_last_message_only():
    assert learn_texts(user(LEDGER), agent("ok"), user("Add a test."), agent("done"), user("Scratch that.")) == [LEDGER]


def test_retraction_keeps_candidates_from_tool_calls():
    kept = learn_texts(user(LEDGER), *[bash("make check")] * 3, user("Scratch that."))

    assert kept == ["`make check`"]


def test_retracted_statement_may_be_repeated():
    assert learn_texts(user(LEDGER), user("Scratch that."), user(LEDGER)) == [LEDGER]


def test_last_choice_of_a_session_wins():
    said = find_candidates(
        bash("npm install"),
        user("No, use pnpm."),
        bash("pnpm install"),
        user("No, use npm."),
        bash("npm install"),
        user("No, use pnpm."),
    )

    assert [one.content for one in said if one.rule == "correction"][-1] == "Use pnpm, not npm."


def test_correction_of_the_agent_is_a_preference():
    (one,) = [
        one
        for one in find_candidates(bash("npm install"), user("No, use pnpm."))
        if one.category is Category.PREFERENCE
    ]

    assert one.is_persons
    assert one.content == "Use pnpm, not npm."


def test_repeated_statement_is_found_once():
    assert learn_texts(user(LEDGER), agent("ok"), user(LEDGER), agent("ok"), user(LEDGER)) == [LEDGER]


def test_person_may_change_one_word_of_an_earlier_statement():
    said = [f"The staging port is {port}." for port in (8080, 9090, 8080)]

    assert learn_texts(*(one for text in said for one in (user(f"Remember: {text}"), agent("ok")))) == said


def test_person_may_change_one_word_of_an_injected_memory():
    said = [f"The staging database of the billing service listens on port {port}." for port in (5434, 5433)]
    injected = user(f"<memory>{said[1]}</memory>\nhello")

    assert learn_texts(injected, *(one for text in said for one in (user(f"Remember: {text}"), agent("ok")))) == said
    assert learn_texts(injected, user(f"Remember: {said[1]}")) == []


def test_repeated_statement_is_found_once_among_other_statements():
    assert learn_texts(user(LEDGER), user(RUFF), user(LEDGER), user(RUFF)) == [LEDGER, RUFF]


def test_compaction_releases_pending_candidates():
    assert learn_texts(user(LEDGER), Compaction(summary="…")) == [LEDGER]


@pytest.mark.parametrize(
    "text",
    [
        f"<private>{RUFF} {SECRET}</private> hello",
        f"hello <private>{RUFF} {SECRET}",
        f"hello < PRIVATE >{RUFF} {SECRET}</ private >",
        f"<private>a</private> x <private>{RUFF} {SECRET}</private>",
        f"<private>\n{RUFF}\n\n{SECRET}\n</private>",
    ],
)
def test_private_text_is_not_stored(text):
    assert SECRET not in everything(user(text), bash("make"), agent("ok"))
    assert learn_texts(user(text)) == []


def test_text_beside_a_private_section_is_learned():
    assert learn_texts(user(f"{LEDGER} <private>{SECRET}</private>")) == [LEDGER]


def test_private_tag_with_attributes_is_recognised():
    assert SECRET not in everything(user(f'<private reason="customer">{RUFF} {SECRET}</private>'))


def test_private_text_in_feedback_is_not_stored():
    assert SECRET not in everything(refuse(f"please use our own runner <private>{SECRET}</private> for it"))


def test_private_section_quoted_by_the_agent_is_not_stored():
    assert SECRET not in everything(user("hi"), agent(f"You said <private>{SECRET}</private>, fine."))


def test_private_section_of_a_truncated_message_is_not_stored():
    text = f"{'word ' * 2_500}<private>{'other ' * 2_000}\n{RUFF}</private>"
    read = read_message(
        {"id": "msg_1", "role": "user", "time": {"created": 7}}, [{"type": "text", "text": text}], is_followed=True
    )

    assert learn_texts(*read.events) == []


@pytest.mark.parametrize(
    "text",
    [
        f"> {RUFF}",
        f"```\n{RUFF}\n```",
        f"~~~text\n{RUFF}\n~~~",
        f"```\n{RUFF}",
        f"Look:\n    {RUFF}",
        f'He wrote "{RUFF}"',
        f"He wrote “{RUFF}”",
        f"<file path='README.md'>\n{RUFF}\n</file>",
        f"<document>{RUFF}",
        f"2026-03-02 10:11:12 {RUFF}",
        f"10:42 tom: {RUFF}",
        f"| rule |\n| {RUFF} |",
        f"INFO {RUFF}",
    ],
)
def test_quoted_or_pasted_text_is_no_statement(text):
    assert learn_texts(user(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "What if we say: from now on always run ruff before you commit?",
        "Should we use PostgreSQL for the ledger?",
        "Suppose we decided to use PostgreSQL for the ledger.",
        f"Translate to German: {RUFF}",
        f"Write a CONTRIBUTING.md for me. {RUFF}",
    ],
)
def test_questions_hypotheses_and_requested_texts_are_no_statements(text):
    assert learn_texts(user(text)) == []


def test_role_play_is_not_learned():
    played = [user("Let's role-play: you are a pirate captain."), agent("Arr"), user(RUFF), agent("Aye")]

    assert learn_texts(*played) == []
    assert learn_texts(*played, user("ok stop playing, back to work"), agent("fine"), user(LEDGER)) == [LEDGER]


@pytest.mark.parametrize(
    "opening",
    [
        "let's do a bit of role play, you begin",
        "let's rehearse. you play a strict architect",
        "You're a senior interviewer, I'm the candidate.",
    ],
)
def test_play_of_any_opening_is_not_learned(opening):
    assert learn_texts(user(opening), agent("So?"), user(RUFF)) == []


@pytest.mark.parametrize("opening", ["You are the best.", "Act as reviewer of the change.", "the video does not play"])
def test_phrase_that_resembles_a_play_starts_none(opening):
    assert learn_texts(user(opening), agent("So?"), user(RUFF)) == [RUFF]


@pytest.mark.parametrize("text", [RUFF, LEDGER, SMALL])
def test_user_text_of_a_subagent_is_not_learned(text):
    assert learn_texts(user(text), info=CHILD) == []
    assert learn_texts(refuse(text), info=CHILD) == []


def test_subagents_session_has_no_summary():
    assert [
        one for one in find_candidates(user("Do it"), bash("make"), info=CHILD) if one.category is Category.CONVERSATION
    ] == []


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("use pnpm, not npm", "Use pnpm, not npm."),
        ("we have pnpm", "Use pnpm, not npm."),
        ("never install packages globally", "Never install packages globally."),
    ],
)
def test_lasting_refusal_is_learned_with_the_refused_call(text, content):
    (one,) = find_candidates(refuse(text))

    assert one.content == content
    assert "npm install" in one.evidence
    assert one.is_persons


@pytest.mark.parametrize("text", ["please show the plan of it", "the wrong folder, go one up", "only with my consent"])
def test_refusal_of_one_call_is_not_learned(text):
    assert learn_texts(refuse(text)) == []


@pytest.mark.parametrize("text", ["no", "wait", "why?", "what does this do?"])
def test_uninformative_feedback_is_not_learned(text):
    assert learn_texts(refuse(text)) == []


def test_feedback_about_one_occasion_stays_below_the_threshold():
    assert learn_texts(refuse("not now, let me look at it first")) == []


OFFER = "1. Use Redis for the cache\n2. Use Memcached for the cache\nWhich one?"


@pytest.mark.parametrize("answer", ["2", "2.", "option 2", "let's go with 2", "the second one please", "ok, number 2"])
def test_picked_option_is_a_decision_in_the_words_of_the_offer(answer):
    (one,) = [one for one in find_candidates(agent(OFFER), user(answer)) if one.rule == "picked an option"]

    assert one.category is Category.DECISION
    assert "Memcached" in one.content
    assert "Redis" not in one.content
    assert one.is_persons


@pytest.mark.parametrize(
    ("answer", "rest"),
    [
        ("2, please", ""),
        ("the second one, please!", ""),
        ("option 2, thank you", ""),
        ("2, one per region", " one per region"),
        ("2 but with a time to live, please", " but with a time to live"),
    ],
)
def test_chosen_option_has_no_word_of_politeness(answer, rest):
    (one,) = [one for one in find_candidates(agent(OFFER), user(answer)) if one.rule == "picked an option"]

    assert one.content == f"Chosen: Use Memcached for the cache.{rest}"


@pytest.mark.parametrize(
    "answer",
    [
        "7",
        "2?",
        "what is option 2?",
        "I have 2 questions about this",
        "1. usually weekly\n2. mostly dinner",
        "2, and then look at item 3 of the list",
        "2 sounds good but first tell me what it would cost us per month if we had ten times the load",
        "Memcached please",
    ],
)
def test_message_without_a_pick_is_no_decision(answer):
    assert learn_texts(agent(OFFER), user(answer)) == []


@pytest.mark.parametrize(
    "offer",
    [
        "1. How often do you deploy?\n2. Who may deploy to production?\nWhich one first?",
        "1. Run the tests again\n2. Fix the failing import\nWhich one?",
        "1. Utiliser Redis pour le cache\n2. Utiliser une table dans la base\nWhich one?",
        "1. use Redis for it\n2. use Memcached for it\nLater:\n1. a test\n2. a page of the manual\nWhich one?",
    ],
    ids=["questions", "tasks", "french", "two lists"],
)
def test_pick_of_a_question_a_task_or_an_unclear_list_is_no_decision(offer):
    assert learn_texts(agent(offer), user("2")) == []


def test_number_without_an_offer_is_no_decision():
    assert learn_texts(agent("Done."), user("2")) == []
    later = [user("Go on, please."), agent("Done.")] * 10
    assert learn_texts(agent(OFFER), *later, user("2")) == []


def test_two_sessions_share_no_state():
    state, _ = run_steps(messages(user(LEDGER)))
    other, _ = run_steps(messages(user(SMALL)))

    assert [one.content for one in state.pending] == [LEDGER]
    assert [one.content for one in other.pending] == [SMALL]
    assert SessionState() == SessionState()

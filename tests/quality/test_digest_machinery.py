"""Bench of the digest's losses, with a small database and given answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches.quality.conversations import DataError
from benches.quality.digest_machinery import digest_answers, measure_requests, read_answers, render
from opencode_memory import MemoryStore
from support.learning import make_reader, say
from support.model_server import item
from support.opencode import LONG_AFTER_MS, FakeOpenCode

TEXTS = ("how are invoices rendered?", "never commit generated files here", "thanks")
KEPT = item("directive", "Never commit generated files.", TEXTS[1], "msg_ses_a_00001002")
INVENTED = item("decision", "Invoices use Typst.", "let us use Typst", "msg_ses_a_00001000")


@pytest.fixture
def database(store: MemoryStore, tmp_path: Path) -> Path:
    path = tmp_path / "opencode.db"
    with FakeOpenCode(path) as opencode:
        for session, texts in (("ses_a", TEXTS), ("ses_b", TEXTS[:1])):
            opencode.session(session)
            say(opencode, session, *texts)
    make_reader(store, path).read(at_ms=LONG_AFTER_MS)
    return path


def test_losses_are_counted_with_their_reasons(store: MemoryStore, database: Path) -> None:
    answers = {"ses_a": {"items": [KEPT, INVENTED], "summary": {"done": "Nothing."}}, "ses_b": {"items": [INVENTED]}}
    digested = digest_answers(store, database, answers)
    lines = list(render(digested))
    assert lines[:2] == [
        "2 sessions with 3 items; 1 requests; 1 sessions were not due",
        "arrived: 1 active, 0 waiting (33% of the items)",
    ]
    assert "lost: 1 whose message was in no request" in lines
    assert "lost: 1 quote_not_found" in lines
    assert "summaries: 1" in lines


def test_requests_of_sessions_with_enough_messages_are_measured(store: MemoryStore, database: Path) -> None:
    [tokens] = measure_requests(store, database)
    assert 500 < tokens < 2_000


def test_answers_are_read_by_session(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"session": "ses_a", "answer": {"items": []}}) + "\n\n")
    assert read_answers(file) == {"ses_a": {"items": []}}
    file.write_text('{"session": 1}')
    with pytest.raises(DataError, match="cannot be read"):
        read_answers(file)

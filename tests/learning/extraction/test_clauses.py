"""Statements between the announcement of a correction and a task."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.clauses import cut_task, separate_announcements
from opencode_memory.learning.extraction.statements import Context, extract_from_user


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("the gateway is on port 7001 now, fix the proxy", "the gateway is on port 7001 now"),
        ("Images are kept in S3, can you adapt the uploader", "Images are kept in S3"),
        ("We moved the wiki to Outline, so please update the links", "We moved the wiki to Outline"),
        ("the broker is NATS, the compose file still has Kafka, please change it", "the broker is NATS"),
    ],
)
def test_task_behind_a_statement_is_cut(sentence: str, statement: str) -> None:
    assert cut_task(sentence) == statement


@pytest.mark.parametrize(
    "sentence",
    [
        "We no longer rebase before merging, use merge commits",
        "If the port is taken, change it",
        "When you rename a module, update the docs",
        "Run the tests, fix the failures, commit",
        "The service needs Redis, Postgres and a queue",
        "Now, fix it",
    ],
)
def test_other_sentences_stay_whole(sentence: str) -> None:
    assert cut_task(sentence) == sentence


@pytest.mark.parametrize(
    ("prose", "separated"),
    [
        (
            "Forget what I said about Friday, releases go out on Monday",
            "Forget what I said about Friday. releases go out on Monday",
        ),
        ("Wrong way round: always seed first", "always seed first, not the other way round"),
        ("No, it's the other way around, the flag wins", "No, the flag wins, not the other way round"),
        ("Fine. I changed my mind about tabs, use spaces", "Fine. I changed my mind about tabs. use spaces"),
        ("Don't forget the tests, please", "Don't forget the tests, please"),
        ("Turn it the other way round when it is wide, please", "Turn it the other way round when it is wide, please"),
    ],
)
def test_announcement_of_a_correction_becomes_a_sentence(prose: str, separated: str) -> None:
    assert separate_announcements(prose) == separated


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("the gateway is on port 7001 now, fix the proxy", "The gateway is on port 7001 now."),
        ("Uploads are kept under var/uploads, put the new ones there", "Uploads are kept under var/uploads."),
        (
            "the demo was moved to the ninth of May, change the calendar entry",
            "The demo was moved to the ninth of May.",
        ),
        ("Mails go out through Postmark, write the docs for it", "Mails go out through Postmark."),
        ("Forget what I said about Friday, always release on Monday.", "Always release on Monday."),
        (
            "It's the other way round: flags in v2.0 override the file. Fix the loader.",
            "Flags in v2.0 override the file, not the other way round.",
        ),
    ],
)
def test_statement_beside_a_task_is_found(message: str, content: str) -> None:
    assert content in [candidate.content for candidate in extract_from_user(message, Context())]


def test_evidence_keeps_the_whole_sentence() -> None:
    message = "the gateway is on port 7001 now, fix the proxy"
    [candidate] = extract_from_user(message, Context())
    assert (candidate.evidence, candidate.needs_subject) == (message, True)

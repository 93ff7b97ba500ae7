"""Secrets and unusual texts in learned sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning.extraction.events import ToolCall
from support.learning import (
    LEDGER,
    SHOP,
    agent,
    bash,
    edit,
    fail,
    learn,
    message,
    messages,
    process,
    refuse,
    user,
)
from support.stores import files_holding

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


def leaks(store: MemoryStore, data_dir: Path, needle: str) -> list[str]:
    store.close()
    return files_holding(data_dir, needle)


@pytest.mark.parametrize(
    "events",
    [
        [user(f"From now on always use {TOKEN} for the deploy job.")],
        [user(f"{LEDGER} The token is {TOKEN}.")],
        [fail(f"deploy --token {TOKEN}"), edit(), bash(f"deploy --token {TOKEN}")],
        [fail("deploy", f"Error: bad token {TOKEN}"), edit(), bash("deploy")],
        [fail("deploy"), edit(old=f'key = "{TOKEN}"', new='key = ""'), bash("deploy")],
        [bash(f"curl -H 'Authorization: Bearer {TOKEN}' https://example.org")] * 3,
        [bash("make", description=f"Uses {TOKEN}")] * 3,
        [refuse(f"never use {TOKEN} here, use the other one")],
        [agent(f"1. Use {TOKEN}\n2. Use another\nWhich?"), user("1")],
        [user("go"), ToolCall(tool="edit", input={"filePath": f"/home/ann/shop/{TOKEN}.py"})],
        [user("go"), agent(f"It turns out that {TOKEN} is the token of the release bot.")],
    ],
)
@pytest.mark.parametrize("is_idle", [True, False])
def test_secret_is_not_written_to_any_file(store, data_dir, events, is_idle):
    learn(store, *events, is_idle=is_idle)

    assert leaks(store, data_dir, TOKEN) == []


@pytest.mark.parametrize(
    "events",
    [
        [user("go"), agent(TOKEN + " " + "w" * 1_463), bash("make")],
        [user("go"), bash(f"make {'x' * 380} {TOKEN}")],
        [fail("deploy"), edit(old=f'client.authenticate_the_release_bot("{TOKEN}")', new="pass"), bash("deploy")],
    ],
    ids=["the end of what the agent said", "a long command", "a changed line"],
)
def test_truncated_secret_is_not_written_in_part(store, data_dir, events):
    learn(store, *events, is_idle=False)

    assert leaks(store, data_dir, TOKEN[8:30]) == []
    assert files_holding(data_dir, TOKEN[-22:]) == []


def test_multi_line_key_is_not_written_in_part(store, data_dir):
    body = "\n".join(f"MIIEpAIBAAKCAQEA{number:02}" + "q7Zx" * 11 for number in range(20))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"

    learn(store, user(f"Deploy with this key:\n{key}"), bash("make deploy"), edit())

    assert leaks(store, data_dir, "MIIEpAIBAAKCAQEA") == []


@pytest.mark.parametrize(
    "text", [f"{LEDGER}\x1b[0m", "x\x1b[31m red", "ﬀ\u202e\ufeff" + LEDGER, "\ud7ff\U0010ffff\x7f"]
)
def test_unusual_characters_do_not_stop_a_session(store, text):
    learn(store, user(text), fail(f"make {text}", text), edit(text, text, text), bash(f"make {text}"))

    assert learn(store, user("Go on."), of="ses_a").messages == 0
    assert process(store, SHOP, [message("later", user("Go on."))]).messages == 1


def test_very_long_session_fits_the_store(store):
    told = messages(
        *[fail(f"runner{number} go") for number in range(12)],
        *[edit(f"src/some/folder/module_{number}.py") for number in range(1_500)],
    )

    assert process(store, SHOP, told).messages == len(told)

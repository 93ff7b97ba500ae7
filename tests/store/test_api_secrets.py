"""Secrets are redacted before they reach the disk, on every write path."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.exchange import export_memories, import_memories
from opencode_memory.notes.folder import ingest
from support.stores import NOW_MS, files_holding, recalled, set_clock

# Put together here, so that no scanner takes this file for a leak.
TOKEN = "ghp" + "_" + "A1b2C3d4" * 4 + "E5f6"
SECRETS = {
    "a GitHub token": TOKEN,
    "an AWS key": "AKIA" + "IOSFODNN7Q2WERTY",
    "an OpenAI key": "sk-" + "proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d",
    "a Slack token": "xoxb-" + "123456789012-1234567890123-" + "aBcDeFgHiJkLmNoPqRsTuVwX",
    "a JSON web token": "eyJ" + "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" + "." + "eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0" + "."
    + "dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "a password in a URL": "Xk7" + "qPz2mW9v",
}  # fmt: skip
IN_TEXT = {
    name: f"clone https://ada:{secret}@example.org/shop.git"
    if name == "a password in a URL"
    else f"use {secret} for it"
    for name, secret in SECRETS.items()
}

_PATHS: dict[str, Callable[[MemoryStore], object]] = {
    "content": lambda store: store.remember(f"the token is {TOKEN}"),
    "topic": lambda store: store.remember("x", topic=f"token {TOKEN}"),
    "tags": lambda store: store.remember("x", tags=["fine", TOKEN]),
    "entities": lambda store: store.remember("x", entities=[TOKEN, "fine"]),
    "speaker": lambda store: store.remember("x", speaker=TOKEN),
    "session": lambda store: store.remember("x", session=TOKEN),
    "source": lambda store: store.remember("x", source={"tool": TOKEN, "file": f"/tmp/{TOKEN}", "commit": TOKEN}),
    "metadata": lambda store: store.remember("x", metadata={"a": [{"b": {"c": f"is {TOKEN}"}}]}),
    "a name in metadata": lambda store: store.remember("x", metadata={"a": {TOKEN: 1}}),
    "project": lambda store: store.remember("x", project=TOKEN),
    "remember_many": lambda store: store.remember_many([{"content": "x"}, {"content": f"{TOKEN}"}]),
    "merge": lambda store: [store.remember("x"), store.remember("x", metadata={"t": TOKEN}, tags=[TOKEN])],
    "update": lambda store: [store.remember("x", topic="t"), store.remember(TOKEN, topic="t")],
    "edit": lambda store: store.edit(
        store.remember("x").id, content=TOKEN, topic=TOKEN, tags=[TOKEN], entities=[TOKEN], metadata={"t": TOKEN}
    ),
    "move": lambda store: store.edit(store.remember("x").id, project=TOKEN),
    "archive": lambda store: store.archive(store.remember("x").id, reason=f"leaked {TOKEN}"),
    "link": lambda store: store.link(store.remember("x").id, store.remember("y").id, "related", f"both say {TOKEN}"),
    "a kind of link": lambda store: store.link(store.remember("x").id, store.remember("y").id, TOKEN),
    "a value": lambda store: store.kv.set("k", {"deep": [{"er": f"Bearer {TOKEN}"}]}),
    "a name in a value": lambda store: store.kv.set("k", {"deep": [{TOKEN: 1}]}),
    "a key": lambda store: store.kv.set(TOKEN, 1),
    "a namespace": lambda store: store.kv.set("k", 1, project=TOKEN),
    "rename": lambda store: [store.remember("x"), store.projects.rename("app", TOKEN)],
    "query": lambda store: [store.remember("x"), store.recall(f"what is {TOKEN}")],
}


@pytest.mark.parametrize("path", _PATHS)
def test_no_byte_of_a_secret_reaches_a_file(store: MemoryStore, data_dir: Path, path: str) -> None:
    try:
        _PATHS[path](store)
    except ValueError as error:
        assert TOKEN not in str(error)  # to refuse it is fine, to print it is not
    _use_everything(store)
    assert files_holding(data_dir, TOKEN) == []
    assert files_holding(data_dir, TOKEN.lower()) == []


def _use_everything(store: MemoryStore) -> None:
    store.indexes.embed_pending()
    store.indexes.catch_up()
    store.maintain()
    store.backups.create()


@pytest.mark.parametrize("name", SECRETS)
def test_each_kind_of_secret_is_replaced_and_the_rest_stays(store: MemoryStore, data_dir: Path, name: str) -> None:
    result = store.remember(IN_TEXT[name])
    assert len(result.redactions) == 1
    memory = store.get(result.id)
    before, after = IN_TEXT[name].split(SECRETS[name])
    assert memory.content.startswith(before)
    assert memory.content.endswith(after)
    assert f"[redacted:{result.redactions[0]}]" in memory.content
    _use_everything(store)
    assert files_holding(data_dir, SECRETS[name]) == []


def test_a_private_key_is_replaced_as_a_whole(store: MemoryStore, data_dir: Path) -> None:
    body = "\n".join(
        "MIIEowIBAAKCAQEA" + f"{number:02}" + "kLmNoPqRsTuVwXyZaBcDeFgHiJkLmNoPqRsTuVw" for number in range(5)
    )
    kind = "RSA PRIVATE" + " KEY"
    store.remember(f"the key:\n-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\nis in the vault")
    _use_everything(store)
    for line in body.splitlines():
        assert files_holding(data_dir, line) == []
    assert recalled(store, "vault")[0].endswith("is in the vault")


def test_a_value_that_only_its_name_makes_a_secret_is_replaced(store: MemoryStore, data_dir: Path) -> None:
    store.kv.set("settings", {"db": {"password": "Xk7qPz2mW9vB4nT6"}})
    _use_everything(store)
    assert files_holding(data_dir, "Xk7qPz2mW9vB4nT6") == []


@pytest.mark.parametrize(
    "text",
    [
        "the password field is required",
        "set the token in the header",
        "commit 95d2532e198feba210009cb8781126907b658573 broke it",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "id 01a20142-b18f-7071-a424-30e1d13c753f",
        "see https://example.org/a/very/long/path/with/many/parts?and=a&query=too",
        "secret = load_secret_from_vault()",
    ],
)
def test_text_about_secrets_is_not_redacted(store: MemoryStore, text: str) -> None:
    result = store.remember(text, metadata={"note": text})
    assert result.redactions == ()
    assert (store.get(result.id).content, store.get(result.id).metadata) == (text, {"note": text})


def test_the_import_of_an_export_is_a_path_in(open_store, tmp_path: Path, data_dir: Path) -> None:
    elsewhere = open_store(tmp_path / "elsewhere", project="app")
    one = elsewhere.remember(
        "SECRET in the content", topic="SECRET topic", tags=["SECRET"], metadata={"a": "SECRET"}
    ).id
    elsewhere.edit(one, content="SECRET edited")
    elsewhere.link(one, elsewhere.remember("two").id, "related", "SECRET reason")
    elsewhere.archive(one, reason="SECRET again")
    elsewhere.kv.set("k", ["SECRET"])
    elsewhere.delete(elsewhere.remember("SECRET that was deleted").id)
    out = io.StringIO()
    export_memories(elsewhere, out)
    store = open_store(project="app", clock_ms=NOW_MS + 1000)
    import_memories(store, io.StringIO(out.getvalue().replace("SECRET", TOKEN)))
    _use_everything(store)
    assert files_holding(data_dir, TOKEN) == []
    assert len(store.history(one)) == 3


def test_the_import_of_another_system_is_a_path_in(store: MemoryStore, data_dir: Path) -> None:
    document = {
        "memories": [
            {"id": "m1", "content": f"token {TOKEN}", "category": "fact", "created_at": "2026-01-01T00:00:00Z"}
        ],
        "links": [],
        "entities": [],
    }
    try:
        import_memories(store, io.StringIO(json.dumps(document)))
    except ValueError as error:
        assert TOKEN not in str(error)
    _use_everything(store)
    assert files_holding(data_dir, TOKEN) == []


def test_notes_are_a_path_in(store: MemoryStore, tmp_path: Path, data_dir: Path) -> None:
    note = tmp_path / "notes" / f"setup-{TOKEN}.md"
    note.parent.mkdir()
    note.write_text(
        f"---\ntags: [{TOKEN}]\ntoken: {TOKEN}\n---\n\nbefore {TOKEN}\n\n# Heading {TOKEN}\n\n```\nexport T={TOKEN}\n```\n"
    )
    for second in range(2):
        set_clock(store, NOW_MS + 1000 * second)
        ingest(store, note.parent)
        _use_everything(store)
        assert files_holding(data_dir, TOKEN) == []
    assert store.count() > 0


PRIVATE = "Plan it. <private>A surprise for\nAnna</private> Tell nobody. </private>"


@pytest.mark.parametrize("path", ["remember", "edit", "metadata", "kv", "notes"])
def test_private_passage_reaches_no_file(store: MemoryStore, tmp_path: Path, data_dir: Path, path: str) -> None:
    match path:
        case "remember":
            result = store.remember(PRIVATE)
            assert result.redactions == ("private",)
            assert store.get(result.id).content == "Plan it. [redacted:private] Tell nobody. </private>"
        case "edit":
            store.edit(store.remember("x").id, content=PRIVATE)
        case "metadata":
            store.remember("x", metadata={"note": PRIVATE})
        case "kv":
            store.kv.set("note", PRIVATE)
        case "notes":
            (tmp_path / "notes").mkdir()
            (tmp_path / "notes" / "note.md").write_text(PRIVATE)
            ingest(store, tmp_path / "notes")
    assert files_holding(data_dir, "surprise") == []
    assert files_holding(data_dir, "redacted:private") != []


def test_text_about_the_private_tag_is_stored_unchanged(store: MemoryStore) -> None:
    for text in ("Put what nobody needs to know into <private> tags.", "`<private>…</private>` keeps a passage out."):
        assert store.get(store.remember(text).id).content == text

"""``opencode-memory learning test``, ``digest`` and ``status`` with a scripted server."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.model_server import MODEL, ModelServer, Reply, digests, item, refuses, says
from support.opencode import FakeOpenCode

GOOD = item("decision", "Invoices are rendered with Typst, not LaTeX.", "option B please", 2)
INVENTED = item("decision", "The service is written in Go.", "we rewrite the service in Go", 1)
NOW_MS = 1_790_000_000_000


@pytest.fixture
def configured(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_DIGEST_MODEL", MODEL)
    return cli


def serve(monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> None:
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_DIGEST_URL", server.url)


def test_status_says_that_nothing_is_sent_and_how_to_agree(cli: CommandLine) -> None:
    answer = cli.ok("learning", "status")
    assert "not agreed yet, so nothing is sent" in answer.out
    assert "config set learning.digest small" in answer.out
    digest = cli.ok("learning", "status", "--json").json["digest"]
    assert (digest["mode"], digest["through"], digest["tokens_30_days"]) == ("ask", None, 0)


def test_test_without_a_model_says_how_to_get_one(cli: CommandLine) -> None:
    answer = cli("learning", "test", "--show-prompt")
    assert answer.code != 0
    assert "no model digests sessions" in answer.err
    assert "learning.digest_url" in answer.err
    assert "option B please" in answer.out


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"DIGEST_MODEL": MODEL}, "learning.digest_url is not set"),
        ({"DIGEST_URL": "http://127.0.0.1:9/v1"}, "learning.digest_model is not set"),
        ({"DIGEST": "small"}, "asked by OpenCode itself while it runs"),
        ({"DIGEST": "off"}, "because learning.digest is off"),
        ({"ENABLED": "false"}, "because learning.enabled is off"),
        (
            {"DIGEST_MODEL": MODEL, "DIGEST_URL": "http://example.com/v1"},
            "learning.digest_url: example.com must use https",
        ),
    ],
)
@pytest.mark.parametrize("name", ["test", "digest"])
def test_command_without_a_usable_server_names_the_setting(
    name: str, settings: dict[str, str], said: str, cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "opencode.db"
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_OPENCODE_DB", str(database))
    for key, value in settings.items():
        monkeypatch.setenv(f"OPENCODE_MEMORY_LEARNING_{key}", value)
    with FakeOpenCode(database):
        answer = cli("learning", name)
    assert answer.code == 2
    assert said in answer.err


def test_digest_without_opencode_names_the_missing_file(
    configured: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "opencode.db"
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_OPENCODE_DB", str(missing))
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_DIGEST_URL", "http://127.0.0.1:9/v1")
    answer = configured("learning", "digest")
    assert (answer.code, str(missing) in answer.err) == (2, True)
    assert configured.ok("learning", "digest", "--dry-run").out == "No session is due.\n"


def test_test_shows_what_is_kept_and_dropped_and_stores_nothing(
    configured: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(digests(GOOD, INVENTED, tokens=640)) as server:
        serve(monkeypatch, server)
        answer = configured.ok("learning", "test")
        again = configured.ok("learning", "test", "--json").json
    assert "kept      decision: Invoices are rendered with Typst, not LaTeX." in answer.out
    assert "dropped   The service is written in Go. (quote not found)" in answer.out
    assert "640 tokens" in answer.out
    assert "option B please" not in answer.out.split("answer", 1)[0]
    assert [kept["category"] for kept in again["kept"]] == ["decision"]
    assert configured.contents() == []
    digest = configured.ok("learning", "status", "--json").json["digest"]
    assert (digest["tokens_today"], digest["calls_today"], digest["through"]) == (1280, 2, "server")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [(says("Sure!"), "did not answer with the requested JSON"), (refuses(404), "status 404"), (refuses(500), "500")],
)
def test_test_with_a_bad_model_fails_with_a_hint(
    reply: Reply, problem: str, configured: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(reply) as server:
        serve(monkeypatch, server)
        answer = configured("learning", "test")
    assert answer.code == 2
    assert "Styled" not in answer.out
    assert problem in answer.err


def test_test_that_keeps_nothing_returns_1(configured: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(digests(INVENTED)) as server:
        serve(monkeypatch, server)
        assert configured("learning", "test").code == 1


def test_digest_runs_one_session_on_request(
    configured: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "opencode.db"
    monkeypatch.setenv("OPENCODE_MEMORY_LEARNING_OPENCODE_DB", str(path))
    order = item("directive", "Never commit generated files.", "never commit generated files here", 2)
    with FakeOpenCode(path) as opencode, ModelServer(digests(order)) as server:
        serve(monkeypatch, server)
        opencode.session("ses_a", at=NOW_MS)
        for number, text in enumerate(("hello", "never commit generated files here", "thanks"), start=1):
            opencode.user("ses_a", f"msg_{number}", text, at=NOW_MS + number * 1_000)
            opencode.agent("ses_a", f"msg_{number}_a", "Done.", at=NOW_MS + number * 1_000 + 1)
        configured.ok("ingest", "opencode", "--db", str(path))
        assert configured.ok("learning", "digest", "--dry-run").out == "No session is due.\n"
        answer = configured.ok("learning", "digest", "--session", "ses_a")
        assert "Digested 1 session with 100 tokens: 1 memory; 0 for review" in answer.out
        assert "there is no session ses_x" in configured("learning", "digest", "--session", "ses_x").err
    digest = configured.ok("learning", "status", "--json").json["digest"]
    assert [(entry["session"], entry["tokens"]) for entry in digest["sessions"]] == [("ses_a", 100)]

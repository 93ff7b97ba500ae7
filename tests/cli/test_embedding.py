"""``opencode-memory embedding``: the model of the store, and its change to a server and back."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import click
import pytest

from opencode_memory.cli import main
from opencode_memory.embedding.budget import most_tokens
from opencode_memory.embedding.served import client
from opencode_memory.http_client.request import Failure, Request, RequestError
from opencode_memory.service.server_record import ServerRecord, hold_record
from support.command_line import Answer, CommandLine
from support.embedding_server import MODEL, EmbeddingServer, Reply
from support.onnx_folder import write_folder


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def described(cli: CommandLine, server: EmbeddingServer) -> CommandLine:
    """A command line whose configuration describes a server, but uses the bundled model."""
    for key, value in (("base_url", server.url), ("model", MODEL), ("dimensions", "64")):
        cli.ok("config", "set", f"embedding.{key}", value)
    return cli


def _active(cli: CommandLine) -> str:
    return str(cli("embedding", "status", "--json").json["active"])


def test_model_is_changed_and_changed_back(described: CommandLine, server: EmbeddingServer) -> None:
    described.remember("The parser is written in Rust")
    assert "MiniLM" in _active(described)
    answer = described.ok("embedding", "use", "openai", "--yes")
    assert "1 memory" in answer.out
    assert _active(described).startswith(f"openai:{MODEL}:64@")
    assert described.ok("config", "show", "--json").json["values"]["embedding.provider"]["value"] == "openai"
    assert "The parser is written in Rust" in server.inputs
    assert "Rust" in described.ok("recall", "parser Rust").out
    described.ok("embedding", "use", "local", "--yes")
    assert "MiniLM" in _active(described)


def test_dry_run_tells_the_cost_and_changes_nothing(described: CommandLine) -> None:
    described.remember("The parser is written in Rust")
    report = described.ok("embedding", "use", "openai", "--dry-run", "--json").json
    assert report["memories"] == 1
    assert report["dry_run"]
    assert "MiniLM" in _active(described)
    assert described.ok("config", "show", "--json").json["values"]["embedding.provider"]["value"] == "local"


def test_budget_is_shown_before_a_change_and_by_the_status(described: CommandLine, server: EmbeddingServer) -> None:
    for number in range(40):
        described.remember(f"The parser {number} is written in Rust")
    described.ok("config", "set", "embedding.tokens_per_day", "2500")
    report = described.ok("embedding", "use", "openai", "--dry-run", "--json").json
    # The server reports 8 tokens for the first query, and 8 for the sample of 32 memories.
    assert (report["tokens"], report["tokens_left"], report["days"]) == (10, 2484, 1)
    assert "which today's budget allows" in described.ok("embedding", "use", "openai", "--dry-run").out
    described.ok("config", "set", "embedding.provider", "openai")
    status = described("embedding", "status")
    assert "32 of 2,500 tokens used today (UTC)" in status.out
    assert described("embedding", "status", "--json").json["budget"] == {
        "tokens_per_day": 2500,
        "tokens_today": 32,
        "until": None,
    }
    described.ok("config", "set", "embedding.tokens_per_day", "0")
    assert "budget" not in described("embedding", "status", "--json").json


def test_change_beyond_the_budget_says_how_many_days_it_takes_and_waits(
    described: CommandLine, server: EmbeddingServer
) -> None:
    server.count = most_tokens
    for number in range(4):
        described.remember(f"The parser {number:03} is written in Rust")
    described.ok("config", "set", "embedding.tokens_per_day", "110")
    before = described.ok("embedding", "use", "openai", "--dry-run", "--json").json
    assert before["seconds"] is None, "the budget does not suffice for the sample"
    assert before["tokens"] > 110
    assert before["days"] == 2
    answer = described.ok("embedding", "use", "openai", "--yes")
    assert "so the change takes about 3 days" in answer.out
    assert "allows are used up" in answer.out
    assert "The worker of the server embeds the memories" in answer.out
    status = described("embedding", "status")
    assert "changes to" in status.out
    assert "embedding goes on at" in status.out
    checks = {check["name"]: check for check in described("doctor", "--json").json["checks"]}
    assert checks["embed_budget"]["level"] == "note"
    assert "Rust" in described.ok("recall", "parser Rust").out


def test_change_in_the_background_is_shown_and_can_be_given_up(described: CommandLine) -> None:
    described.remember("The parser is written in Rust")
    answer = described.ok("embedding", "use", "openai", "--yes", "--background")
    assert "worker" in answer.out
    status = described("embedding", "status")
    assert status.code == 1
    assert "changes to" in status.out
    assert "0 of 1 memory done" in status.out
    assert "given up" in described.ok("embedding", "use", "local", "--yes").out
    assert described("embedding", "status").code == 0


def test_store_keeps_its_model_until_it_is_told_to_change(described: CommandLine, server: EmbeddingServer) -> None:
    described.remember("The parser is written in Rust")
    described.ok("config", "set", "embedding.provider", "openai")
    described.remember("The lexer is written in Python")
    assert "MiniLM" in _active(described)
    assert server.received == []
    status = described("embedding", "status")
    assert status.code == 1
    assert "embedding use openai" in status.err
    checks = {check["name"]: check for check in described("doctor", "--json").json["checks"]}
    assert "recall uses all-MiniLM" in checks["embed_model"]["text"]
    assert checks["embed_model"]["hint"] == "opencode-memory embedding use openai"


def test_empty_store_takes_the_model_at_once(described: CommandLine) -> None:
    answer = described.ok("embedding", "use", "openai", "--yes")
    assert "all will be embedded with openai:words-embed:64@" in answer.out
    assert answer.err == "", "no server runs that has to be restarted"
    described.remember("The parser is written in Rust")
    assert _active(described).startswith("openai:")


def test_running_server_has_to_be_restarted(described: CommandLine) -> None:
    data_dir = Path(described.ok("config", "show", "--json").json["values"]["data_dir"]["value"])
    data_dir.mkdir(parents=True)
    record = ServerRecord(pid=4711, host="127.0.0.1", port=9824, version="1.2.3", detached=True)
    with hold_record(data_dir, record):
        assert "Restart the server" in described.ok("embedding", "use", "openai", "--yes").err


def test_server_that_does_not_answer_changes_nothing(described: CommandLine, server: EmbeddingServer) -> None:
    described.remember("The parser is written in Rust")
    server.script.append(Reply(status=400))
    answer = described("embedding", "use", "openai", "--yes")
    assert answer.code == 2
    assert "status 400" in answer.err
    assert described.ok("config", "show", "--json").json["values"]["embedding.provider"]["value"] == "local"


def test_provider_without_its_settings_is_refused(described: CommandLine) -> None:
    described.ok("config", "set", "embedding.model", "--default")
    answer = described("embedding", "use", "openai", "--yes")
    assert answer.code == 2
    assert "embedding.model is not set" in answer.err


def test_model_in_a_folder_is_used(cli: CommandLine, tmp_path: Path) -> None:
    cli.remember("The red fox")
    cli.ok("config", "set", "embedding.folder", str(write_folder(tmp_path / "tiny")))
    cli.ok("embedding", "use", "folder", "--yes")
    assert _active(cli).startswith("folder:tiny:8@")
    assert "The red fox" in cli.ok("recall", "red fox").out
    cli.ok("embedding", "use", "local", "--yes")
    assert "MiniLM" in _active(cli)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def remote(cli: CommandLine) -> CommandLine:
    """A command line whose configuration describes a server on another machine."""
    for key, value in (("base_url", "https://embed.example.org/v1"), ("model", MODEL), ("dimensions", "64")):
        cli.ok("config", "set", f"embedding.{key}", value)
    return cli


def _allowed(cli: CommandLine) -> object:
    return cli.ok("config", "show", "--json").json["values"]["embedding.allowed_host"]["value"]


@pytest.mark.parametrize("options", [["--yes"], ["--yes", "--json"], ["--dry-run"]])
def test_other_machine_needs_consent_that_no_option_gives(
    remote: CommandLine, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Request] = []
    monkeypatch.setattr(client, "send", sent.append)
    remote.remember("The parser is written in Rust")
    answer = remote("embedding", "use", "openai", *options)
    assert answer.code == 2
    assert "may not be sent to embed.example.org" in answer.err
    assert sent == []
    assert _allowed(remote) is None


@pytest.mark.parametrize(("typed", "kept"), [("n\n", None), ("y\nn\n", "embed.example.org")])
def test_person_is_told_what_is_sent_and_asked_once(
    remote: CommandLine, monkeypatch: pytest.MonkeyPatch, typed: str, kept: str | None
) -> None:
    asked: list[str] = []
    answers = iter(typed.split())

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return next(answers) == "y"

    sent: list[Request] = []

    def refuse(request: Request) -> NoReturn:
        sent.append(request)
        raise RequestError("cannot connect to the server", failure=Failure.UNREACHABLE)

    monkeypatch.setattr(client, "send", refuse)
    monkeypatch.setattr(click, "confirm", confirm)
    monkeypatch.setattr(CommandLine, "__call__", _at_a_terminal(monkeypatch))
    remote.remember("The parser is written in Rust")
    answer = remote("embedding", "use", "openai")
    assert "your messages to agents" in answer.err
    assert asked == ["Send these texts to embed.example.org?"]
    assert bool(sent) == (kept is not None)
    assert _allowed(remote) == kept


def _at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    def call(cli: CommandLine, *arguments: str, given: str | bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", _Terminal())
        code = main(arguments)
        captured = cli._capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call

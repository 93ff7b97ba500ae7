"""`ui`: the link of the resident server."""

from __future__ import annotations

from typing import Any

import pytest

from opencode_memory.cli import ui
from opencode_memory.resident.client import HttpAnswer
from support.command_line import CommandLine


@pytest.fixture
def server(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> list[HttpAnswer | None]:
    """The server's next answers."""
    cli.ok("remember", "We deploy on Thursdays.")
    answers: list[HttpAnswer | None] = []
    monkeypatch.setattr(ui, "start", lambda config: None)
    monkeypatch.setattr(ui, "post", lambda *args, **more: answers.pop())
    monkeypatch.setattr(ui, "_PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr("pathlib.Path.read_text", lambda self, **more: "t0ken\n")
    return answers


def test_link_is_printed_or_opened(
    cli: CommandLine, server: list[HttpAnswer | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    given: Any = HttpAnswer(200, b'{"path": "/ui/enter?code=abc"}')
    server.append(given)
    assert cli.ok("ui", "--no-open").out.strip().endswith("/ui/enter?code=abc")
    assert opened == []
    server.append(given)
    # A link that was opened is of no further use, so it is not printed.
    assert "code" not in cli.ok("ui").out
    assert [url.endswith("/ui/enter?code=abc") for url in opened] == [True]
    server.append(given)
    assert cli.ok("ui", "--no-open", "--json").json["opened"] is False


@pytest.mark.parametrize("answer", [None, HttpAnswer(401, b"{}"), HttpAnswer(404, b"")])
def test_refusal_names_the_next_step(
    cli: CommandLine, server: list[HttpAnswer | None], answer: HttpAnswer | None
) -> None:
    server.append(answer)
    said = cli("ui", "--no-open")
    assert said.code == 2
    assert "doctor" in said.err


def test_server_that_needs_time_is_asked_again(
    cli: CommandLine, server: list[HttpAnswer | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui, "_PATIENCE_SECONDS", 20.0)
    server += [HttpAnswer(200, b'{"path": "/ui/enter?code=abc"}'), None, None]
    assert "code=abc" in cli.ok("ui", "--no-open").out
    assert server == []

"""Consent to digests: ``setup`` asks once, and nothing is sent without an answer."""

from __future__ import annotations

import io
import sys

import pytest

from opencode_memory.cli import main
from support.command_line import CommandLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def cli(opencode_cli: CommandLine) -> CommandLine:
    return opencode_cli


def answer_setup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str) -> str:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    assert main(("setup",)) == 0
    printed = capsys.readouterr()
    return printed.out + printed.err


def mode(cli: CommandLine) -> tuple[str, str | None]:
    digest = cli.ok("learning", "status", "--json").json["digest"]
    return digest["mode"], digest["through"]


def test_setup_without_a_terminal_sends_nothing_and_says_how(cli: CommandLine) -> None:
    assert "opencode-memory config set learning.digest small" in cli.ok("setup").err
    assert mode(cli) == ("ask", None)


@pytest.mark.parametrize("chosen", ["small", "session", "off"])
def test_answer_is_kept_and_not_asked_again(
    chosen: str, cli: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = answer_setup(monkeypatch, capsys, f"{chosen}\n")
    assert "2,000 to 8,000 tokens" in printed
    assert "300,000 a day" in printed
    assert mode(cli) == (chosen, None if chosen == "off" else "opencode")
    assert "tokens" not in answer_setup(monkeypatch, capsys, "")


@pytest.mark.parametrize("answer", ["\n", "later\n"])
def test_later_sends_nothing_and_asks_again(
    answer: str, cli: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer_setup(monkeypatch, capsys, answer)
    assert mode(cli) == ("ask", None)
    assert "later" in answer_setup(monkeypatch, capsys, answer)


def test_option_answers_the_question(cli: CommandLine) -> None:
    cli.ok("setup", "--digest", "small")
    assert mode(cli) == ("small", "opencode")


def test_dry_run_asks_nothing(cli: CommandLine) -> None:
    cli.ok("setup", "--dry-run", "--digest", "small")
    assert mode(cli) == ("ask", None)


def test_undo_has_no_digest(cli: CommandLine) -> None:
    assert cli("setup", "--undo", "--digest", "off").code == 2

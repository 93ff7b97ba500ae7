"""Memories in the answers of slash commands: the model sees them there, so blocks do not repeat them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.context.block import HEAD
from opencode_memory.server.plugin.commands.answer import MOST_WAITING, WaitingAnswers
from support.bridge import DIRECTIVE, QUESTION, WALRUS, Plugin, decisions, known
from support.mcp import Resident, World
from support.stores import NOW_MS


def type_command(plugin: Plugin, command: str, arguments: str, *, session: str = "ses_1") -> str:
    """Run a command as OpenCode does, and return the text that becomes the user's message."""
    told = plugin.ask("command", sessionID=session, command=command, arguments=arguments)
    assert "walrus" in told["text"]
    typed: str = told["typed"]
    return typed


@pytest.mark.parametrize("arguments", [WALRUS, f"decision: {WALRUS}", f"--global {WALRUS}", f'"{WALRUS}"'])
def test_block_beside_remember_does_not_repeat_the_memory(world: World, plugin: Plugin, arguments: str) -> None:
    known(world, DIRECTIVE, "directive")
    block = plugin.shown("msg_1", type_command(plugin, "remember", arguments))
    assert DIRECTIVE in block
    assert "walrus" not in block


def test_messages_after_remember_do_not_repeat_the_memory_either(world: World, plugin: Plugin) -> None:
    # Nothing else is known, so the first block, with the brief, belongs to a later message.
    assert plugin.shown("msg_1", type_command(plugin, "remember", WALRUS)) == ""
    assert decisions(world)["msg_1"].state == "nothing"
    assert plugin.shown("msg_2", QUESTION, visible=["msg_1"]) == ""
    known(world, DIRECTIVE, "directive")
    block = plugin.shown("msg_3", QUESTION, visible=["msg_1", "msg_2"])
    assert HEAD in block
    assert WALRUS not in block


def test_block_beside_recall_and_later_ones_do_not_repeat_its_answer(world: World, plugin: Plugin) -> None:
    known(world, WALRUS, "directive")
    typed = type_command(plugin, "recall", QUESTION)
    assert plugin.shown("msg_1", typed) == ""
    assert plugin.shown("msg_2", QUESTION, visible=["msg_1"]) == ""


@pytest.mark.parametrize("is_late", [False, True])
def test_memory_of_a_command_is_shown_again_out_of_sight_of_its_message(
    world: World, plugin: Plugin, *, is_late: bool
) -> None:
    known(world, DIRECTIVE, "directive")
    typed = type_command(plugin, "remember", WALRUS)
    assert plugin.offered("msg_1", typed).keys() == {"msg_1"}
    plugin.settle("msg_1", "late" if is_late else "shown")
    # After a late block the brief comes later, still without the memory.
    assert WALRUS not in plugin.shown("msg_2", QUESTION, visible=["msg_1"])
    # A compaction, or an undo, takes the message with the answer out of sight.
    assert WALRUS in plugin.shown("msg_5", QUESTION, summary="The user gave a rule.")
    assert WALRUS in plugin.shown("msg_6", QUESTION, session="ses_2")


def test_edited_memory_of_a_command_is_shown_again(world: World, plugin: Plugin) -> None:
    plugin.shown("msg_1", type_command(plugin, "remember", WALRUS))
    [memory] = world.store.list(project="gitlab.com/group/walrus")
    changed = "The walrus build needs make -j2: more jobs corrupt the archive."
    world.store.edit(memory.id, content=changed)
    assert changed in plugin.shown("msg_2", QUESTION, visible=["msg_1"])


def test_command_belongs_to_the_message_with_its_text(world: World, plugin: Plugin) -> None:
    typed = type_command(plugin, "remember", WALRUS)
    # The command was typed while an earlier message was being decided.
    assert WALRUS in plugin.offered("msg_1", "hello")["msg_1"]
    plugin.settle("msg_1", "late")
    # Messages that were queued reach the model together.
    assert plugin.shown("msg_3", f"thanks\n{typed}\nand go on", visible=["msg_1", "msg_2"]) == ""
    assert "in_command" in decisions(world)["msg_3"].about


def test_same_command_in_another_session_or_another_instance_is_another_answer(
    world: World, server: Resident, folder: Path, plugin: Plugin
) -> None:
    typed = type_command(plugin, "remember", WALRUS)
    assert WALRUS in plugin.shown("msg_1", f"{typed} too", session="ses_2")
    with Plugin(server.url, folder) as other:
        assert WALRUS in other.shown("msg_1", typed, session="ses_3")
    assert plugin.shown("msg_1", typed) == ""


def test_fork_does_not_repeat_the_answer_of_a_command(world: World, plugin: Plugin) -> None:
    known(world, DIRECTIVE, "directive")
    times = [NOW_MS, NOW_MS + 1, NOW_MS + 2]
    first = plugin.shown("msg_1", "hello", created=times[:1])
    typed = type_command(plugin, "remember", WALRUS)
    assert plugin.shown("msg_2", typed, visible=["msg_1"], created=times[:2]) == ""
    plugin.flush()
    blocks = plugin.offered("msg_9", QUESTION, session="ses_2", visible=["msg_7", "msg_8"], created=times)
    assert blocks == {"msg_7": first}


def test_fork_does_not_repeat_the_answer_of_a_command_if_no_block_was_shown(world: World, plugin: Plugin) -> None:
    times = [NOW_MS, NOW_MS + 1]
    typed = type_command(plugin, "remember", WALRUS)
    assert plugin.shown("msg_1", typed, created=times[:1]) == ""
    plugin.flush()
    assert plugin.shown("msg_9", QUESTION, session="ses_2", visible=["msg_7"], created=times) == ""
    [copied, _] = world.store.ledger.decisions("ses_2")
    assert (copied.message, copied.state, copied.about["copied_from"]) == ("msg_7", "nothing", "ses_1")


def test_answers_without_a_message_do_not_pile_up() -> None:
    answers = WaitingAnswers()
    for number in range(MOST_WAITING + 1):
        answers.add(f"ses_{number}", "/remember x", {"id": 1})
    answers.add("ses_x", "/forget x", {})
    assert answers.take("ses_0", "/remember x") == {}
    assert answers.take("ses_1", "/remember x") == {"id": 1}
    assert answers.take("ses_1", "/remember x") == {}
    assert answers.take("ses_x", "/forget x") == {}

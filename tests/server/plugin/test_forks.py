"""Forks of sessions: the copied messages keep their blocks, although OpenCode gives them other ids."""

from __future__ import annotations

from opencode_memory.context.block import HEAD
from support.bridge import DIRECTIVE, QUESTION, WALRUS, Plugin, known
from support.mcp import World
from support.stores import NOW_MS

FIRST, SECOND, THIRD, FOURTH = (NOW_MS + number * 60_000 for number in range(4))


def test_fork_gets_the_blocks_of_its_original(world: World, plugin: Plugin) -> None:
    known(world, DIRECTIVE, "directive")
    walrus = known(world, WALRUS)
    block = plugin.shown("msg_1", QUESTION, created=[FIRST])
    assert plugin.shown("msg_2", "thanks", visible=["msg_1"], created=[FIRST, SECOND]) == ""
    plugin.flush()
    world.store.edit(walrus, content="The walrus build needs ninja.")
    blocks = plugin.offered(
        "msg_9", "go on", session="ses_2", visible=["msg_7", "msg_8"], created=[FIRST, SECOND, THIRD]
    )
    assert blocks == {"msg_7": block}
    [copied, _] = world.store.ledger.decisions("ses_2")
    assert (copied.message, copied.state, copied.about["copied_from"]) == ("msg_7", "shown", "ses_1")


def test_fork_of_a_fork_and_another_fork_get_the_same_bytes(world: World, plugin: Plugin) -> None:
    known(world, WALRUS)
    block = plugin.shown("msg_1", QUESTION, created=[FIRST])
    plugin.flush()
    for number, (copy, session) in enumerate((("msg_3", "ses_2"), ("msg_5", "ses_3"))):
        asked = [FIRST, SECOND + number]
        assert plugin.offered(f"{copy}x", "go on", session=session, visible=[copy], created=asked) == {copy: block}


def test_purged_memory_is_not_copied_to_a_fork(world: World, plugin: Plugin) -> None:
    id_ = known(world, WALRUS)
    assert WALRUS in plugin.shown("msg_1", QUESTION, created=[FIRST])
    plugin.flush()
    world.store.purge(id_)
    assert plugin.offered("msg_9", "go on", session="ses_2", visible=["msg_7"], created=[FIRST, SECOND]) == {}


def test_messages_of_other_times_or_another_project_are_no_fork(world: World, plugin: Plugin) -> None:
    known(world, DIRECTIVE, "directive")
    plugin.shown("msg_1", QUESTION, created=[FIRST])
    plugin.flush()
    answer = plugin.offered("msg_9", "go on", session="ses_2", visible=["msg_7"], created=[FIRST + 1, SECOND])
    assert answer.keys() == {"msg_9"}
    assert HEAD in answer["msg_9"]
    assert world.store.ledger.find_original(project="gitlab.com/group/bees", created=[FIRST]) is None
    assert world.store.ledger.find_original(project=None, created=[FIRST]) is None


def test_new_message_is_no_copy(world: World, plugin: Plugin) -> None:
    # Two subagents may start within the same millisecond. Each gets a decision of its own.
    known(world, WALRUS)
    plugin.shown("msg_1", QUESTION, created=[FIRST])
    plugin.flush()
    assert "msg_2" in plugin.offered("msg_2", QUESTION, session="ses_2", created=[FIRST])
    [decision] = world.store.ledger.decisions("ses_2")
    assert "copied_from" not in decision.about


def test_memory_that_a_fork_sees_is_not_shown_again(world: World, plugin: Plugin) -> None:
    known(world, WALRUS)
    plugin.shown("msg_1", QUESTION, created=[FIRST])
    plugin.flush()
    answer = plugin.offered("msg_9", QUESTION, session="ses_2", visible=["msg_7"], created=[FIRST, FOURTH])
    assert answer.keys() == {"msg_7"}


def test_messages_of_unknown_times_are_no_fork(world: World, plugin: Plugin) -> None:
    known(world, WALRUS)
    plugin.shown("msg_1", QUESTION, created=[0])
    plugin.flush()
    answer = plugin.offered("msg_9", QUESTION, session="ses_2", visible=["msg_7"], created=[0, 0])
    assert answer.keys() == {"msg_9"}


def test_older_plugin_without_times_is_served(world: World, plugin: Plugin) -> None:
    known(world, WALRUS)
    assert WALRUS in plugin.shown("msg_1", QUESTION)
    plugin.flush()
    assert WALRUS in plugin.offered("msg_9", QUESTION, session="ses_2", visible=["msg_7"])["msg_9"]

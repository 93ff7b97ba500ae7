"""Learning from sessions is paused while no plugin is connected."""

from __future__ import annotations

import asyncio

from opencode_memory.server.plugin.learning_switch import LearningSwitch


def test_learning_is_paused_without_plugin_and_resumed_by_next() -> None:
    async def run() -> list[bool]:
        states: asyncio.Queue[bool] = asyncio.Queue()
        switch = LearningSwitch(states.put_nowait, seconds=0)
        switch.start()
        seen = [await asyncio.wait_for(states.get(), 10)]
        with switch.used():
            seen.append(await asyncio.wait_for(states.get(), 10))
        seen.append(await asyncio.wait_for(states.get(), 10))
        switch.close()
        return seen

    assert asyncio.run(run()) == [False, True, False]


def test_learning_goes_on_while_one_of_two_plugins_is_connected() -> None:
    async def run() -> list[bool]:
        states: list[bool] = []
        switch = LearningSwitch(states.append, seconds=0)
        with switch.used():
            switch.start()
            with switch.used():
                pass
            # A timer of zero seconds would fire in the next round of the loop.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        switch.close()
        return states

    assert asyncio.run(run()) == []

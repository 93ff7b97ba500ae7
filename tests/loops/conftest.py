"""Fixtures of the tests of loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from loops.fake_opencode import Asked, FakeOpenCode
from loops.loop_world import PROJECT, World, is_audit
from loops.repositories import repository
from opencode_memory.config.load import load
from opencode_memory.loops.model import Options
from opencode_memory.loops.start import Wish, start_loop
from opencode_memory.plans import Plans
from opencode_memory.text import clock
from support.plans import PLAN


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Returns a function that starts a loop; the model writes ``hello`` and audits as clean."""
    usual = repository(tmp_path / "shop", a_txt="x\n")
    with opencode_memory.open(tmp_path / "store", background=False) as store:
        store.remember("The till is in the shop.", project=PROJECT)

        def start(plan: str = PLAN, wish: dict[str, Any] | None = None, shop: Path = usual, **settings: str) -> World:
            environment = {f"OPENCODE_MEMORY_{name.upper()}": value for name, value in settings.items()}
            config = load(environment={"HOME": str(tmp_path), **environment})
            plans = Plans(store, PROJECT)
            submitted = plans.submit(plans.write(plan, at=clock.now()).plan)
            chosen = dict(wish or {})
            in_place = chosen.pop("in_place", False)
            wanted = Wish(directory=shop, by="test", in_place=in_place, options=Options(**chosen))
            loop = start_loop(store, submitted, wanted, config=config, at=clock.now())
            world = World(store, shop, loop, FakeOpenCode(shop, lambda _: {}))

            def answer(asked: Asked) -> dict[str, Any]:
                if is_audit(asked):
                    world.report(asked, "fine", "clean")
                else:
                    (asked.directory / "hello.txt").write_text("hello\n")
                    world.report(asked, "I wrote it")
                return {}

            world.opencode.answer = answer
            return world

        yield start

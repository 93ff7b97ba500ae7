"""A loop in a store and a repository, with an OpenCode that stands for the real one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio

from loops.fake_opencode import Asked, FakeOpenCode
from opencode_memory.loops.documents import Report
from opencode_memory.loops.model import Loop
from opencode_memory.loops.records import Loops
from opencode_memory.loops.runner import Runner
from opencode_memory.reviews import Findings
from opencode_memory.store.memory_store import MemoryStore

PROJECT = "shop"


@dataclass
class World:
    """A store, a repository, an OpenCode, and a loop."""

    store: MemoryStore
    shop: Path
    loop: Loop
    opencode: FakeOpenCode
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def loops(self) -> Loops:
        return Loops(self.store)

    async def find_host(self, _: Loop) -> FakeOpenCode | None:
        return self.opencode if self.opencode.is_connected else None

    def runner(self, owner: str = "this server") -> Runner:
        return Runner(
            store=self.store,
            id=self.loop.id,
            owner=owner,
            find_host=self.find_host,
            look_seconds=0.01,
        )

    def run(self, seconds: float = 30.0) -> Loop:
        """Run the loop until it rests or ends."""

        async def main() -> None:
            with anyio.fail_after(seconds):
                await self.runner().run()

        anyio.run(main)
        return self.loops.get(self.loop.id)

    def kinds(self) -> list[str]:
        return [step.kind.value for step in self.loops.steps(self.loop.id)]

    def report(self, asked: Asked, text: str, verdict: str | None = None) -> None:
        found = self.loops.of_session(asked.session)
        assert found is not None
        self.loops.report(found[1], Report(verdict=verdict, text=text))

    @property
    def findings(self) -> Findings:
        return Findings(self.store.kv, PROJECT, self.loops.get(self.loop.id).branch or "")


def is_audit(asked: Asked) -> bool:
    return asked.text.startswith("You audit")

"""Loops in the real OpenCode under random SIGKILLs of the server and of OpenCode.

By default 3 kills, and 200 in the soak. No message may be sent twice, and no commit lost, however often it happens.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from e2e.loop_world import World, assert_sent_once, git, report
from e2e.plugged import Instance
from e2e.scripted_model import Request, Said

IS_SOAK = "SOAK_MINUTES" in os.environ
KILLS = int(os.environ.get("LOOP_KILLS", "200" if IS_SOAK else "3"))
SEED = int(os.environ.get("LOOP_SEED", random.SystemRandom().randrange(10**6) if IS_SOAK else 1))
ENDS = ("completed", "failed", "waiting", "cancelled")
SECONDS = (0.1, 5.0)
"""Shortest and longest time between two kills."""
SHARE_OF_SERVER = 0.7


def answer(request: Request) -> Said:
    """The model: it writes a file that the prompt names and reports, and repeats what a kill has made fail."""
    users = "\n".join(request.users)
    has_reported = any(result.startswith("Recorded") for result in request.tool_results)
    if users.startswith("You audit"):
        return "The audit is done." if has_reported else report("I read it.", verdict="clean")
    name = users.partition("Write file-")[2].partition(".txt")[0]
    if not any(result.startswith("Wrote") for result in request.tool_results):
        return ("write", {"filePath": f"file-{name}.txt", "content": name})
    return "Done." if has_reported else report(f"I wrote {name}.")


class Place:
    """OpenCode and the server of a home, which are killed and started again."""

    def __init__(self, world: World, opened: ExitStack) -> None:
        self._world = world
        self._opened = opened
        self._opencode = self._open()

    def kill(self, *, server: bool) -> None:
        if server:
            self._world.server.kill()
            self._world.server.start()
        else:
            self._opencode.kill()
            self._opencode = self._open()

    def _open(self) -> Instance:
        return self._opened.enter_context(self._world.plugged.running(self._world.shop))


def test_random_kills_send_no_prompt_twice_and_lose_no_commit(opencode_binary: Path, tmp_path: Path) -> None:
    chance, kills, number = random.Random(SEED), Counter[str](), 0
    pause = threading.Event()
    with World.served(opencode_binary, tmp_path) as world, ExitStack() as opened:
        world.model.script_by_request(answer)
        place = Place(world, opened)
        world.server.until_warm()
        while kills.total() < KILLS:
            number += 1
            loop = world.start_loop(text=f"Write file-{number}.txt", check=f"grep -qx {number} file-{number}.txt")
            while kills.total() < KILLS and world.loop(loop)["loop"]["state"] not in ENDS:
                pause.wait(chance.uniform(*SECONDS))
                is_server = chance.random() < SHARE_OF_SERVER
                place.kill(server=is_server)
                kills["server" if is_server else "opencode"] += 1
            found = world.until_state(loop, *ENDS)
            assert found["loop"]["state"] == "completed", (SEED, kills, found["loop"]["reason"], found["steps"][-1])
            assert_sent_once(world, found)
            branch = found["loop"]["branch"]
            assert world.git("rev-list", "--count", f"HEAD..{branch}") == "1"
            assert git(world.shop, "show", f"{branch}:file-{number}.txt") == str(number)
    told = f"{number} loops, {kills['server']} kills of the server, {kills['opencode']} of OpenCode (seed {SEED}): "
    told += "no message was sent twice, and no commit was lost"
    print(told)  # noqa: T201  the report of a long run
    if (folder := os.environ.get("SOAK_REPORT")) is not None:
        Path(folder, "report.md").write_text(f"{told}.\n")

"""The pages in a real browser: every page in light, dark and at phone width, the keys, and the forms without a script."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import opencode_memory
from e2e.served import Served, command, environment
from opencode_memory import Trust

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
VISIT = Path(__file__).with_name("pages_visit.mjs")


def fill(data_dir: Path) -> None:
    """Store memories of several writers, some of which wait for review."""
    with opencode_memory.open(data_dir) as store:
        learner = store.acting_as(Trust.EXTRACTED)
        for text in ("Always answer briefly.", "Never push on Fridays.", "Always run the linter."):
            learner.remember(
                text, project="shop", category="directive", trust="extracted", metadata={"rule": "x", "evidence": text}
            )
        store.remember_many([{"content": f"Note number {n} of the shop.", "project": "shop"} for n in range(60)])
        long = store.remember("word" * 100, project="shop").id
        id = store.remember("We deploy on Fridays.", project="shop", category="decision").id
        store.edit(id, content="We deploy on Thursdays, never on Fridays.")
        till = store.remember("The till <b>is</b> in the shop.", project="shop").id
        store.link(till, long)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_pages_in_chromium(served: Served, browser_tools: Path, tmp_path: Path) -> None:
    fill(served.data_dir)
    port = urlsplit(served.url).port
    asked = subprocess.run(
        command("--data-dir", str(served.data_dir), "--json", "ui", "--no-open"),
        cwd=served.home,
        env=environment(served.home) | {"OPENCODE_MEMORY_PORT": str(port)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    link = json.loads(asked.stdout)["url"]
    node = shutil.which("node")
    assert node is not None
    ran = subprocess.run(
        [node, VISIT, browser_tools, str(CHROMIUM), link, tmp_path],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert [problem for problem in seen["problems"] if problem["impact"] in {"serious", "critical"}] == []
    assert seen["overflow"] == []
    assert seen["errors"] == []
    assert seen["requests"] == [f"http://127.0.0.1:{port}"]
    assert seen["opened"] == "We deploy on Thursdays, never on Fridays."
    assert seen["found"] == "We deploy on Thursdays, never on Fridays."
    assert seen["waiting"] == 3
    assert seen["chosen"] == "true"
    assert seen["accepted"].startswith("Accepted.")
    assert seen["preview"] == "Archive 2 memories?"
    assert seen["done"] == "Archived: 2 memories."
    assert seen["plain"] == "Pinned."
    with opencode_memory.open(served.data_dir) as store:
        assert store.count(project="*", status="archived") == 1
        assert store.list(project="*", category="directive")[0].is_confirmed
        assert len(store.list(project="*", pinned=True)) == 1
        assert "Answer in one sentence." in [
            memory.content for memory in store.list(project="shop", category="directive")
        ]

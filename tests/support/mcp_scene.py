"""A project with data of every kind, and one valid call of every tool."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.mcp import Agent, World

PROJECT = "gitlab.com/group/shop"


@dataclass(frozen=True)
class Scene:
    """The world, the client and the ids of the memories."""

    world: World
    agent: Agent
    folder: Path
    fact: str
    other: str
    archived: str
    deleted: str
    blocker: str
    resolved: str

    def valid_calls(self) -> dict[str, dict[str, Any]]:
        """Return valid arguments of each tool. In this order every tool can be called once."""
        return {
            "memory_status": {},
            "get_boot_context": {"max_tokens": 1000},
            "recall": {"query": "port of the shop", "limit": 5, "category": "fact", "since": "7d", "until": "now"},
            "search_history": {"query": "old port", "category": "fact"},
            "get_context": {"entity_ref": "!12"},
            "get_memory": {"memory_id": self.fact},
            "get_linked_memories": {"memory_id": self.fact, "link_types": ["causes"], "limit": 3},
            "get_active_sessions": {},
            "kv_get": {"key": "state"},
            "kv_list": {"prefix": "sta"},
            "remember": {
                "content": "Deploys go out on Tuesdays",
                "category": "decision",
                "what": "Fridays were too risky",
                "why": "Nobody is there on Saturdays",
                "learned": "Freeze the queue first",
                "entities": ["!13", "deploy.sh"],
                "topic": "deploy day",
                "tags": ["deploy"],
                "session": "s1",
            },
            "log_session": {
                "summary": "Moved the port",
                "learnings": ["Ports below 1024 need root"],
                "session_id": "s1",
            },
            "edit_memory": {"memory_id": self.fact, "content": "The shop listens on port 5129", "tags": ["port"]},
            "link_memories": {"source_id": self.other, "target_id": self.fact, "kind": "causes", "reason": "found so"},
            "pin_memory": {"memory_id": self.fact},
            "set_reminder": {"memory_id": self.fact, "when": "3d", "every_days": 7, "review": True},
            "archive_memory": {"memory_id": self.other, "reason": "no longer so"},
            "restore_memory": {"memory_id": self.archived},
            "undo": {"memory_ids": [self.deleted]},
            "delete_memory": {"memory_id": self.other},
            "resolve_blocker": {"memory_id": self.blocker, "resolution": "Another port"},
            "unresolve_blocker": {"memory_id": self.resolved},
            "bulk_archive": {"reason": "tidy up", "category": "idea", "older_than_days": 0},
            "consolidate_memory": {"days_stale": 30, "apply": True},
            "session_start": {"session_id": "s3", "working_on": "the port"},
            "session_heartbeat": {"session_id": "s1"},
            "claim_item": {"session_id": "s1", "item_ref": "!14"},
            "release_item": {"session_id": "s1", "item_ref": "!12"},
            "session_end": {"session_id": "s1", "summary": "The port is moved"},
            "export_memories": {"output_path": "memories.json", "categories": ["fact"], "since_days": 30},
            "import_memories": {"input_path": "import.json"},
            "ingest_file": {"file_path": "notes.md"},
            "bootstrap_memory": {},
            "kv_set": {"key": "other", "value": {"step": 3}, "ttl_seconds": 60},
            "kv_delete": {"key": "state"},
        }


ALWAYS_FAILING: dict[str, dict[str, Any]] = {
    "enrich_entity": {"entity_ref": "!12"},
    "get_session": {"message_id": "msg_1", "around": 2},
}
"""Tools that always fail."""


def set_up(world: World, *, mode: str = "legacy") -> Scene:
    """Fill a new world with data."""
    folder = world.repository("shop")
    (folder / "notes.md").write_text("# Setup\n\nRun the walrus first.\n")
    (folder / "README.md").write_text("# Shop\n\nA shop for bees.\n")
    (folder / "Makefile").write_text("check: ## all checks\n\ttrue\n")
    agent = world.agent(folder, mode=mode)
    fact = agent.remember("The shop listens on port 5128, see !12")
    other = agent.remember("The firewall closes every other port, see !12")
    agent.ok("link_memories", source_id=fact, target_id=other, kind="causes")
    archived = agent.remember("The old port was 80")
    agent.ok("archive_memory", memory_id=archived)
    deleted = agent.remember("The first port was 8080")
    agent.ok("delete_memory", memory_id=deleted)
    blocker = agent.remember("Port 5128 is taken", "blocker")
    resolved = agent.remember("The firewall is down", "blocker")
    agent.ok("resolve_blocker", memory_id=resolved, resolution="It is up")
    agent.remember("Sell honey", "idea")
    agent.remember("Always ask before a release", "directive")
    agent.ok("session_start", session_id="s1", working_on="the port")
    agent.ok("claim_item", session_id="s1", item_ref="!12")
    agent.ok("session_start", session_id="s2", working_on="the firewall")
    agent.ok("kv_set", key="state", value=["half", "done"])
    agent.ok("export_memories", output_path="import.json", categories=["decision"])
    return Scene(world, agent, folder, fact, other, archived, deleted, blocker, resolved)

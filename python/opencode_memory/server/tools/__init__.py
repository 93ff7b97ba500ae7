"""The MCP tools, one module per kind of work. ``TOOLS`` lists them in the order in which a server offers them."""

from __future__ import annotations

from typing import Final

from opencode_memory.server.toolbox import Tool
from opencode_memory.server.tools import (
    boot,
    bulk,
    curate,
    exchange,
    forges,
    kv,
    recall,
    reminders,
    sessions,
    status,
    write,
)

TOOLS: Final[tuple[Tool, ...]] = (
    recall.recall,
    write.remember,
    recall.get_context,
    boot.get_boot_context,
    write.edit_memory,
    curate.archive_memory,
    recall.get_memory,
    status.memory_status,
    recall.get_linked_memories,
    recall.get_session,
    recall.search_history,
    write.log_session,
    write.link_memories,
    curate.restore_memory,
    curate.delete_memory,
    curate.undo,
    curate.pin_memory,
    reminders.set_reminder,
    curate.resolve_blocker,
    curate.unresolve_blocker,
    bulk.bulk_archive,
    bulk.consolidate_memory,
    sessions.session_start,
    sessions.session_heartbeat,
    sessions.session_end,
    sessions.get_active_sessions,
    sessions.claim_item,
    sessions.release_item,
    exchange.export_memories,
    exchange.import_memories,
    exchange.ingest_file,
    exchange.bootstrap_memory,
    forges.enrich_entity,
    kv.kv_set,
    kv.kv_get,
    kv.kv_list,
    kv.kv_delete,
)

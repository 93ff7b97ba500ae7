"""Table of all configuration keys, with their purposes, defaults and valid values.

The frozen tree that ``config.load`` builds from these keys is in ``config.sections``. This module reads no files.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from opencode_memory.config.embedding import EMBEDDING_SETTINGS
from opencode_memory.config.forge import FORGE_SETTINGS
from opencode_memory.config.paths import default_data_dir
from opencode_memory.config.sections import Color, Digest, Files, LogFormat, MemoryFile, SandboxMode, Tools
from opencode_memory.config.setting import Setting, always
from opencode_memory.config.value_kinds import (
    FLAG,
    FOLDER,
    KEY,
    PROJECT,
    TEXT,
    TEXTS,
    URL,
    number,
    one_of,
    some_of,
    whole_number,
)

LEARNING_SOURCES: Final = ("opencode", "live", "markdown", "manifests")
LEARNING_LANGUAGES: Final = ("en", "de", "es", "fr", "ja", "pt", "zh")
_DAY_SECONDS: Final = 86_400


def _default_color(environment: Mapping[str, str]) -> Color:
    return Color.NEVER if environment.get("NO_COLOR") else Color.AUTO


SETTINGS: Final = (
    Setting("data_dir", "folder of the store", default_data_dir, FOLDER),
    Setting("project", "project to use instead of the current folder's", always(None), PROJECT),
    Setting("color", "when to color the output; auto respects NO_COLOR", _default_color, one_of(*Color)),
    Setting("recall.limit", "number of results of a recall", always(10), whole_number(1, 1000)),
    *EMBEDDING_SETTINGS,
    Setting(
        "kv.default_ttl_seconds",
        "lifetime of a key-value pair in seconds; 0 for no end",
        always(7 * _DAY_SECONDS),
        whole_number(0, 10**10),
    ),
    Setting("backup.keep", "number of backups to keep; 0 for all", always(10), whole_number(0, 10_000)),
    Setting("identity.user", "your user name on the code host", always(None), TEXT),
    Setting("identity.instance", "the code host, for example github.com", always(None), TEXT),
    Setting("brief.max_tokens", "token budget of a project brief", always(1500), whole_number(0, 100_000)),
    Setting(
        "brief.subagent_tokens",
        "token budget of a project brief in a subagent's session",
        always(400),
        whole_number(0, 100_000),
    ),
    Setting(
        "session.lease_seconds",
        "seconds until a silent session counts as ended",
        always(900),
        whole_number(30, 7 * _DAY_SECONDS),
    ),
    Setting(
        "memory_file", "keep a project's memories in .opencode/MEMORY.md", always(MemoryFile.ASK), one_of(*MemoryFile)
    ),
    Setting(
        "max_memory_lines", "maximum number of lines in that file; 0 for none", always(200), whole_number(0, 10_000)
    ),
    Setting("files", "memories to keep as one Markdown file each", always(Files.OFF), one_of(*Files)),
    Setting("learning.enabled", "learn from sessions and notes", always(True), FLAG),
    Setting("learning.sources", "sources to learn from", always(LEARNING_SOURCES), some_of(*LEARNING_SOURCES)),
    Setting("learning.skip_projects", "projects that are excluded from learning", always(()), TEXTS),
    Setting(
        "learning.languages",
        "languages of sentences to learn from",
        always(("en", "fr")),
        some_of(*LEARNING_LANGUAGES),
    ),
    Setting("learning.watch", "folders of notes to watch", always(()), TEXTS),
    Setting("learning.opencode_db", "OpenCode's database, if not in its default location", always(None), FOLDER),
    Setting("learning.poll_seconds", "seconds between two reads of that database", always(30), whole_number(1, 86_400)),
    Setting(
        "learning.rest_seconds",
        "seconds without a message until a session counts as idle",
        always(120),
        whole_number(1, 86_400),
    ),
    Setting(
        "learning.digest",
        "let a model of OpenCode digest sessions; ask sends nothing",
        always(Digest.ASK),
        one_of(*Digest),
    ),
    Setting("learning.digest_url", "OpenAI-compatible server that digests sessions instead", always(None), URL),
    Setting("learning.digest_model", "model of that server", always(None), TEXT),
    Setting(
        "learning.digest_key",
        "API key of that server, for example from the environment",
        always(None),
        KEY,
        secret=True,
    ),
    Setting("learning.digest_key_file", "file that holds that key, with mode 0600", always(None), FOLDER),
    Setting("learning.digest_calls_per_day", "digests per day", always(100), whole_number(1, 100_000)),
    Setting(
        "learning.digest_tokens_per_day",
        "tokens of digests per day",
        always(300_000),
        whole_number(1000, 1_000_000_000),
    ),
    Setting("learning.digest_timeout_seconds", "timeout of a digest", always(120), whole_number(1, 600)),
    Setting(
        "learning.digest_rest_seconds",
        "seconds without a message until a session is digested",
        always(600),
        whole_number(1, 86_400),
    ),
    Setting("injection.enabled", "add relevant memories to messages", always(True), FLAG),
    Setting(
        "injection.max_tokens", "token budget of the memories for a message", always(2000), whole_number(0, 100_000)
    ),
    Setting("injection.max_results", "maximum number of memories for a message", always(3), whole_number(1, 100)),
    Setting("injection.subagent_tokens", "token budget in a subagent's session", always(600), whole_number(0, 100_000)),
    Setting("injection.quotes", "quote an earlier session beside a first message", always(True), FLAG),
    Setting("compaction.enabled", "add memories to compactions", always(True), FLAG),
    Setting(
        "compaction.max_tokens",
        "token budget of the memories for a compaction",
        always(4000),
        whole_number(0, 100_000),
    ),
    Setting("compaction.custom_prompt", "also replace OpenCode's compaction prompt", always(False), FLAG),
    Setting(
        "opencode.deadline_ms", "milliseconds that OpenCode waits for memories", always(400), whole_number(20, 10_000)
    ),
    Setting(
        "opencode.first_deadline_ms",
        "milliseconds that a session's first message waits for memories",
        always(2000),
        whole_number(20, 10_000),
    ),
    Setting("opencode.auditor_model", "model of the auditor, also in loops, as provider/model", always(None), TEXT),
    Setting("loop.enabled", "allow loops", always(True), FLAG),
    Setting(
        "loop.max_iterations",
        "coding steps of a loop; 0 for 15, or three for each section of a longer plan",
        always(0),
        whole_number(0, 1_000_000),
    ),
    Setting("loop.max_hours", "hours that a loop may work", always(4.0), number(0.01, 1000)),
    Setting(
        "loop.max_tokens",
        "tokens of a loop without cached ones; 0 for no limit",
        always(5_000_000),
        whole_number(0, 10**12),
    ),
    Setting("loop.max_cost", "cost of a loop in US dollars; 0 for no limit", always(20.0), number(0, 1_000_000)),
    Setting("loop.audits", "let an auditor review each change of a loop", always(True), FLAG),
    Setting("loop.min_audits", "clean audits that a loop needs at least", always(1), whole_number(0, 100)),
    Setting("loop.model", "model that codes in loops, as provider/model", always(None), TEXT),
    Setting("loop.execution_model", "model that carries out plans, as provider/model", always(None), TEXT),
    Setting("loop.setup", "command that prepares a worktree, for example npm ci", always(None), TEXT),
    Setting("loop.copy", "patterns of ignored files to copy into a worktree", always(()), TEXTS),
    Setting(
        "loop.stall_seconds",
        "seconds without progress until a model in a loop is interrupted",
        always(600),
        whole_number(10, 86_400),
    ),
    Setting("loop.own_host", "start OpenCode for loops of the command line where none is open", always(True), FLAG),
    Setting(
        "loop.remove_worktree",
        "remove the worktree of a completed loop if all is committed",
        always(True),
        FLAG,
    ),
    Setting(
        "loop.keep_days",
        "days after which the records of an ended loop are deleted; 0 for never",
        always(180),
        whole_number(0, 36_500),
    ),
    Setting("terminal.sidebar", "add a part to OpenCode's sidebar and palette", always(True), FLAG),
    Setting("terminal.loops", "show plans and loops there", always(True), FLAG),
    Setting("terminal.memory", "show memories there", always(True), FLAG),
    Setting("terminal.version", "show the version there", always(True), FLAG),
    Setting("terminal.toasts", "tell in OpenCode's terminal what was learned", always(True), FLAG),
    Setting("sandbox.mode", "engine of the sandbox of loops", always(SandboxMode.OFF), one_of(*SandboxMode)),
    Setting("sandbox.image", "image of a container", always("ocm-sandbox:latest"), TEXT),
    Setting("sandbox.network", "let commands in the sandbox use the network", always(False), FLAG),
    Setting("sandbox.folders", "more folders that the sandbox shows, read-only", always(()), TEXTS),
    *FORGE_SETTINGS,
    Setting("server.host", "address that the server listens on", always("127.0.0.1"), TEXT, named="HOST"),
    Setting(
        "server.port", "port of the server; 0 for any free port", always(9824), whole_number(0, 65_535), named="PORT"
    ),
    Setting("server.api_key", "API key that every request must send", always(None), KEY, named="API_KEY", secret=True),
    Setting(
        "server.rate_limit",
        "requests per minute and session; 0 for no limit",
        always(600),
        whole_number(0, 1_000_000),
        named="RATE_LIMIT",
    ),
    Setting("server.allowed_hosts", "additional names that the Host header may have", always(()), TEXTS),
    Setting("server.allowed_origins", "additional origins that browsers may send", always(()), TEXTS),
    Setting("server.allowed_folders", "additional folders for export, import and ingest", always(()), TEXTS),
    Setting("server.cross_project", "let clients access other projects than their own", always(False), FLAG),
    Setting("server.tools", "tools to offer", always(Tools.ALL), one_of(*Tools)),
    Setting("server.delegate", "let a running server do `recall` and `serve --stdio`", always(True), FLAG),
    Setting("server.log_format", "format of the log", always(LogFormat.TEXT), one_of(*LogFormat)),
    Setting("server.log_file", "log file, instead of standard error", always(None), FOLDER),
)
_BOOT: Final = (
    "max_tokens",
    "max_hot_items",
    "identity",
    "directives",
    "habits",
    "unresolved_blockers",
    "active_sessions",
    "hot_items",
    "recent_decisions",
    "recent_solutions",
    "plans",
)
REPLACED: Final[Mapping[str, str]] = MappingProxyType(
    {f"boot.{name}": "brief.max_tokens" for name in _BOOT}
    | {
        "extraction_model": "learning.digest_model",
        "extraction_url": "learning.digest_url",
        "extraction_key": "learning.digest_key",
        "extraction_calls_per_day": "learning.digest_calls_per_day",
        "extraction_tokens_per_day": "learning.digest_tokens_per_day",
        "extraction_timeout_seconds": "learning.digest_timeout_seconds",
    }
)
"""Keys of earlier versions without effect, with the keys that replace them. They are not read as aliases, because a
digest sends more text than the model of earlier versions received, so the user has to agree anew."""
BY_KEY: Final = MappingProxyType({setting.key: setting for setting in SETTINGS})

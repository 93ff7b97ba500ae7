"""Table of all configuration keys, with their purposes, defaults and valid values.

The frozen tree that ``config.load`` builds from these keys is in ``config.sections``. This module reads no files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.config.paths import default_data_dir
from opencode_memory.config.sections import Color, Digest, LogFormat, MemoryFile, SandboxMode, Tools
from opencode_memory.config.value_kinds import (
    FLAG,
    FOLDER,
    KEY,
    TEXT,
    TEXTS,
    URL,
    ValueKind,
    number,
    one_of,
    some_of,
    whole_number,
)

PREFIX: Final = "OPENCODE_MEMORY_"
LEARNING_SOURCES: Final = ("opencode", "live", "markdown", "manifests")
_DAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Setting:
    """A configuration key.

    Attributes:
        key: Dotted name in the file. The environment variable is derived from it unless ``named`` is set.
        about: Purpose, in a few words.
        default: Returns the default value for an environment.
        kind: The valid values.
        named: The environment variable without its prefix, if it differs from the key.
        secret: Whether to hide the value in all output.
    """

    key: str
    about: str
    default: Callable[[Mapping[str, str]], Any]
    kind: ValueKind
    named: str | None = None
    secret: bool = False

    @property
    def variable(self) -> str:
        """The name of the environment variable."""
        return PREFIX + (self.named or self.key.replace(".", "_").upper())

    def read(self, written: Any, environment: Mapping[str, str]) -> Any:
        """Convert the written form of a value, and validate it.

        Raises:
            ValueError: If the value is invalid; the message describes the valid values.
        """
        value = self.kind.read(written)
        if value is None:
            raise ValueError(self.kind.accepts)
        return resolve_folder(value, environment) if self.kind is FOLDER else value


def resolve_folder(written: str, environment: Mapping[str, str]) -> Path:
    """Return an absolute path; a leading ``~`` is the home of that environment."""
    if written == "~" or written.startswith("~/"):
        written = environment.get("HOME", "~") + written[1:]
    return Path(written).absolute()


def _default_color(environment: Mapping[str, str]) -> Color:
    return Color.NEVER if environment.get("NO_COLOR") else Color.AUTO


def _always(value: Any) -> Callable[[Mapping[str, str]], Any]:
    return lambda _environment: value


SETTINGS: Final = (
    Setting("data_dir", "folder of the store", default_data_dir, FOLDER),
    Setting("project", "project to use instead of the current folder's", _always(None), TEXT),
    Setting("color", "when to color the output; auto respects NO_COLOR", _default_color, one_of(*Color)),
    Setting("recall.limit", "number of results of a recall", _always(10), whole_number(1, 1000)),
    Setting("embedding.threads", "threads of the embedding model; 0 for all cores", _always(0), whole_number(0, 256)),
    Setting(
        "kv.default_ttl_seconds",
        "lifetime of a key-value pair in seconds; 0 for no end",
        _always(7 * _DAY_SECONDS),
        whole_number(0, 10**10),
    ),
    Setting("backup.keep", "number of backups to keep; 0 for all", _always(10), whole_number(0, 10_000)),
    Setting("identity.user", "your user name on the code host", _always(None), TEXT),
    Setting("identity.instance", "the code host, for example github.com", _always(None), TEXT),
    Setting("brief.max_tokens", "token budget of a project brief", _always(1500), whole_number(0, 100_000)),
    Setting(
        "brief.subagent_tokens",
        "token budget of a project brief in a subagent's session",
        _always(400),
        whole_number(0, 100_000),
    ),
    Setting(
        "session.lease_seconds",
        "seconds until a silent session counts as ended",
        _always(900),
        whole_number(30, 7 * _DAY_SECONDS),
    ),
    Setting(
        "memory_file", "keep a project's memories in .opencode/MEMORY.md", _always(MemoryFile.ASK), one_of(*MemoryFile)
    ),
    Setting(
        "max_memory_lines", "maximum number of lines in that file; 0 for none", _always(200), whole_number(0, 10_000)
    ),
    Setting("learning.enabled", "learn from sessions and notes", _always(True), FLAG),
    Setting("learning.sources", "sources to learn from", _always(LEARNING_SOURCES), some_of(*LEARNING_SOURCES)),
    Setting("learning.skip_projects", "projects that are excluded from learning", _always(()), TEXTS),
    Setting("learning.watch", "folders of notes to watch", _always(()), TEXTS),
    Setting("learning.opencode_db", "OpenCode's database, if not in its default location", _always(None), FOLDER),
    Setting(
        "learning.poll_seconds", "seconds between two reads of that database", _always(30), whole_number(1, 86_400)
    ),
    Setting(
        "learning.rest_seconds",
        "seconds without a message until a session counts as idle",
        _always(120),
        whole_number(1, 86_400),
    ),
    Setting(
        "learning.digest",
        "let a model of OpenCode digest sessions; ask sends nothing",
        _always(Digest.ASK),
        one_of(*Digest),
    ),
    Setting("learning.digest_url", "OpenAI-compatible server that digests sessions instead", _always(None), URL),
    Setting("learning.digest_model", "model of that server", _always(None), TEXT),
    Setting(
        "learning.digest_key",
        "API key of that server, for example from the environment",
        _always(None),
        KEY,
        secret=True,
    ),
    Setting("learning.digest_key_file", "file that holds that key, with mode 0600", _always(None), FOLDER),
    Setting("learning.digest_calls_per_day", "digests per day", _always(100), whole_number(1, 100_000)),
    Setting(
        "learning.digest_tokens_per_day",
        "tokens of digests per day",
        _always(300_000),
        whole_number(1000, 1_000_000_000),
    ),
    Setting("learning.digest_timeout_seconds", "timeout of a digest", _always(120), whole_number(1, 600)),
    Setting(
        "learning.digest_rest_seconds",
        "seconds without a message until a session is digested",
        _always(600),
        whole_number(1, 86_400),
    ),
    Setting("injection.enabled", "add relevant memories to messages", _always(True), FLAG),
    Setting(
        "injection.max_tokens", "token budget of the memories for a message", _always(2000), whole_number(0, 100_000)
    ),
    Setting("injection.max_results", "maximum number of memories for a message", _always(3), whole_number(1, 100)),
    Setting(
        "injection.subagent_tokens", "token budget in a subagent's session", _always(600), whole_number(0, 100_000)
    ),
    Setting("injection.quotes", "quote an earlier session beside a first message", _always(True), FLAG),
    Setting("compaction.enabled", "add memories to compactions", _always(True), FLAG),
    Setting(
        "compaction.max_tokens",
        "token budget of the memories for a compaction",
        _always(4000),
        whole_number(0, 100_000),
    ),
    Setting("compaction.custom_prompt", "also replace OpenCode's compaction prompt", _always(False), FLAG),
    Setting(
        "opencode.deadline_ms", "milliseconds that OpenCode waits for memories", _always(400), whole_number(20, 10_000)
    ),
    Setting(
        "opencode.first_deadline_ms",
        "milliseconds that a session's first message waits for memories",
        _always(2000),
        whole_number(20, 10_000),
    ),
    Setting("opencode.auditor_model", "model of the auditor, also in loops, as provider/model", _always(None), TEXT),
    Setting("loop.enabled", "allow loops", _always(True), FLAG),
    Setting(
        "loop.max_iterations",
        "coding steps of a loop; 0 for 15, or three for each section of a longer plan",
        _always(0),
        whole_number(0, 1_000_000),
    ),
    Setting("loop.max_hours", "hours that a loop may work", _always(4.0), number(0.01, 1000)),
    Setting(
        "loop.max_tokens",
        "tokens of a loop without cached ones; 0 for no limit",
        _always(5_000_000),
        whole_number(0, 10**12),
    ),
    Setting("loop.max_cost", "cost of a loop in US dollars; 0 for no limit", _always(20.0), number(0, 1_000_000)),
    Setting("loop.audits", "let an auditor review each change of a loop", _always(True), FLAG),
    Setting("loop.min_audits", "clean audits that a loop needs at least", _always(1), whole_number(0, 100)),
    Setting("loop.model", "model that codes in loops, as provider/model", _always(None), TEXT),
    Setting("loop.execution_model", "model that carries out plans, as provider/model", _always(None), TEXT),
    Setting("loop.setup", "command that prepares a worktree, for example npm ci", _always(None), TEXT),
    Setting("loop.copy", "patterns of ignored files to copy into a worktree", _always(()), TEXTS),
    Setting(
        "loop.stall_seconds",
        "seconds without progress until a model in a loop is interrupted",
        _always(600),
        whole_number(10, 86_400),
    ),
    Setting("loop.own_host", "start OpenCode for loops of the command line where none is open", _always(True), FLAG),
    Setting(
        "loop.remove_worktree",
        "remove the worktree of a completed loop if all is committed",
        _always(True),
        FLAG,
    ),
    Setting(
        "loop.keep_days",
        "days after which the records of an ended loop are deleted; 0 for never",
        _always(180),
        whole_number(0, 36_500),
    ),
    Setting("terminal.sidebar", "add a part to OpenCode's sidebar and palette", _always(True), FLAG),
    Setting("terminal.loops", "show plans and loops there", _always(True), FLAG),
    Setting("terminal.memory", "show memories there", _always(True), FLAG),
    Setting("terminal.version", "show the version there", _always(True), FLAG),
    Setting("terminal.toasts", "tell in OpenCode's terminal what was learned", _always(True), FLAG),
    Setting("sandbox.mode", "engine of the sandbox of loops", _always(SandboxMode.OFF), one_of(*SandboxMode)),
    Setting("sandbox.image", "image of a container", _always("ocm-sandbox:latest"), TEXT),
    Setting("sandbox.network", "let commands in the sandbox use the network", _always(False), FLAG),
    Setting("sandbox.folders", "more folders that the sandbox shows, read-only", _always(()), TEXTS),
    Setting("server.host", "address that the server listens on", _always("127.0.0.1"), TEXT, named="HOST"),
    Setting(
        "server.port", "port of the server; 0 for any free port", _always(9824), whole_number(0, 65_535), named="PORT"
    ),
    Setting("server.api_key", "API key that every request must send", _always(None), KEY, named="API_KEY", secret=True),
    Setting(
        "server.rate_limit",
        "requests per minute and session; 0 for no limit",
        _always(600),
        whole_number(0, 1_000_000),
        named="RATE_LIMIT",
    ),
    Setting("server.allowed_hosts", "additional names that the Host header may have", _always(()), TEXTS),
    Setting("server.allowed_origins", "additional origins that browsers may send", _always(()), TEXTS),
    Setting("server.allowed_folders", "additional folders for export, import and ingest", _always(()), TEXTS),
    Setting("server.cross_project", "let clients access other projects than their own", _always(False), FLAG),
    Setting("server.tools", "tools to offer", _always(Tools.ALL), one_of(*Tools)),
    Setting("server.delegate", "let a running server do `recall` and `serve --stdio`", _always(True), FLAG),
    Setting("server.log_format", "format of the log", _always(LogFormat.TEXT), one_of(*LogFormat)),
    Setting("server.log_file", "log file, instead of standard error", _always(None), FOLDER),
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

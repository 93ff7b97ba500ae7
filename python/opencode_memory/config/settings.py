"""Table of all configuration keys, with their purposes, defaults and valid values.

This module also declares the frozen tree that ``config.load`` builds, section by section. It reads no files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.config.paths import default_data_dir
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


class Color(StrEnum):
    """When to color the output."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Tools(StrEnum):
    """Set of tools that a server offers."""

    ALL = "all"
    CORE = "core"


class MemoryFile(StrEnum):
    """Whether a project's memories are also kept in ``.opencode/MEMORY.md``."""

    AUTO = "auto"
    OFF = "off"
    ASK = "ask"


class LogFormat(StrEnum):
    """Format of a server's log."""

    TEXT = "text"
    JSON = "json"


class Digest(StrEnum):
    """Whether a language model digests sessions, and which one of OpenCode's."""

    ASK = "ask"
    SMALL = "small"
    SESSION = "session"
    OFF = "off"


class SandboxMode(StrEnum):
    """Engine of the sandbox of loops."""

    OFF = "off"
    AUTO = "auto"
    BWRAP = "bwrap"
    PODMAN = "podman"
    DOCKER = "docker"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig:
    """Settings of recall: the number of hits."""

    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingConfig:
    """Settings of the bundled model; ``threads`` 0 means one thread for each core."""

    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KvConfig:
    """Default lifetime of values in the key-value store; 0 means forever."""

    default_ttl_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupConfig:
    """Number of backups to keep in the store's own folder; 0 means all."""

    keep: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityConfig:
    """Identity of the user, for the first lines of a boot context; both fields may be None."""

    user: str | None
    instance: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefConfig:
    """Settings of the project brief.

    Attributes:
        max_tokens: Its token budget.
        subagent_tokens: Its token budget in a subagent's session.
    """

    max_tokens: int
    subagent_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig:
    """Seconds after its last sign of life until a session counts as ended."""

    lease_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """Settings of learning from sessions and notes.

    Attributes:
        enabled: Whether to learn at all.
        sources: ``opencode`` (its database), ``live`` (its plugin), ``markdown`` (watched folders), ``manifests`` (the
            fact sheet of a project).
        skip_projects: Projects that are excluded from learning.
        watch: Folders of notes to watch.
        opencode_db: OpenCode's database; None for its default location.
        poll_seconds: Interval between two reads of that database.
        rest_seconds: Seconds without a message after which a session is idle and its pending candidates are written.
        digest: Whether sessions are digested: ``ask`` and ``off`` send nothing, ``small`` uses OpenCode's small model,
            ``session`` that of the session.
        digest_url: Base URL of an OpenAI-compatible server that digests instead of OpenCode's model.
        digest_model: Model of that server.
        digest_key: API key of that server.
        digest_key_file: File that holds the API key, for services without an environment.
        digest_calls_per_day: Maximum number of requests per day.
        digest_tokens_per_day: Maximum number of tokens per day.
        digest_timeout_seconds: Timeout of a request.
        digest_rest_seconds: Seconds without a message after which a session is digested.
    """

    enabled: bool
    sources: tuple[str, ...]
    skip_projects: tuple[str, ...]
    watch: tuple[str, ...]
    opencode_db: Path | None
    poll_seconds: int
    rest_seconds: int
    digest: Digest
    digest_url: str | None
    digest_model: str | None
    digest_key: str | None
    digest_key_file: Path | None
    digest_calls_per_day: int
    digest_tokens_per_day: int
    digest_timeout_seconds: int
    digest_rest_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionConfig:
    """Settings of the block of memories that is added to a message in OpenCode.

    Attributes:
        enabled: Whether to add blocks.
        max_tokens: Token budget of a block.
        max_results: Maximum number of memories in a block, not counting directives.
        subagent_tokens: Token budget of a block in a subagent's session.
        quotes: Whether to quote the user's words of an earlier session beside a session's first message.
    """

    enabled: bool
    max_tokens: int
    max_results: int
    subagent_tokens: int
    quotes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionConfig:
    """Settings of the memories that are added when OpenCode compacts a session.

    Attributes:
        enabled: Whether to add memories.
        max_tokens: Token budget of the memories.
        custom_prompt: Whether to replace OpenCode's prompt for the summary by our own.
    """

    enabled: bool
    max_tokens: int
    custom_prompt: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpencodeConfig:
    """Settings of the plugin in OpenCode.

    Attributes:
        deadline_ms: Maximum time that a hook waits for the server.
        first_deadline_ms: Maximum time that the hooks of a session's first message wait for it together, and that
            OpenCode's start waits for it.
        auditor_model: ``provider/model`` of the auditor; None for OpenCode's default.
    """

    deadline_ms: int
    first_deadline_ms: int
    auditor_model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopConfig:
    """Settings of plans and loops.

    Attributes:
        enabled: Whether loops may be started.
        max_iterations: Limit of coding steps; 0 for 15, or three for each section of a longer plan.
        max_hours: Limit of the time at work.
        max_tokens: Limit of tokens without cached ones; 0 for none.
        max_cost: Limit of the cost in US dollars; 0 for none.
        audits: Whether an auditor reviews each change.
        min_audits: Clean audits that a loop needs at least.
        model: ``provider/model`` that codes in loops; None for the execution model.
        execution_model: ``provider/model`` that carries out plans; None for OpenCode's default.
        setup: Command that prepares a worktree.
        copy: Patterns of ignored files that are copied into a worktree.
        stall_seconds: Seconds without any progress of a model after which it is interrupted.
        own_host: Whether the server may start OpenCode for loops that were started on the command line.
        remove_worktree: Whether the worktree of a completed loop is removed if all is committed.
        keep_days: Days after which the records of an ended loop are deleted; 0 for never.
    """

    enabled: bool
    max_iterations: int
    max_hours: float
    max_tokens: int
    max_cost: float
    audits: bool
    min_audits: int
    model: str | None
    execution_model: str | None
    setup: str | None
    copy: tuple[str, ...]
    stall_seconds: int
    own_host: bool
    remove_worktree: bool
    keep_days: int

    @property
    def default_iterations(self) -> int:
        """Limit of coding steps of a short plan."""
        return 15


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalConfig:
    """Settings of OpenCode's terminal.

    Attributes:
        sidebar: Whether setup adds our part of the terminal: the sidebar, dialogs, and commands in the palette.
        loops: Whether the sidebar shows plans and loops.
        memory: Whether the sidebar shows memories.
        version: Whether its title has the version.
        toasts: Whether a short message tells what was learned.
    """

    sidebar: bool
    loops: bool
    memory: bool
    version: bool
    toasts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxConfig:
    """Settings of the sandbox of loops.

    Attributes:
        mode: The engine; ``auto`` takes the first that works here.
        image: Image of a container.
        network: Whether commands may use the network.
        folders: More folders that commands may read, for example of a toolchain.
    """

    mode: SandboxMode
    image: str
    network: bool
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Settings of the server: its address, access rules, tools and log."""

    host: str
    port: int
    api_key: str | None
    rate_limit: int
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    allowed_folders: tuple[str, ...]
    cross_project: bool
    tools: Tools
    delegate: bool
    log_format: LogFormat
    log_file: Path | None


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
SECTIONS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        "recall": RecallConfig,
        "embedding": EmbeddingConfig,
        "kv": KvConfig,
        "backup": BackupConfig,
        "identity": IdentityConfig,
        "brief": BriefConfig,
        "session": SessionConfig,
        "learning": LearningConfig,
        "injection": InjectionConfig,
        "compaction": CompactionConfig,
        "opencode": OpencodeConfig,
        "loop": LoopConfig,
        "terminal": TerminalConfig,
        "sandbox": SandboxConfig,
        "server": ServerConfig,
    }
)

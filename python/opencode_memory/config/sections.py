"""Sections of the configuration: the frozen tree that ``config.load`` builds, and the values of its choices.

The keys that fill it, with their purposes and defaults, are in ``config.settings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.config.embedding import EmbeddingConfig
from opencode_memory.config.forge import ForgeConfig


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


class Files(StrEnum):
    """Which memories are also kept as one Markdown file each."""

    OFF = "off"
    GLOBAL = "global"
    PROJECT = "project"
    BOTH = "both"


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
        languages: Codes of the languages that are learned from.
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
    languages: tuple[str, ...]
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
        "forge": ForgeConfig,
        "server": ServerConfig,
    }
)

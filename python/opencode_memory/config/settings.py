"""Every key that may be configured: what it does, its default, and what it accepts.

The frozen tree that ``config.load`` builds is declared here too, section by section. Nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.config.paths import default_data_dir
from opencode_memory.config.value_kinds import FLAG, FOLDER, KEY, TEXT, TEXTS, ValueKind, one_of, some_of, whole_number

PREFIX: Final = "OPENCODE_MEMORY_"
LEARNING_SOURCES: Final = ("opencode", "live", "markdown")
_DAY_SECONDS: Final = 86_400


class Color(StrEnum):
    """When output is coloured."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Tools(StrEnum):
    """Which tools a server offers."""

    ALL = "all"
    CORE = "core"


class MemoryFile(StrEnum):
    """Whether a project's memories are kept in ``.opencode/MEMORY.md``."""

    AUTO = "auto"
    OFF = "off"
    ASK = "ask"


class LogFormat(StrEnum):
    """How a server writes its log."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig:
    """How many hits a recall gives."""

    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingConfig:
    """How the bundled model runs; ``threads`` 0 means one for each core."""

    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KvConfig:
    """How long a value of the key-value store lives by default; 0 means for ever."""

    default_ttl_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupConfig:
    """How many backups made without a path are kept; 0 means all."""

    keep: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityConfig:
    """Who the person is, for the first lines of a boot context; both may be None."""

    user: str | None
    instance: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BootConfig:
    """What a boot context holds, and how much of it."""

    max_tokens: int
    max_hot_items: int
    identity: bool
    directives: bool
    habits: bool
    unresolved_blockers: bool
    active_sessions: bool
    hot_items: bool
    recent_decisions: bool
    recent_solutions: bool
    plans: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig:
    """How long a session counts as alive after it was last heard of, in seconds."""

    lease_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """Whether and from what is learned by itself.

    Attributes:
        enabled: The switch for everything.
        sources: ``opencode`` (its database), ``live`` (its plugin), ``markdown`` (watched folders).
        skip_projects: Projects of which nothing is learned.
        watch: Folders of notes that are watched.
        opencode_db: OpenCode's database; None for where OpenCode keeps it.
        poll_seconds: How often that is looked at.
        rest_seconds: After so long without a message a session rests: what waits in it is written.
    """

    enabled: bool
    sources: tuple[str, ...]
    skip_projects: tuple[str, ...]
    watch: tuple[str, ...]
    opencode_db: Path | None
    poll_seconds: int
    rest_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionConfig:
    """What is put beside a message in OpenCode.

    Attributes:
        enabled: The switch.
        max_tokens: Budget of a block.
        max_results: Most memories in a block, directives aside.
        subagent_tokens: Budget in the session of a subagent.
    """

    enabled: bool
    max_tokens: int
    max_results: int
    subagent_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionConfig:
    """What is given to OpenCode when it compacts a session.

    Attributes:
        enabled: The switch.
        max_tokens: Budget of the memories.
        custom_prompt: Whether the request for the summary is ours instead of OpenCode's.
    """

    enabled: bool
    max_tokens: int
    custom_prompt: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpencodeConfig:
    """What the plugin in OpenCode goes by.

    Attributes:
        deadline_ms: How long a hook waits for the server.
        auditor_model: ``provider/model`` of the auditor; None for OpenCode's own choice.
    """

    deadline_ms: int
    auditor_model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """How the server listens, whom it lets in, what it offers, and where it logs."""

    host: str
    port: int
    api_key: str | None
    rate_limit: int
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    allowed_folders: tuple[str, ...]
    cross_project: bool
    tools: Tools
    log_format: LogFormat
    log_file: Path | None


@dataclass(frozen=True, slots=True)
class Setting:
    """A key that may be configured.

    Attributes:
        key: Dotted name in the file; the environment variable follows from it unless ``named`` says otherwise.
        about: What it does, in a few words.
        default: From the environment to the value that holds when nobody sets the key.
        kind: The valid values.
        named: The environment variable without its prefix, where people know it by another name.
        secret: Whether the value is never shown.
    """

    key: str
    about: str
    default: Callable[[Mapping[str, str]], Any]
    kind: ValueKind
    named: str | None = None
    secret: bool = False

    @property
    def variable(self) -> str:
        """Name of the environment variable."""
        return PREFIX + (self.named or self.key.replace(".", "_").upper())

    def read(self, written: Any, environment: Mapping[str, str]) -> Any:
        """Return the value of what was written for the key.

        Raises:
            ValueError: It is invalid; the message describes the valid values.
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
    Setting("project", "project to use instead of the one of the folder", _always(None), TEXT),
    Setting("color", "auto, always or never; NO_COLOR is honoured", _default_color, one_of(*Color)),
    Setting("recall.limit", "hits of a recall", _always(10), whole_number(1, 1000)),
    Setting("embedding.threads", "threads of the embedder, 0 for all cores", _always(0), whole_number(0, 256)),
    Setting(
        "kv.default_ttl_seconds",
        "life of a key-value pair in seconds, 0 for ever",
        _always(7 * _DAY_SECONDS),
        whole_number(0, 10**10),
    ),
    Setting("backup.keep", "backups to keep, 0 for all", _always(10), whole_number(0, 10_000)),
    Setting("identity.user", "your name on the forge", _always(None), TEXT),
    Setting("identity.instance", "host of the forge", _always(None), TEXT),
    Setting("boot.max_tokens", "budget of a boot context", _always(1500), whole_number(200, 100_000)),
    Setting("boot.max_hot_items", "most hot memories in a boot context", _always(5), whole_number(0, 100)),
    Setting("boot.identity", "whether it says who you are", _always(True), FLAG),
    Setting("boot.directives", "whether it holds directives", _always(True), FLAG),
    Setting("boot.habits", "whether it holds conventions and preferences", _always(True), FLAG),
    Setting("boot.unresolved_blockers", "whether it holds unresolved blockers", _always(True), FLAG),
    Setting("boot.active_sessions", "whether it holds active sessions and claims", _always(True), FLAG),
    Setting("boot.hot_items", "whether it holds pinned and hot memories", _always(True), FLAG),
    Setting("boot.recent_decisions", "whether it holds recent decisions", _always(True), FLAG),
    Setting("boot.recent_solutions", "whether it holds recent solutions", _always(True), FLAG),
    Setting("boot.plans", "whether it holds plans", _always(True), FLAG),
    Setting("session.lease_seconds", "life of a silent session", _always(900), whole_number(30, 7 * _DAY_SECONDS)),
    Setting("memory_file", "auto, ask or off: .opencode/MEMORY.md", _always(MemoryFile.ASK), one_of(*MemoryFile)),
    Setting("max_memory_lines", "most lines of that file, 0 for none", _always(200), whole_number(0, 10_000)),
    Setting("learning.enabled", "whether sessions are learned from", _always(True), FLAG),
    Setting("learning.sources", "opencode, live, markdown", _always(LEARNING_SOURCES), some_of(*LEARNING_SOURCES)),
    Setting("learning.skip_projects", "projects of which nothing is learned", _always(()), TEXTS),
    Setting("learning.watch", "folders of notes that are watched", _always(()), TEXTS),
    Setting("learning.opencode_db", "OpenCode's database instead of its own place", _always(None), FOLDER),
    Setting("learning.poll_seconds", "how often that is looked at", _always(30), whole_number(1, 86_400)),
    Setting("learning.rest_seconds", "silence after which a session rests", _always(120), whole_number(1, 86_400)),
    Setting("injection.enabled", "whether memories are put beside messages", _always(True), FLAG),
    Setting("injection.max_tokens", "budget of what is put there", _always(2000), whole_number(0, 100_000)),
    Setting("injection.max_results", "most memories of it", _always(3), whole_number(1, 100)),
    Setting("injection.subagent_tokens", "its budget for subagents", _always(600), whole_number(0, 100_000)),
    Setting("compaction.enabled", "whether memories go into a compaction", _always(True), FLAG),
    Setting("compaction.max_tokens", "budget of what goes there", _always(4000), whole_number(0, 100_000)),
    Setting("compaction.custom_prompt", "whether its prompt is ours, too", _always(False), FLAG),
    Setting("opencode.deadline_ms", "how long OpenCode waits for a memory", _always(400), whole_number(20, 10_000)),
    Setting("opencode.auditor_model", "provider/model of the auditor", _always(None), TEXT),
    Setting("extraction_model", "a model that rewords what was learned", _always(None), TEXT),
    Setting("extraction_url", "base URL of its OpenAI-compatible server", _always(None), TEXT),
    Setting("extraction_key", "its key, from the environment", _always(None), KEY, secret=True),
    Setting("extraction_calls_per_day", "most requests to it in a day", _always(200), whole_number(1, 100_000)),
    Setting(
        "extraction_tokens_per_day", "most tokens of it in a day", _always(200_000), whole_number(1000, 1_000_000_000)
    ),
    Setting("extraction_timeout_seconds", "how long it may take", _always(30), whole_number(1, 600)),
    Setting("server.host", "address that the server binds", _always("127.0.0.1"), TEXT, named="HOST"),
    Setting("server.port", "its port, 0 for any free one", _always(9824), whole_number(0, 65_535), named="PORT"),
    Setting("server.api_key", "key that every request must carry", _always(None), KEY, named="API_KEY", secret=True),
    Setting(
        "server.rate_limit",
        "requests per minute of one session, 0 for no limit",
        _always(600),
        whole_number(0, 1_000_000),
        named="RATE_LIMIT",
    ),
    Setting("server.allowed_hosts", "further names in the Host header", _always(()), TEXTS),
    Setting("server.allowed_origins", "further origins of browsers", _always(()), TEXTS),
    Setting("server.allowed_folders", "further folders for export, import and ingest", _always(()), TEXTS),
    Setting("server.cross_project", "whether a client may name another project", _always(False), FLAG),
    Setting("server.tools", "all or core", _always(Tools.ALL), one_of(*Tools)),
    Setting("server.log_format", "text or json", _always(LogFormat.TEXT), one_of(*LogFormat)),
    Setting("server.log_file", "file of the log instead of standard error", _always(None), FOLDER),
)
BY_KEY: Final = MappingProxyType({setting.key: setting for setting in SETTINGS})
SECTIONS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {
        "recall": RecallConfig,
        "embedding": EmbeddingConfig,
        "kv": KvConfig,
        "backup": BackupConfig,
        "identity": IdentityConfig,
        "boot": BootConfig,
        "session": SessionConfig,
        "learning": LearningConfig,
        "injection": InjectionConfig,
        "compaction": CompactionConfig,
        "opencode": OpencodeConfig,
        "server": ServerConfig,
    }
)

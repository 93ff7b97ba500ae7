"""Table of all keys of ``memory-config.jsonc``: their valid values, their defaults there and their effect here.

A key either sets one of our settings, or has no effect and gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from opencode_memory.config.opencode_manager import embedding
from opencode_memory.config.value_kinds import (
    FLAG,
    KEY,
    LINE,
    MODEL,
    PATH,
    TEXT,
    ValueKind,
    number,
    one_of,
    whole_number,
)

Convert = Callable[[Mapping[str, Any], Path], Any]
"""Converts the values of all keys, with their defaults, and our ``data_dir`` to the value of a setting.

None leaves the setting unchanged.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the file.

    Attributes:
        name: Its dotted name.
        kind: The valid values.
        default: Its default in @opencode-manager/memory.
        meaning: A remark about its effect here, or the reason why it has none.
        setting: The setting that it sets; None if it has no effect.
        convert: Computes the value of that setting.
        is_secret: Whether to hide its value in all output.
        tells_no_effect: Whether to report a value that sets nothing.
    """

    name: str
    kind: ValueKind
    default: Any
    meaning: str
    setting: str | None = None
    convert: Convert | None = None
    is_secret: bool = False
    tells_no_effect: bool = False


def _setting_key(
    setting: str, name: str, kind: ValueKind, default: Any, *, meaning: str = "", convert: Convert | None = None
) -> Key:
    return Key(name, kind, default, meaning, setting, convert or (lambda given, _data_dir: given[name]))


def _server_key(
    name: str,
    kind: ValueKind,
    default: Any,
    convert: Convert,
    meaning: str = embedding.ONLY_SERVERS,
    *,
    setting: str | None = None,
    is_secret: bool = False,
) -> Key:
    return Key(
        f"embedding.{name}",
        kind,
        default,
        meaning,
        f"embedding.{setting or name}",
        convert,
        is_secret=is_secret,
        tells_no_effect=True,
    )


def _is_injected(given: Mapping[str, Any], _data_dir: Path) -> bool:
    return bool(given["memoryInjection.enabled"] and given["messagesTransform.enabled"])


def _log_file(given: Mapping[str, Any], data_dir: Path) -> str | None:
    if not given["logging.enabled"]:
        return None
    return given["logging.file"] or str(data_dir / "server.log")


def _model(name: str) -> Convert:
    return lambda given, _data_dir: given[name] or None


def _ttl_seconds(given: Mapping[str, Any], _data_dir: Path) -> int:
    return -(-int(given["defaultKvTtlMs"]) // 1000)


_TOKENS: Final = whole_number(0, 100_000)
_COUNT: Final = whole_number(0, 1_000_000)
_MILLISECONDS: Final = whole_number(0, 10**13)
_NO_DEBUG: Final = "the log has no debug level"
_NO_MODEL: Final = '`""` leaves the choice to OpenCode'
_ALWAYS_A_LIMIT: Final = "0 is the default limit, because a loop always has one"
_BOTH: Final = "memories are injected only if both keys are true"
_FILE: Final = 'the default file is `server.log` in the folder of the store; `"enabled": false` sets nothing'

KEYS: Final = (
    _server_key("provider", one_of("local", "openai", "voyage"), "local", embedding.provider, embedding.NOT_YET),
    _server_key("model", LINE, "all-MiniLM-L6-v2", embedding.of_server("embedding.model", TEXT)),
    _server_key("dimensions", whole_number(1, 65_536), 384, embedding.dimensions),
    _server_key("baseUrl", LINE, "", embedding.base_url, setting="base_url", is_secret=True),
    _server_key("apiKey", LINE, "", embedding.of_server("embedding.apiKey", KEY), setting="api_key", is_secret=True),
    Key("dataDir", LINE, "~/.local/share/opencode/memory", "the store has its own folder, see `data_dir`"),
    Key(
        "dedupThreshold",
        number(0, 1),
        0.25,
        "a similar memory is not dropped; a newer one replaces it only if both certainly say the same",
    ),
    _setting_key("server.log_file", "logging.enabled", FLAG, False, meaning=_FILE, convert=_log_file),
    Key("logging.debug", FLAG, False, _NO_DEBUG),
    _setting_key("server.log_file", "logging.file", PATH, "", meaning=_FILE, convert=_log_file),
    _setting_key("compaction.custom_prompt", "compaction.customPrompt", FLAG, True),
    _setting_key("compaction.max_tokens", "compaction.maxContextTokens", _TOKENS, 4000),
    _setting_key("injection.enabled", "memoryInjection.enabled", FLAG, True, meaning=_BOTH, convert=_is_injected),
    Key("memoryInjection.debug", FLAG, False, _NO_DEBUG),
    _setting_key("injection.max_results", "memoryInjection.maxResults", whole_number(1, 100), 5),
    Key(
        "memoryInjection.distanceThreshold",
        number(0, 2),
        0.5,
        "relevance combines words and meaning, and is not a distance",
    ),
    _setting_key("injection.max_tokens", "memoryInjection.maxTokens", _TOKENS, 2000),
    Key(
        "memoryInjection.cacheTtlMs",
        _MILLISECONDS,
        30_000,
        "the decision for a message is kept for its whole session",
    ),
    _setting_key("injection.enabled", "messagesTransform.enabled", FLAG, True, meaning=_BOTH, convert=_is_injected),
    Key("messagesTransform.debug", FLAG, False, _NO_DEBUG),
    _setting_key(
        "loop.execution_model", "executionModel", MODEL, "", meaning=_NO_MODEL, convert=_model("executionModel")
    ),
    _setting_key(
        "opencode.auditor_model",
        "auditorModel",
        MODEL,
        "",
        meaning='`""` leaves the choice to OpenCode',
        convert=lambda given, _data_dir: given["auditorModel"] or None,
    ),
    _setting_key(
        "kv.default_ttl_seconds",
        "defaultKvTtlMs",
        whole_number(1, 10**13),
        604_800_000,
        meaning="converted from milliseconds to seconds, rounded up",
        convert=_ttl_seconds,
    ),
    _setting_key("loop.enabled", "loop.enabled", FLAG, True),
    _setting_key("loop.max_iterations", "loop.defaultMaxIterations", _COUNT, 15, meaning=_ALWAYS_A_LIMIT),
    _setting_key(
        "loop.remove_worktree",
        "loop.cleanupWorktree",
        FLAG,
        False,
        meaning="without this key, the worktree of a completed loop is removed if all is committed",
    ),
    _setting_key("loop.audits", "loop.defaultAudit", FLAG, True),
    _setting_key("loop.model", "loop.model", MODEL, "", meaning=_NO_MODEL, convert=_model("loop.model")),
    _setting_key("loop.min_audits", "loop.minAudits", whole_number(0, 100), 1),
    _setting_key(
        "loop.stall_seconds",
        "loop.stallTimeoutMs",
        whole_number(10_000, 86_400_000),
        60_000,
        meaning="converted from milliseconds to seconds",
        convert=lambda given, _data_dir: int(given["loop.stallTimeoutMs"]) // 1000,
    ),
    _setting_key("sandbox.mode", "sandbox.mode", one_of("off", "docker"), "off"),
    _setting_key("sandbox.image", "sandbox.image", LINE, "ocm-sandbox:latest", convert=_model("sandbox.image")),
    _setting_key("terminal.sidebar", "tui.sidebar", FLAG, True),
    _setting_key("terminal.loops", "tui.showLoops", FLAG, True),
    _setting_key("terminal.version", "tui.showVersion", FLAG, True),
)
BY_NAME: Final = MappingProxyType({key.name: key for key in KEYS})

"""Manifest of the plugin: the server's address, the command that starts it, and OpenCode's agents, commands and tools.

The plugin reads the manifest when OpenCode starts, so it needs no server for its start. The manifest contains no
secret: the plugin reads the token from its own file. Each tool is offered once, by MCP or by the plugin.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

import opencode_memory
from opencode_memory.config.load import Config
from opencode_memory.config.paths import default_config_file
from opencode_memory.config.sections import SandboxMode
from opencode_memory.config.setting import PREFIX
from opencode_memory.errors import ConfigError, InvalidInputError
from opencode_memory.hosts.opencode.contract import LOOP_TITLE, LOOP_TOOLS, MCP_NAME, PROTOCOL, TOKEN_FILE
from opencode_memory.hosts.opencode.slash_commands import COMMANDS
from opencode_memory.service.launch import require_interpreter
from opencode_memory.text.addresses import format_url
from opencode_memory.text.suggest import did_you_mean

PLUGIN: Final = "opencode-memory.ts"
MANIFEST: Final = "opencode-memory.json"
_ALWAYS: Final = ("memory-findings", *LOOP_TOOLS)
"""Starts of the names of tools that no MCP tool replaces."""
_AUDITOR: Final = "auditor"
# If a server hangs, OpenCode waits this long twice before the first message, and once for each tool. Its default is
# 30 s.
_MCP_MS: Final = 10_000


class Offer(StrEnum):
    """The side that offers the tools to the model."""

    MCP = "mcp"
    PLUGIN = "plugin"


class OfferedTool(Protocol):
    """Description of a tool for the model."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def about(self) -> str:
        """Its description."""
        ...

    @property
    def input(self) -> Mapping[str, Any]:
        """The JSON schema of its arguments."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Options of the setup that the user chose.

    Attributes:
        agents: Names of agents, in the order of ``AGENTS``.
        tools: The side that offers the tools.
    """

    agents: tuple[str, ...] = ()
    tools: Offer = Offer.MCP


def plugin_files() -> dict[str, str]:
    """Return the plugin's files in this package, text by relative path. The file that OpenCode loads comes first."""
    folder = Path(__file__).parent / "plugin"
    found = sorted(
        (*folder.rglob("*.ts"), *folder.rglob("*.tsx")), key=lambda file: (len(file.relative_to(folder).parts), file)
    )
    return {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in found}


def parse_agents(written: str) -> tuple[str, ...]:
    """Parse a list of agents as the user types it: names with commas, ``all``, or ``none``.

    Raises:
        InvalidInputError: There is no such agent.
    """
    from opencode_memory.hosts.opencode.agents import AGENTS  # noqa: PLC0415  not needed for help

    names = {part.strip().lower() for part in written.split(",") if part.strip()}
    if names == {"all"}:
        return tuple(AGENTS)
    if names == {"none"}:
        return ()
    if not names:
        raise InvalidInputError("--agents is empty; name agents, or write none", field="--agents")
    for name in sorted(names):
        if name not in AGENTS:
            error = InvalidInputError(f"there is no agent {name!r} to choose with --agents", field="--agents")
            error.hint = did_you_mean(name, [*AGENTS, "all", "none"])
            raise error
    return tuple(name for name in AGENTS if name in names)


def read_choices(manifest: str | None) -> Choices:
    """Return the choices in an existing manifest; defaults for missing or invalid ones."""
    from opencode_memory.hosts.opencode.agents import AGENTS  # noqa: PLC0415  as above

    chosen = read_manifest(manifest).get("chosen")
    if not isinstance(chosen, dict):
        return Choices()
    agents, tools = chosen.get("agents"), chosen.get("tools")
    kept = agents if isinstance(agents, list) else []
    return Choices(
        agents=tuple(name for name in AGENTS if name in kept),
        tools=Offer.PLUGIN if tools == Offer.PLUGIN else Offer.MCP,
    )


def read_manifest(manifest: str | None) -> dict[str, Any]:
    """Parse a manifest; empty if it is missing or damaged."""
    try:
        read = json.loads(manifest or "{}")
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def render_manifest(
    config: Config,
    choices: Choices,
    *,
    python: str | None,
    plugin: Mapping[str, str],
    tools: Iterable[OfferedTool],
) -> str:
    """Return the text of the manifest.

    Args:
        config: The configuration.
        choices: The user's choices.
        python: The interpreter of the running program, by its absolute path.
        plugin: Files of the plugin for this manifest.
        tools: Tools of the plugin, which the server runs.

    Raises:
        ConfigError: The configured port is 0, any free port.
        InvalidInputError: The interpreter is unknown.
    """
    url = server_url(config)
    by_mcp = choices.tools is Offer.MCP
    manifest = {
        "version": opencode_memory.__version__,
        "protocol": PROTOCOL,
        "plugin_sha256": digest("".join(f"{name}\0{text}\0" for name, text in sorted(plugin.items()))),
        "start": start_command(config, python=require_interpreter(python)),
        "url": url,
        "token_file": str(config.data_dir / TOKEN_FILE),
        "deadline_ms": config.opencode.deadline_ms,
        "first_deadline_ms": config.opencode.first_deadline_ms,
        "mcp": {"name": MCP_NAME, "config": _render_mcp(url)} if by_mcp else None,
        "command": _render_commands(choices.agents),
        "agent": _render_agents(config, choices.agents),
        "hidden_agent": _hidden_agents(),
        "loop_title": LOOP_TITLE,
        "shell": None if config.sandbox.mode is SandboxMode.OFF else str(config.data_dir / "shell" / "bash"),
        "tool": _render_tools(tools, by_mcp=by_mcp, with_loops=config.loop.enabled),
        "chosen": {"agents": choices.agents, "tools": choices.tools},
    }
    return json.dumps(manifest, ensure_ascii=False, indent=2, default=_to_plain) + "\n"


def server_url(config: Config) -> str:
    """Return the address of the configured server for clients on this machine.

    Raises:
        ConfigError: The configured port is 0, any free port, which is unknown until the server runs.
    """
    if config.server.port == 0:
        error = ConfigError(
            "server.port is 0 (any free port), but OpenCode needs a fixed port",
            key="server.port",
            origin=config.origins["server.port"],
        )
        error.hint = "opencode-memory config set server.port 9824"
        raise error
    return format_url(config.server.host, config.server.port)


def start_command(config: Config, *, python: str) -> list[str]:
    """Return the command that starts the server in the background at the manifest's address, from any folder."""
    # Without -P, a file in the repository where OpenCode runs could replace a module.
    command = [python, "-P", "-m", "opencode_memory.cli", "serve", "--detach"]
    if config.file != default_config_file(config.environment):
        command = ["/usr/bin/env", f"{PREFIX}CONFIG={config.file}", *command]
    return [
        *command,
        *("--data-dir", str(config.data_dir)),
        *("--host", config.server.host),
        *("--port", str(config.server.port)),
    ]


def digest(text: str) -> str:
    """Return the hash that identifies a file's content."""
    return hashlib.sha256(text.encode()).hexdigest()


def _render_mcp(url: str) -> dict[str, Any]:
    # This route offers the core tools only. Further tools would cost tokens in every request.
    return {"type": "remote", "url": f"{url}/mcp/opencode", "oauth": False, "timeout": _MCP_MS}


def _render_commands(agents: Iterable[str]) -> dict[str, Any]:
    commands = {name: dict(command) for name, command in COMMANDS.items()}
    if _AUDITOR in agents:
        commands["review"]["agent"] = _AUDITOR
    return commands


def _render_agents(config: Config, names: Iterable[str]) -> dict[str, Any]:
    # The plugin refuses shell lines that OpenCode's rules miss, so the read-only agents get a shell.
    from opencode_memory.hosts.opencode.agents import with_reading_shell  # noqa: PLC0415  as above

    known = with_reading_shell()
    agents = {name: known[name] for name in names}
    if config.opencode.auditor_model is not None and _AUDITOR in agents:
        agents[_AUDITOR]["model"] = config.opencode.auditor_model
    return agents


def _hidden_agents() -> Mapping[str, Any]:
    from opencode_memory.hosts.opencode.agents import HIDDEN  # noqa: PLC0415  as above

    return HIDDEN


def _render_tools(tools: Iterable[OfferedTool], *, by_mcp: bool, with_loops: bool) -> dict[str, Any]:
    # Tools for plans and loops cost tokens in each request, so the user can leave them out.
    return {
        tool.name: {"description": tool.about, "args": tool.input}
        for tool in tools
        if (not by_mcp or tool.name.startswith(_ALWAYS)) and (with_loops or not tool.name.startswith(LOOP_TOOLS))
    }


def _to_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written to a manifest")

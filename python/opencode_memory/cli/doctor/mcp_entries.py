"""Checks OpenCode's own configuration for an MCP server of the user with the same name as ours.

The files are only read. An unreadable file is ignored, because OpenCode itself reports it at startup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from opencode_memory.cli.context import Invocation
from opencode_memory.cli.doctor.checks import Check, Level
from opencode_memory.config.opencode_manager.file import read_bounded
from opencode_memory.config.opencode_manager.parse import Members, parse
from opencode_memory.hosts.opencode import paths
from opencode_memory.hosts.opencode.manifest import read_manifest
from opencode_memory.hosts.opencode.setup.plan import installed_manifest

_FILES: Final = ("opencode.json", "opencode.jsonc")
_OURS: Final = "opencode-memory"


def check_mcp_entries(run: Invocation, installed: Iterable[Path]) -> Iterator[Check]:
    """Report an MCP server of the user that keeps OpenCode from adding ours.

    Args:
        run: The invocation, whose folder is OpenCode's working folder.
        installed: Configuration folders that contain the plugin.
    """
    for place in installed:
        offered = read_manifest(installed_manifest(place)).get("mcp")
        if not isinstance(offered, Mapping):
            continue
        for file in _config_files(run):
            servers = _read_servers(file)
            # If the user already configured our server (same URL or command), OpenCode uses that entry, so no tools
            # are missing.
            if any(_is_ours(offered, server) for server in servers.values()):
                return
            if offered.get("name") in servers:
                text = f"{file} has another MCP server named {offered['name']!r}, so our tools are not available"
                yield Check("mcp", Level.NOTE, text, "opencode-memory setup --tools plugin; or rename that server")
                return


def _config_files(run: Invocation) -> Iterator[Path]:
    environment = run.config.environment
    tree = paths.work_tree_of(run.folder)
    above = [folder for folder in (run.folder, *run.folder.parents) if folder.is_relative_to(tree)]
    if environment.get("OPENCODE_CONFIG"):
        yield Path(environment["OPENCODE_CONFIG"]).absolute()
    for folder in dict.fromkeys((*paths.folders_read(environment, run.folder), *above)):
        yield from (folder / name for name in _FILES)


def _read_servers(file: Path) -> Mapping[str, Any]:
    try:
        content = read_bounded(file)
        try:
            read = json.loads(content)
        except ValueError:
            # Parse comments only if necessary, because that takes a hundred times as long.
            read = _to_plain_dict(parse(content))
    except (OSError, ValueError, RecursionError):
        return {}
    servers = read.get("mcp") if isinstance(read, dict) else None
    return servers if isinstance(servers, dict) else {}


def _is_ours(offered: Mapping[str, Any], server: Any) -> bool:
    """Return whether an entry is our server, by the same rules as the plugin."""
    config = offered.get("config")
    url = str(config.get("url", "")) if isinstance(config, Mapping) else ""
    if not isinstance(server, dict):
        return False
    # The entry may use any name of this machine.
    address = re.compile(rf"https?://[^/]+:{urlsplit(url).port}/mcp")
    return bool(address.match(str(server.get("url")))) or _OURS in json.dumps(server.get("command", ""))


def _to_plain_dict(value: Any) -> Any:
    return {member.name: _to_plain_dict(member.value) for member in value} if isinstance(value, Members) else value

"""Writes what names the home of the repository, which only the release knows: the workflow's ``GITHUB_REPOSITORY``.

    python scripts/release_metadata.py stamp            # before a build: links of the project, mark for the registry
    python scripts/release_metadata.py server server.json

``stamp`` changes ``pyproject.toml`` and ``README.md`` of the working tree, which is not committed. The MCP registry
accepts an entry only if the description of the package on the index, which is the README, has the mark.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
DESCRIPTION: Final = "Long-term memory for coding agents: one local file, found by words and by meaning, no network"
"""At most 100 characters, as the registry demands."""
_SERVER: Final = "opencode-memory"
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+")


def name_server(repository: str) -> str:
    """Return the name in the registry, below the namespace that the owner of the repository can prove.

    >>> name_server("jo/opencode-memory")
    'io.github.jo/opencode-memory'
    """
    return f"io.github.{repository.partition('/')[0]}/{_SERVER}"


def describe_server(repository: str, version: str, *, distribution: str) -> dict[str, Any]:
    """Return the entry of the MCP registry.

    Args:
        repository: Owner and name on GitHub.
        version: Version of the release.
        distribution: Name of the package on the index.
    """
    return {
        "$schema": SCHEMA,
        "name": name_server(repository),
        "title": "opencode-memory",
        "description": DESCRIPTION,
        "version": version,
        "repository": {"url": f"https://github.com/{repository}", "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": distribution,
                "version": version,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "value": "serve"},
                    {"type": "positional", "value": "--stdio"},
                ],
            }
        ],
    }


def add_links(project: str, repository: str) -> str:
    """Return the text of ``pyproject.toml`` with links to the repository.

    Raises:
        ValueError: It has links already.
    """
    if "urls" in tomllib.loads(project)["project"]:
        raise ValueError("pyproject.toml has links already")
    home = f"https://github.com/{repository}"
    links = {
        "Homepage": home,
        "Documentation": f"{home}/tree/main/docs",
        "Issues": f"{home}/issues",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
    }
    lines = [f'{name} = "{url}"' for name, url in links.items()]
    return project.replace("[project.scripts]", "\n".join(["[project.urls]", *lines, "", "[project.scripts]"]), 1)


def add_mark(readme: str, repository: str) -> str:
    """Return the text of the README with the mark that proves to the registry who owns the package."""
    return f"{readme.rstrip()}\n\n<!-- mcp-name: {name_server(repository)} -->\n"


def read_version(cargo: str) -> str:
    """Return the version of the workspace, which the wheel has as well."""
    version: str = tomllib.loads(cargo)["workspace"]["package"]["version"]
    return version


def main(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repository", default=os.environ.get("GITHUB_REPOSITORY", ""), help="owner/name on GitHub")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("stamp", help="change pyproject.toml and README.md")
    commands.add_parser("server", help="write the entry of the MCP registry").add_argument("file", type=Path)
    options = parser.parse_args(arguments)
    if not _REPOSITORY.fullmatch(options.repository):
        parser.error("--repository or GITHUB_REPOSITORY must be owner/name")
    project, readme = ROOT / "pyproject.toml", ROOT / "README.md"
    if options.command == "stamp":
        project.write_text(add_links(project.read_text(encoding="utf-8"), options.repository), encoding="utf-8")
        readme.write_text(add_mark(readme.read_text(encoding="utf-8"), options.repository), encoding="utf-8")
        return 0
    distribution: str = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["name"]
    version = read_version((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    entry = describe_server(options.repository, version, distribution=distribution)
    options.file.write_text(json.dumps(entry, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Configuration folders of OpenCode: where it looks for plugins and settings. This module opens no file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from opencode_memory.config.paths import default_config_file
from opencode_memory.projects.identity import find_repository

PROJECT_FOLDER: Final = ".opencode"


def own_folder(environment: Mapping[str, str]) -> Path:
    """Return the configuration folder that OpenCode always reads, and creates if it is missing."""
    return default_config_file(environment).parent.parent / "opencode"


def global_folder(environment: Mapping[str, str]) -> Path:
    """Return the configuration folder for all projects: ``$OPENCODE_CONFIG_DIR``, or OpenCode's own."""
    chosen = environment.get("OPENCODE_CONFIG_DIR")
    return Path(chosen).absolute() if chosen else own_folder(environment)


def work_tree_of(folder: Path) -> Path:
    """Return the work tree that contains a folder; outside a repository the folder itself."""
    repository = find_repository(folder)
    return repository.work_tree if repository is not None else folder


def project_folder(folder: Path) -> Path:
    """Return the configuration folder of one project."""
    return work_tree_of(folder) / PROJECT_FOLDER


def folders_read(environment: Mapping[str, str], folder: Path) -> tuple[Path, ...]:
    """Return the configuration folders that OpenCode reads when it starts in a folder.

    OpenCode runs npm in each of them. Missing folders are left out, except OpenCode's own, which it creates.
    """
    # OpenCode walks up to the top of the work tree; outside a repository, to the root of the file system.
    repository = find_repository(folder)
    found = [own_folder(environment)]
    if not environment.get("OPENCODE_DISABLE_PROJECT_CONFIG"):
        for place in (folder, *folder.parents):
            found.append(place / PROJECT_FOLDER)
            if repository is not None and place == repository.work_tree:
                break
    found.append(Path(environment.get("HOME", "/")) / PROJECT_FOLDER)
    found.append(global_folder(environment))
    # Not Path.is_dir, which raises an error if the user may not read a folder above.
    return tuple(dict.fromkeys(place for place in found if place == found[0] or os.path.isdir(place)))  # noqa: PTH112

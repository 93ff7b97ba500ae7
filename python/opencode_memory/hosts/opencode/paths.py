"""Where OpenCode looks for plugins, and which folders it reads when it starts somewhere; nothing is opened here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from opencode_memory.config.paths import default_config_file
from opencode_memory.projects.identity import find_repository

PROJECT_FOLDER: Final = ".opencode"


def own_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of configuration that OpenCode always reads, and makes where it is missing."""
    return default_config_file(environment).parent.parent / "opencode"


def global_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of configuration for every project: ``$OPENCODE_CONFIG_DIR``, or OpenCode's own."""
    chosen = environment.get("OPENCODE_CONFIG_DIR")
    return Path(chosen).absolute() if chosen else own_folder(environment)


def work_tree_of(folder: Path) -> Path:
    """Return the work tree that a folder lies in, or the folder itself outside a repository."""
    repository = find_repository(folder)
    return repository.work_tree if repository is not None else folder


def project_folder(folder: Path) -> Path:
    """Return the folder of configuration for one project."""
    return work_tree_of(folder) / PROJECT_FOLDER


def folders_read(environment: Mapping[str, str], folder: Path) -> tuple[Path, ...]:
    """Return the folders of configuration that OpenCode reads when it starts in a folder.

    OpenCode sees to it that npm has been in each of them. Folders that are not there are left out, but for its own,
    which it makes.
    """
    # It goes up to the work tree, and outside a repository to the top.
    repository = find_repository(folder)
    found = [own_folder(environment)]
    if not environment.get("OPENCODE_DISABLE_PROJECT_CONFIG"):
        for place in (folder, *folder.parents):
            found.append(place / PROJECT_FOLDER)
            if repository is not None and place == repository.work_tree:
                break
    found.append(Path(environment.get("HOME", "/")) / PROJECT_FOLDER)
    found.append(global_folder(environment))
    # Not Path.is_dir: a folder above may be one that nobody may look into.
    return tuple(dict.fromkeys(place for place in found if place == found[0] or os.path.isdir(place)))  # noqa: PTH112

"""Facts of JavaScript and TypeScript projects, from ``package.json`` and lock files."""

from __future__ import annotations

from typing import Any, Final

from opencode_memory.notes.fact_sheet.facts import Facts, ProjectFiles, pick_commands, to_line, to_mapping, to_name

_LOCK_FILES: Final = (
    ("pnpm", ("pnpm-lock.yaml", "pnpm-workspace.yaml")),
    ("yarn", ("yarn.lock",)),
    ("bun", ("bun.lock", "bun.lockb")),
    ("npm", ("package-lock.json", "npm-shrinkwrap.json")),
)
_MANAGERS: Final = frozenset(name for name, _ in _LOCK_FILES)


def read_javascript(files: ProjectFiles) -> Facts | None:
    """Return the facts of ``package.json``; None if there is none."""
    if not files.has("package.json"):
        return None
    manifest = files.json("package.json")
    manager = _find_manager(files, manifest.get("packageManager"))
    run = f"{manager or 'npm'} run"
    # "test" is no useful command while it is the default of `npm init`, which always fails.
    scripts = {
        name for name, line in to_mapping(manifest.get("scripts")).items() if "no test specified" not in str(line)
    }
    return Facts(
        language="TypeScript" if files.has("tsconfig.json") else "JavaScript",
        name=to_name(manifest.get("name")),
        purpose=to_line(manifest.get("description")),
        manager=manager,
        commands=dict(pick_commands(scripts, run)) | ({"run": f"{run} dev"} if "dev" in scripts else {}),
    )


def _find_manager(files: ProjectFiles, declared: Any) -> str:
    name = declared.split("@")[0] if isinstance(declared, str) else ""
    if name in _MANAGERS:
        return name
    return next((manager for manager, names in _LOCK_FILES if files.has(*names)), "")

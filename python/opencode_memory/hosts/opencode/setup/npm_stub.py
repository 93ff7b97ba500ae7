"""Stub of an npm installation, which keeps OpenCode from waiting for npm when it starts.

If OpenCode 1.x finds any plugin, it waits until npm has installed ``@opencode-ai/plugin`` into every configuration
folder that it reads. That takes 63 MB each, and more than a minute if no registry answers. OpenCode skips the
installation if ``node_modules`` exists and the lock file lists every package, so the setup creates a stub of both. A
stub is valid only if no file in the folder imports a package, and only if npm never ran there. The user's files are
never touched.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

_PACKAGE: Final = "@opencode-ai/plugin"
MODULES: Final = "node_modules"
_NEEDED: Final = {"dependencies": {_PACKAGE: "*"}}
NPM_FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "package.json": json.dumps(_NEEDED, indent=2) + "\n",
        "package-lock.json": json.dumps({"lockfileVersion": 3, "packages": {"": _NEEDED}}, indent=2) + "\n",
    }
)
IGNORE_FILE: Final = ".gitignore"
# The same bytes that OpenCode writes if the file is missing. If the setup writes it, the setup may remove it.
IGNORE_TEXT: Final = "node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore"
_CODE: Final = ("plugin", "plugins", "tool", "tools")
_SUFFIXES: Final = frozenset({".ts", ".js"})
_MAX_BYTES: Final = 1 << 20
_NAMED: Final = re.compile(
    r"""\b(from|import)\s*["']([^"'\n]+)["']|\b(?:import|require)\s*\(\s*["']([^"'\n]+)["']\s*\)"""
)
# `import type` is erased at run time.
_TYPES_ONLY: Final = re.compile(r"(?:import|export)\s+type\b")
_MAX_STATEMENT: Final = 4000
# A path, a URL or a module of Bun is not a package.
_NO_PACKAGE: Final = re.compile(r"[./]|[a-z]+:|bun$")
_BUILT_IN: Final = frozenset(
    [
        "assert",
        "async_hooks",
        "buffer",
        "child_process",
        "cluster",
        "console",
        "constants",
        "crypto",
        "dgram",
        "diagnostics_channel",
        "dns",
        "domain",
        "events",
        "fs",
        "http",
        "http2",
        "https",
        "inspector",
        "module",
        "net",
        "os",
        "path",
        "perf_hooks",
        "process",
        "punycode",
        "querystring",
        "readline",
        "repl",
        "stream",
        "string_decoder",
        "sys",
        "test",
        "timers",
        "tls",
        "trace_events",
        "tty",
        "url",
        "util",
        "v8",
        "vm",
        "wasi",
        "worker_threads",
        "zlib",
    ]
)


class Stub(StrEnum):
    """State of the npm stub in a folder."""

    MISSING = "missing"
    """OpenCode would wait, and a stub prevents it."""
    PRESENT = "present"
    """A valid stub exists."""
    WRONG = "wrong"
    """A stub exists, but a file in the folder needs the packages."""
    NOT_OURS = "not_ours"
    """The user or npm manages the folder; ``explain_wait`` tells whether OpenCode would wait."""


def check_stub(folder: Path) -> Stub:
    """Return the state of the stub in a folder, which need not exist."""
    written = {name: _is_stub(folder / name, text) for name, text in NPM_FILES.items() if _is_there(folder / name)}
    modules = folder / MODULES
    if not all(written.values()) or (_is_there(modules) and not (written and _is_empty(modules))):
        return Stub.NOT_OURS
    needs = next(imported_packages(folder), None) is not None
    if written:
        complete = len(written) == len(NPM_FILES) and _is_there(modules)
        return Stub.WRONG if needs else Stub.PRESENT if complete else Stub.MISSING
    return Stub.NOT_OURS if needs else Stub.MISSING


def explain_wait(folder: Path) -> str | None:
    """Return why OpenCode would wait for npm in a folder; None if it would not.

    This is OpenCode's own rule. It compares the packages in ``package.json`` with those in the lock file.
    """
    if not os.access(folder, os.W_OK) and folder.exists():
        return None
    if not (folder / MODULES).exists():
        importing = next(imported_packages(folder), None)
        return f"{importing[0].name} imports {importing[1]}" if importing else "no packages are installed there"
    locked = _packages(read_object(folder / "package-lock.json").get("packages", {}))
    wanted = _dependencies(read_object(folder / "package.json")) | {_PACKAGE}
    missing = sorted(wanted - locked)
    return f"package-lock.json does not list {missing[0]}" if missing else None


def imported_packages(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files in a configuration folder that import an npm package, with the package's name."""
    for kind in _CODE:
        try:
            # A project may come from a stranger's archive. Opening a FIFO among its files would block.
            files = sorted(file for file in (folder / kind).iterdir() if file.suffix in _SUFFIXES and file.is_file())
        except OSError:
            continue
        for file in files:
            try:
                with file.open(encoding="utf-8", errors="replace") as opened:
                    source = opened.read(_MAX_BYTES)
            except OSError:
                continue
            if package := _first_package(source):
                yield file, package


def read_object(file: Path) -> dict[str, Any]:
    """Read a JSON object from a file; empty if the file is missing or damaged, or no regular file."""
    try:
        read = json.loads(file.read_bytes()) if file.is_file() else None
    except (OSError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _first_package(source: str) -> str | None:
    for match in _NAMED.finditer(source):
        name = match[2] or match[3]
        if _NO_PACKAGE.match(name) or name.split("/")[0] in _BUILT_IN:
            continue
        if match[3] is not None or _is_statement(source[max(0, match.start() - _MAX_STATEMENT) : match.end(1)]):
            return name
    return None


def _is_statement(text: str) -> bool:
    """Return whether a text ends with an import or export statement, up to the name, of more than types."""
    begin = max(text.rfind("import"), text.rfind("export"))
    statement, line = text[begin:], text[:begin].rpartition("\n")[2].strip()
    if begin < 0 or (line and line[-1] not in ";}") or any(sign in statement for sign in "\"';"):
        return False
    return not _TYPES_ONLY.match(statement)


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _is_stub(file: Path, text: str) -> bool:
    try:
        return not file.is_symlink() and file.is_file() and file.read_bytes() == text.encode()
    except OSError:
        return False


def _is_empty(folder: Path) -> bool:
    try:
        return not folder.is_symlink() and not any(folder.iterdir())
    except OSError:
        return False


def _packages(packages: Any) -> set[str]:
    return _dependencies(packages.get("") if isinstance(packages, dict) else None)


def _dependencies(package: Any) -> set[str]:
    if not isinstance(package, dict):
        return set()
    kinds = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
    return {name for kind in kinds if isinstance(package.get(kind), dict) for name in package[kind]}

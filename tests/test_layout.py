"""The layout of the code: which package may import which, and which library is used where."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / "python"
CORE = ROOT / "rust" / "core" / "src"
EMBED = ROOT / "rust" / "embed" / "src"
PACKAGE = "opencode_memory"
LEVELS = (
    ("platform",),
    ("errors", "models", "entities", "files", "demo"),
    ("text", "http_client"),
    ("config",),
    ("embedding",),
    ("store", "service", "resident"),
    ("forges", "learning", "maintenance", "plans", "projects"),
    ("context", "hosts", "notes", "reviews"),
    ("loops", "memory_file"),
    ("exchange", "mirror"),
    ("server",),
    ("worker",),
    ("cli",),
)
"""Packages from the lowest to the highest; a package imports only from lower levels."""
_POSIX = r"platform/|loops/(?:command|left_over|own_host|sandbox/engines|stale_locks)\.py"
"""Loops run on Linux and macOS only."""
TOP_MODULES = {"__init__", "errors"}
"""Modules outside of any package: the public values, and nothing else."""


def name_of(file: Path) -> str:
    """Return the dotted name of a module."""
    return ".".join(file.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, Path]:
    return {name_of(file): file for file in (PYTHON / PACKAGE).rglob("*.py")}


def imports(file: Path) -> Iterator[str]:
    """Return the modules of the package that a module imports, anywhere in it and also for types alone."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                target = f"{node.module}.{alias.name}"
                target = target if target in modules() else node.module
                if target in modules():
                    yield target


@cache
def graph() -> dict[str, frozenset[str]]:
    return {name: frozenset(imports(file)) - {name} for name, file in modules().items()}


def package_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def circle(graph: dict[str, frozenset[str]]) -> list[str]:
    """Return the modules of one circle of imports; empty if there is none."""
    done: set[str] = set()
    path: list[str] = []

    def visit(module: str) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        path.append(module)
        for target in sorted(graph[module]):
            if found := visit(target):
                return found
        done.add(path.pop())
        return []

    return next((found for module in sorted(graph) if (found := visit(module))), [])


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(graph()) == []


def test_a_circle_is_found() -> None:
    a, b, c = frozenset("b"), frozenset("c"), frozenset("b")
    assert circle({"a": a, "b": b, "c": c}) == ["b", "c", "b"]


_NAMES = r"(?:crate|super|self)(?:::(?:\w+|\{(?:[^{}]|\{[^{}]*\})*\}))+"
"""A path in Rust; a list in braces may hold a list."""


def expand(path: str) -> Iterator[list[str]]:
    """Return the names of each path that a path with lists in braces stands for."""
    before, brace, rest = path.partition("{")
    if not brace:
        yield [name.strip() for name in path.split(" as ", maxsplit=1)[0].split("::")]
        return
    for part in re.findall(r"(?:[^{},]|\{[^{}]*\})+", rest.removesuffix("}")):
        yield from expand(before + part.strip())


def rust_files() -> dict[tuple[str, ...], Path]:
    """Return the files of the engine by the names of their modules, without those that only join a folder."""
    files = (file for file in CORE.rglob("*.rs") if file.stem not in {"mod", "lib"})
    return {file.relative_to(CORE).with_suffix("").parts: file for file in files}


def rust_graph() -> dict[str, frozenset[str]]:
    """Return which files of the engine name which others, outside of their tests."""
    files = rust_files()
    found: dict[str, frozenset[str]] = {}
    for module, file in files.items():
        code, _, _ = file.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests")
        code = re.sub("//.*", "", code)
        targets: set[str] = set()
        for names in (names for path in re.findall(_NAMES, code) for names in expand(path)):
            up = names.count("super")
            begin = () if names[0] == "crate" else module[: len(module) - up]
            whole = (*begin, *(name for name in names if name not in {"crate", "super", "self"}))
            targets |= {"/".join(whole[:end]) for end in range(1, len(whole) + 1) if whole[:end] in files}
        found["/".join(module)] = frozenset(targets - {"/".join(module)})
    return found


def test_no_files_of_the_engine_use_each_other_in_a_circle() -> None:
    assert circle(rust_graph()) == []


def test_the_files_that_a_file_uses_are_found() -> None:
    assert list(expand("super::{a::{B, C}, d}")) == [["super", "a", "B"], ["super", "a", "C"], ["super", "d"]]
    uses = rust_graph()
    assert {"index/exact", "index/signs"} <= uses["index/slab"]
    assert {"store/files", "store/schema", "platform/posix"} & uses["store/open"] == {"store/files", "store/schema"}


def test_every_package_has_a_level() -> None:
    packages = {package_of(module) for module in modules()} - {"__init__"}
    assert packages == {package for level in LEVELS for package in level}


def test_packages_import_only_from_lower_levels() -> None:
    level = {package: number for number, packages in enumerate(LEVELS) for package in packages}
    wrong = [
        f"{module} imports {target}"
        for module, targets in graph().items()
        for target in targets
        if package_of(module) != package_of(target)
        and "__init__" not in (package_of(module), package_of(target))
        and level[package_of(target)] >= level[package_of(module)]
    ]
    assert wrong == []


def test_only_public_values_stand_outside_of_packages() -> None:
    assert {file.stem for file in (PYTHON / PACKAGE).glob("*.py")} == TOP_MODULES


@pytest.mark.parametrize(
    ("pattern", "root", "allowed"),
    [
        (r"(?<!`)\bos\.environ\b", PYTHON, r"config/load\.py"),
        (
            r"^(?:import|from) (?:fcntl|grp|msvcrt|pwd|resource|termios)\b|\bos\.(?:fchmod|get(?:e?[ug]id)|kill|replace)\(",
            PYTHON,
            _POSIX,
        ),
        (r"\bclick\.echo\b", PYTHON, r"cli/"),
        (r"\bdatetime\.now\(|\btime\.time\(", PYTHON, r"text/clock\.py"),
        (r"\brusqlite::", CORE, r"store/|error\.rs"),
        (r"\btantivy::", CORE, r"index/lexical/"),
        (r"\busearch::", CORE, r"index/graph/build\.rs"),
        (r"\bpyo3::", CORE, r"(?!)"),
        (r"\bSystemTime::now\(", CORE, r"clock\.rs"),
        (r"\bstd::env::", CORE, r"(?!)"),
        (r"\b(?:memmap2|safetensors)::", EMBED, r"weights\.rs"),
        (r"\b(?:opencode_memory_core|pyo3|std::env)::", EMBED, r"(?!)"),
    ],
)
def test_a_library_is_used_only_where_it_belongs(pattern: str, root: Path, allowed: str) -> None:
    base = root / PACKAGE if root == PYTHON else root
    users = {
        file.relative_to(base).as_posix()
        for file in base.rglob("*.py" if root == PYTHON else "*.rs")
        if re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert [user for user in sorted(users) if not re.match(allowed, user)] == []

"""The guard of tools that work outside of the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opencode_memory.loops.sandbox import find_refusal


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / ".git").write_text("gitdir: x")
    (tree / "a.py").write_text("x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("s3cret")
    (tree / "out").symlink_to(tmp_path / "outside")
    (tree / "file").symlink_to(tmp_path / "outside" / "secret")
    (tree / "near").symlink_to(tree / "src")
    (tree / "hidden").symlink_to(tree / ".git")
    (tree / "tree2").symlink_to("..")
    return tree


def refused(tree: Path, tool: str, *, network: bool = False, **arguments: Any) -> bool:
    return find_refusal(tool, arguments, tree, network=network) is not None


@pytest.mark.parametrize("tool", ["read", "write", "edit", "multiedit", "list", "grep", "lsp"])
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../outside/secret",
        "out/secret",
        "out/new",
        "out/new/deep",
        "file",
        "src/../../outside/secret",
        "near/../../outside/new",
        "tree2/outside/secret",
        "~/.ssh/id_rsa",
        "a\0b",
        "/proc/self/environ",
        "/proc/self/cwd/../outside/secret",
    ],
)
def test_path_that_leads_outside_is_refused(tree: Path, tool: str, path: str) -> None:
    assert refused(tree, tool, filePath=path)
    assert refused(tree, tool, path=path)


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/hooks/post-commit",
        "hidden",
        "src/.git/config",
        ".GIT",
        ".opencode/plugin/x.ts",
        "opencode.json",
        "OpenCode.jsonc",
    ],
)
def test_files_of_git_and_of_opencode_are_not_written(tree: Path, path: str) -> None:
    assert refused(tree, "write", filePath=path)
    assert refused(tree, "edit", filePath=path)
    assert refused(tree, "apply_patch", patchText=f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch")


@pytest.mark.parametrize("path", ["a.py", "src/new.py", "near/new.py", "new/deep/file.py", "./a.py", ".gitignore", ""])
def test_files_of_the_worktree_are_free(tree: Path, path: str) -> None:
    assert not refused(tree, "read", filePath=path)
    assert not refused(tree, "write", filePath=path)
    assert not refused(tree, "edit", filePath=str(tree / path))


def test_patches_are_judged_file_by_file(tree: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n+x\n*** Move to: {}\n*** End Patch"
    assert not refused(tree, "apply_patch", patchText=patch.format("src/a.py"))
    assert refused(tree, "apply_patch", patchText=patch.format("../outside/a.py"))


@pytest.mark.parametrize("pattern", ["/etc/*", "../**/*", "out/*", "/{etc,root}/*"])
def test_patterns_that_lead_outside_are_refused(tree: Path, pattern: str) -> None:
    assert refused(tree, "glob", pattern=pattern)


def test_usual_tools_are_free_and_unknown_ones_refused(tree: Path) -> None:
    assert not refused(tree, "glob", pattern="**/*.py")
    assert not refused(tree, "grep", pattern="x", path="src")
    assert not refused(tree, "bash", command="cat /etc/passwd", workdir="src")
    assert refused(tree, "bash", command="ls", workdir="/etc")
    for tool in ("todowrite", "task", "memory-findings", "memory_recall"):
        assert not refused(tree, tool)
    for tool in ("deploy", "browser_navigate", "write_file", "webfetch", "websearch"):
        assert refused(tree, tool)
    assert not refused(tree, "webfetch", network=True)


def test_long_outputs_of_tools_can_be_read_but_not_written(tree: Path, tmp_path: Path) -> None:
    output = tmp_path / "data" / "opencode" / "tool-output" / "tool_1"
    output.parent.mkdir(parents=True)
    output.write_text("long")
    assert not refused(tree, "read", filePath=str(output))
    assert refused(tree, "write", filePath=str(output))

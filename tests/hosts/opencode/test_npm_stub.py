"""Detection of folders where OpenCode would wait for npm, and where a stub is valid."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.hosts.opencode.setup.npm_stub import NPM_FILES, Stub, check_stub, explain_wait, imported_packages
from opencode_memory.hosts.opencode.setup.terminal import choose_terminal_file

PLUGIN = "@opencode-ai/plugin"


def write(folder: Path, files: dict[str, Any], *, modules: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    if modules:
        (folder / "node_modules").mkdir()
    return folder


def lock(*names: str) -> dict[str, Any]:
    return {"lockfileVersion": 3, "packages": {"": {"dependencies": dict.fromkeys(names, "*")}}}


def test_opencode_does_not_wait_where_the_stub_is_complete(tmp_path: Path) -> None:
    folder = write(tmp_path / "opencode", dict(NPM_FILES), modules=True)
    assert explain_wait(folder) is None
    assert check_stub(folder) is Stub.PRESENT


@pytest.mark.parametrize(
    ("files", "modules", "why"),
    [
        ({}, False, "no packages are installed there"),
        ({"package-lock.json": lock(PLUGIN)}, False, "no packages are installed there"),
        ({}, True, f"package-lock.json does not list {PLUGIN}"),
        ({"package-lock.json": "{"}, True, f"package-lock.json does not list {PLUGIN}"),
        ({"package-lock.json": {"packages": []}}, True, f"package-lock.json does not list {PLUGIN}"),
        ({"package-lock.json": lock(PLUGIN)}, True, None),
        ({"package-lock.json": lock(PLUGIN), "package.json": {"devDependencies": {"zod": "4"}}}, True, "zod"),
        ({"package-lock.json": lock(PLUGIN, "zod"), "package.json": {"devDependencies": {"zod": "4"}}}, True, None),
        ({"package-lock.json": lock(PLUGIN), "package.json": "no JSON"}, True, None),
    ],
)
def test_opencode_waits_by_its_own_rule(tmp_path: Path, files: dict, modules: bool, why: str | None) -> None:
    found = explain_wait(write(tmp_path / "opencode", files, modules=modules))
    assert found is None if why is None else why in (found or "")


def test_opencode_does_not_wait_where_it_may_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "opencode", {})
    assert explain_wait(folder) is not None
    monkeypatch.setattr("os.access", lambda *_: False)
    assert explain_wait(folder) is None


@pytest.mark.parametrize(
    ("files", "modules"),
    [
        ({"package.json": {"dependencies": {"zod": "4"}}}, False),
        ({"package.json": {}}, False),
        ({"package-lock.json": lock(PLUGIN)}, False),
        ({}, True),
        ({"package.json": NPM_FILES["package.json"] + " "}, True),
        ({**NPM_FILES, "node_modules/zod/package.json": {}}, False),
    ],
)
def test_folder_of_npm_or_the_user_gets_no_stub(tmp_path: Path, files: dict, modules: bool) -> None:
    assert check_stub(write(tmp_path / "opencode", files, modules=modules)) is Stub.NOT_OURS


def test_missing_or_partial_stub_is_detected(tmp_path: Path) -> None:
    assert check_stub(tmp_path / "nowhere") is Stub.MISSING
    assert check_stub(write(tmp_path / "bare", {"opencode.json": "{}"})) is Stub.MISSING
    assert check_stub(write(tmp_path / "cleaned", dict(NPM_FILES))) is Stub.MISSING
    half = {"package-lock.json": NPM_FILES["package-lock.json"]}
    assert check_stub(write(tmp_path / "half", half, modules=True)) is Stub.MISSING


def test_a_link_is_no_stub_of_ours(tmp_path: Path) -> None:
    folder = write(tmp_path / "opencode", {})
    elsewhere = write(tmp_path / "elsewhere", dict(NPM_FILES), modules=True)
    (folder / "node_modules").symlink_to(elsewhere / "node_modules")
    assert check_stub(folder) is Stub.NOT_OURS
    (folder / "node_modules").unlink()
    (folder / "package.json").symlink_to(elsewhere / "package.json")
    assert check_stub(folder) is Stub.NOT_OURS


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ('import { tool } from "@opencode-ai/plugin"\n', "@opencode-ai/plugin"),
        ("#!/usr/bin/env bun\nimport fs from 'node:fs';\nimport _ from 'lodash';", "lodash"),
        ('import {\n  a,\n  b,\n} from "zod"', "zod"),
        ('import "zod/v4"', "zod/v4"),
        ('export * from "zod"', "zod"),
        ("const z = require('zod')", "zod"),
        ('const z = await import("zod")', "zod"),
        ('import type { Plugin } from "@opencode-ai/plugin"', None),
        ('import type { Plugin } from "@opencode-ai/plugin"\nimport { z } from "zod"', "zod"),
        ('import { readFile } from "node:fs/promises"\nimport path from "path"\nimport f from "fs/promises"', None),
        ('import { Database } from "bun:sqlite"\nimport { $ } from "bun"', None),
        ('import other from "./other"\nimport two from "../two.ts"\nimport x from "/abs.ts"', None),
        ('// import { z } from "zod"\nconst text = "from zod"\nexport const a = "zod"', None),
        ('import { bundle } from "bundle"', "bundle"),
    ],
)
def test_imports_of_packages_are_detected(tmp_path: Path, source: str, package: str | None) -> None:
    folder = write(tmp_path / "opencode", {"plugin/theirs.ts": source})
    found = [name for _, name in imported_packages(folder)]
    assert found == ([package] if package else [])
    assert check_stub(folder) is (Stub.NOT_OURS if package else Stub.MISSING)


def test_tools_and_both_names_of_each_folder_count_and_other_files_do_not(tmp_path: Path) -> None:
    source = 'import { z } from "zod"'
    names = ("plugin/a.ts", "plugins/b.js", "tool/c.ts", "tools/d.js", "plugin/e.md", "agent/f.ts", "plugin/g/h.ts")
    folder = write(tmp_path / "opencode", dict.fromkeys(names, source))
    assert sorted(file.name for file, _ in imported_packages(folder)) == ["a.ts", "b.js", "c.ts", "d.js"]


def test_a_stub_is_wrong_once_something_needs_a_package(tmp_path: Path) -> None:
    files = {**NPM_FILES, "tool/theirs.ts": 'import { tool } from "@opencode-ai/plugin"'}
    folder = write(tmp_path / "opencode", files, modules=True)
    assert check_stub(folder) is Stub.WRONG
    # OpenCode itself does not see it: it would not install, and the tool would fail to load.
    assert explain_wait(folder) is None


def test_a_large_file_is_read_in_a_moment(tmp_path: Path) -> None:
    folder = write(tmp_path / "opencode", {"plugin/large.js": "import a\n" * 200_000})
    assert list(imported_packages(folder)) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFO")
def test_fifo_of_a_stranger_is_not_waited_for(tmp_path: Path) -> None:
    folder = write(tmp_path / "opencode", {"plugin/own.ts": "export {}"}, modules=True)
    for name in ("package.json", "package-lock.json", "plugin/theirs.ts", "tui.json"):
        os.mkfifo(folder / name)
    assert list(imported_packages(folder)) == []
    assert check_stub(folder) is Stub.NOT_OURS
    assert explain_wait(folder) == f"package-lock.json does not list {PLUGIN}"
    assert choose_terminal_file(folder) == folder / "tui.jsonc"

"""Checks of OpenCode: the program, the plugin, delays by npm, the server and its token.

The checks change no files and send no requests to other machines. A user without OpenCode or the plugin only gets a
note.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from opencode_memory.cli.context import Invocation
from opencode_memory.cli.doctor.checks import Check, Fix, FixableCheck, FixKind, Level
from opencode_memory.cli.doctor.mcp_entries import check_mcp_entries
from opencode_memory.cli.doctor.server import check_server
from opencode_memory.cli.setup import SetupRequest, collect_files, resolve_choices
from opencode_memory.errors import ConflictError
from opencode_memory.hosts.opencode import paths
from opencode_memory.hosts.opencode.manifest import MANIFEST, read_manifest
from opencode_memory.hosts.opencode.setup.npm_stub import Stub, check_stub, explain_wait, imported_packages
from opencode_memory.hosts.opencode.setup.plan import Plan, Wanted, installed_manifest, is_installed, plan_setup
from opencode_memory.hosts.opencode.setup.receipt import PLUGIN_FOLDER, is_own
from opencode_memory.hosts.opencode.setup.terminal import PLUGIN as TERMINAL_PLUGIN
from opencode_memory.hosts.opencode.setup.terminal import choose_terminal_file

_TIMEOUT_SECONDS: Final = 20
_VERSION: Final = re.compile(r"(?<![\d.])(\d+)\.\d+\.\d+[\w.-]*")
_KNOWN_MAJOR: Final = 1
_FOLDERS: Final = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")


def check_opencode(run: Invocation) -> Iterator[Check]:
    """Run all checks of OpenCode."""
    reads = paths.folders_read(run.config.environment, run.folder)
    installed = [place for place in reads if is_installed(place)]
    program = shutil.which("opencode", path=run.config.environment.get("PATH", os.defpath))
    yield _check_program(program, run.config.environment)
    if not installed:
        if program is not None:
            yield Check("plugin", Level.NOTE, "the plugin is not installed", "opencode-memory setup")
        yield from check_server(run, has_plugin=False)
        return
    for place in installed:
        yield from _check_plugin(run, place)
    if len(installed) > 1:
        here = paths.project_folder(run.folder) in installed
        text = f"OpenCode loads the plugin twice in this folder: from {' and from '.join(map(str, installed))}"
        hint = f"opencode-memory setup {'--project ' if here else ''}--undo"
        yield Check("plugin", Level.PROBLEM, text, hint)
    for place in reads:
        yield from _check_npm(run, place, installed)
    yield from check_mcp_entries(run, installed)
    yield from check_server(run)


def _check_program(program: str | None, environment: Mapping[str, str]) -> Check:
    if program is None:
        return Check("opencode", Level.NOTE, "`opencode` is not on the PATH")
    version = _ask_version(program, environment)
    if version is None:
        return Check("opencode", Level.NOTE, f"{program} does not report its version")
    if int(version.partition(".")[0]) != _KNOWN_MAJOR:
        return Check(
            "opencode", Level.NOTE, f"OpenCode {version}: the plugin supports 1.x, and may have no effect here"
        )
    return Check("opencode", Level.OK, f"OpenCode {version}, {program}")


def _ask_version(program: str, environment: Mapping[str, str]) -> str | None:
    """Ask OpenCode for its version. If it has never run, redirect the folders that it creates."""
    ask = partial(
        subprocess.run,
        [program, "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    quiet = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    try:
        if paths.own_folder(environment).is_dir():
            answer = ask(env={**environment, **quiet})
        else:
            with tempfile.TemporaryDirectory() as aside:
                answer = ask(env={**environment, **quiet, **dict.fromkeys(_FOLDERS, aside)})
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stdout)
    return found[0] if found else None


def _check_plugin(run: Invocation, place: Path) -> Iterator[Check]:
    in_project = place == paths.project_folder(run.folder)
    option = " --project" if in_project else ""
    fix = Fix(FixKind.SETUP_PROJECT if in_project else FixKind.SETUP)
    folder = place / PLUGIN_FOLDER
    manifest = read_manifest(installed_manifest(place))
    if not in_project and place != paths.global_folder(run.config.environment):
        yield Check("plugin", Level.OK, f"{folder}, {manifest.get('version', 'unknown version')}")
        return
    try:
        choices = resolve_choices(run, SetupRequest(in_project=in_project))
        new = collect_files(run, choices, in_project=in_project)
        plan = plan_setup(new)
    except ConflictError as error:
        hint = f"{error.hint}: opencode-memory setup{option} --force" if "--force" in (error.hint or "") else error.hint
        yield Check("plugin", Level.PROBLEM, str(error), hint)
        return
    if (program := _find_missing_program(manifest)) is not None:
        text = f"the plugin cannot start the server: {program} does not exist"
        yield FixableCheck("plugin", Level.PROBLEM, text, f"opencode-memory setup{option}", fix)
    elif (stale := _describe_stale(new, plan, manifest)) is not None:
        yield FixableCheck("plugin", Level.PROBLEM, stale, f"opencode-memory setup{option}", fix)
    else:
        agents = ", ".join(choices.agents) or "none"
        if not in_project and run.config.terminal.sidebar and choose_terminal_file(place) is None:
            text = "OpenCode's sidebar shows no memory, because tui.json and tui.jsonc are both yours"
            yield Check("sidebar", Level.NOTE, text, f"add {(place / TERMINAL_PLUGIN).as_uri()} to `plugin` in one")
        yield Check("plugin", Level.OK, f"{folder}, {manifest['version']}, agents: {agents}, tools: {choices.tools}")


def _find_missing_program(manifest: Mapping[str, Any]) -> str | None:
    start = manifest.get("start")
    if not isinstance(start, list) or not all(isinstance(word, str) for word in start):
        return None  # The manifest was changed, which another check reports.
    python = start[: start.index("-P")][-1:] if "-P" in start else start[:1]
    return next((word for word in python if shutil.which(word) is None), None)


def _describe_stale(collect_files: Wanted, plan: Plan, manifest: Mapping[str, Any]) -> str | None:
    """Describe how the installed files differ from those that setup would write now; None if they do not."""
    folder = collect_files.folder / PLUGIN_FOLDER
    changed = {step.path for step in plan.steps if is_own(collect_files.folder, step.path)}
    if not changed:
        return None
    new = read_manifest(collect_files.files[f"{PLUGIN_FOLDER}/{MANIFEST}"])
    missing = [path.name for path in sorted(changed) if not path.exists()]
    if missing:
        return f"{folder} is not complete: {' and '.join(missing)} is missing"
    if manifest.get("version") != new["version"]:
        return f"the plugin in {folder} has version {manifest.get('version')}, but {new['version']} is installed"
    if changed != {folder / MANIFEST}:
        return f"the plugin in {folder} differs from the one of this version"
    keys = [key for key in new if manifest.get(key) != new[key]]
    return f"the plugin in {folder} was installed with other settings than the current ones ({', '.join(keys)})"


def _check_npm(run: Invocation, place: Path, installed: list[Path]) -> Iterator[Check]:
    fix = _find_setup_fix(run, installed)
    command = f"opencode-memory {fix.kind}" if fix is not None else None
    stub = check_stub(place)
    if stub is Stub.WRONG:
        file, package = next(imported_packages(place))
        text = f"{file} imports {package}, but a stub in {place} keeps OpenCode from installing it"
        yield FixableCheck("npm", Level.PROBLEM, text, command, fix)
    elif stub is Stub.MISSING:
        text = f"OpenCode waits for npm at startup because of {place}"
        yield FixableCheck("npm", Level.NOTE, text, command, fix)
    elif (why := explain_wait(place)) is not None:
        text = f"OpenCode waits for npm at startup because of {place}: {why}"
        yield Check("npm", Level.NOTE, text, f"npm install @opencode-ai/plugin  (in {place})")


def _find_setup_fix(run: Invocation, installed: list[Path]) -> Fix | None:
    """Return the setup command of the installation; None if it was made elsewhere, for example in another folder."""
    if paths.global_folder(run.config.environment) in installed:
        return Fix(FixKind.SETUP)
    return Fix(FixKind.SETUP_PROJECT) if paths.project_folder(run.folder) in installed else None

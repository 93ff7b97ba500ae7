"""Command lines of the containers, tried with a program that stands for the engine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from opencode_memory.config.sections import SandboxMode
from opencode_memory.loops.sandbox import (
    Sandbox,
    SandboxError,
    choose_engine,
    remove_containers,
    wrap,
    write_loop_shell,
)

CONTAINERS = [SandboxMode.PODMAN, SandboxMode.DOCKER]
_FAKE = """\
#!/bin/sh
printf '%s\\n' "$*" >> "{log}"
case "$1" in
  ps) echo c1; echo c2 ;;
  info) [ -z "$FAKE_BROKEN" ] || {{ echo "no daemon" >&2; exit 1; }} ;;
  run) shift; while [ "$1" != image:1 ]; do shift; done; shift; exec "$@" ;;
esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The calls of the engines; both stand for themselves."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for engine in CONTAINERS:
        (programs / engine.value).write_text(_FAKE.format(log=tmp_path / "log"))
        (programs / engine.value).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path / "log"


def sandbox(tmp_path: Path, engine: SandboxMode, **more: object) -> Sandbox:
    tree = tmp_path / "a tree"
    tree.mkdir(exist_ok=True)
    (tree / ".git").write_text("gitdir: x")
    given: dict[str, object] = {"network": False, **more}
    return Sandbox(engine=engine, loop="0123abcd", worktree=tree, common=tmp_path / ".git", image="image:1", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("engine", CONTAINERS)
def test_container_sees_the_worktree_and_nothing_else(tmp_path: Path, engine: SandboxMode) -> None:
    box = sandbox(tmp_path, engine)
    said = wrap(box, box.worktree)
    volumes = [said[place + 1] for place, part in enumerate(said) if part == "--volume"]
    tree = str(box.worktree)
    assert volumes == [f"{tree}:{tree}", f"{box.common}:{box.common}:ro", f"{tree}/.git:{tree}/.git:ro"]
    assert {"--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--rm"} <= set(said)
    assert said[-1] == "image:1"
    assert "--network=bridge" in wrap(sandbox(tmp_path, engine, network=True), box.worktree)


def test_files_belong_to_the_user(tmp_path: Path) -> None:
    box = sandbox(tmp_path, SandboxMode.DOCKER)
    assert f"--user={os.getuid()}:{os.getgid()}" in wrap(box, box.worktree)


@pytest.mark.parametrize("engine", CONTAINERS)
def test_containers_are_removed_by_the_label_of_their_loop(log: Path, engine: SandboxMode) -> None:
    remove_containers(engine, "0123abcd")
    assert log.read_text().splitlines() == [
        "ps --all --quiet --filter label=opencode-memory.loop=0123abcd",
        "rm --force c1 c2",
    ]


@pytest.mark.parametrize("engine", CONTAINERS)
def test_shell_of_a_loop_keeps_exit_codes_and_arguments(tmp_path: Path, log: Path, engine: SandboxMode) -> None:
    box = sandbox(tmp_path, engine)
    shell = write_loop_shell(tmp_path / "data", box)
    assert shell.stat().st_mode & 0o777 == 0o700
    ran = subprocess.run(
        [shell, "-c", "echo 'a  b'; exit 7"], cwd=box.worktree, capture_output=True, text=True, timeout=20, check=False
    )
    assert (ran.returncode, ran.stdout) == (7, "a  b\n")
    assert f"--workdir {box.worktree}" in log.read_text()


@pytest.mark.parametrize("engine", CONTAINERS)
def test_ended_command_removes_its_container(tmp_path: Path, log: Path, engine: SandboxMode) -> None:
    box = sandbox(tmp_path, engine)
    shell = write_loop_shell(tmp_path / "data", box)
    process = subprocess.Popen(
        [shell, "-c", "echo started; exec sleep 5"], cwd=box.worktree, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.terminate()
        assert process.wait(20) == 143
    assert f"rm --force ocm-0123abcd-{process.pid}" in log.read_text()


def test_engine_that_does_not_work_is_named(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert log
    assert choose_engine(SandboxMode.PODMAN) is SandboxMode.PODMAN
    monkeypatch.setenv("FAKE_BROKEN", "1")
    with pytest.raises(SandboxError, match="docker: no daemon"):
        choose_engine(SandboxMode.DOCKER)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxError, match=r"bwrap: not installed; podman: not installed; docker: not installed"):
        choose_engine(SandboxMode.AUTO)
    assert choose_engine(SandboxMode.OFF) is SandboxMode.OFF

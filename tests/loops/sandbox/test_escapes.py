"""Attempts to get out of the sandbox, each a test. None may succeed."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loops.repositories import git
from loops.sandbox.cells import KINDS, Cell, containers, make_cell
from opencode_memory.config.sections import SandboxMode
from opencode_memory.loops.sandbox import Sandbox, wrap
from opencode_memory.loops.sandbox.shell import VARIABLE

SHADOW = Path("/etc/shadow")


@pytest.fixture(scope="module", params=KINDS)
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    """A cell of each engine and user."""
    with make_cell(request.param) as made:
        yield made


READS = [
    "cat {outside}/secret",
    "cat {tree}/../../outside/secret",
    "ln -sf {outside}/secret link1 && cat link1",
    "ln -sf / root1 && cat root1{outside}/secret",
    "cp {outside}/secret stolen && cat stolen",
    "tar cf - {outside} | tar xf - -O",
    "find / -name secret -exec cat {{}} \\;",
    "python3 -c \"print(open('{outside}/secret').read())\"",
    "cat /proc/1/root{outside}/secret",
    "cat /proc/self/root{outside}/secret",
    "for p in /proc/[0-9]*; do cat $p/root{outside}/secret; cat $p/cwd/../../outside/secret; done",
    "cat /proc/*/environ | tr '\\0' '\\n' | grep PROVIDER_KEY",
    "env | grep PROVIDER_KEY",
    "cat {home}/.bashrc {home}/.profile {home}/.ssh/* {home}/.config/*/* && echo s3cret",
    "sha256sum /etc/shadow | grep {shadow} && echo s3cret",
    "cat /root/.netrc /root/.ssh/id_* && echo s3cret",
    "mount --bind / /tmp && cat /tmp{outside}/secret",
    "unshare -r cat {outside}/secret",
    "chroot /proc/1/root cat {outside}/secret",
    "nsenter -t 1 -m cat {outside}/secret",
    "exec 3<{outside}/secret && cat <&3",
    "git -C {outside} --no-index diff secret /dev/null",
    "ls {outside} && echo s3cret",
    "hardlink=$(ln {outside}/secret hl && cat hl) && echo $hardlink",
    "dd if=/dev/sda bs=1 count=1 && echo s3cret",
    "cat /dev/mem | head -c 1 | grep -q . && echo s3cret",
    "cat /proc/kcore | head -c 1 | grep . && echo s3cret",
]
"""Each would print the secret."""

WRITES = [
    "echo x > {outside}/new",
    "echo x > {outside}/secret",
    "rm -rf {outside}",
    "touch /usr/canary || touch /etc/canary || touch /opt/canary",
    "echo x >> {shop}/a.py",
    "echo 'touch {outside}/new' > {shop}/.git/hooks/post-commit",
    "git config core.hooksPath /tmp/evil",
    "git config core.fsmonitor /tmp/evil",
    "rm .git",
    "echo 'gitdir: /tmp' > .git",
    "mv .git moved",
    "git commit --allow-empty -m evil",
    "git branch evil",
    "git worktree add /tmp/other HEAD",
    "git update-ref refs/heads/main HEAD~0 ''",
    "ln -s {outside} out && echo x > out/new",
    "python3 -c \"import os; os.symlink('{outside}', 'o2'); open('o2/new', 'w')\"",
    "mkdir -p {outside} && echo x > {outside}/new",
    "cp /bin/sh {outside}/sh",
    "umount .git || mount -o remount,rw .git && echo x > .git",
    "(setsid sh -c 'sleep 1; echo x > {outside}/new' &)",
    "chmod 777 {outside} && chown 0 {outside}/secret",
]
"""Each would change something outside of the worktree, or git's files."""


def fill(cell: Cell, command: str) -> str:
    # A container has its own passwords, which are no secret.
    shadow = hashlib.sha256(SHADOW.read_bytes()).hexdigest() if os.access(SHADOW, os.R_OK) else "of another user"
    return command.format(outside=cell.outside, tree=cell.tree, shop=cell.shop, home=Path.home(), shadow=shadow)


def attempt(cell: Cell, command: str) -> str:
    """Run a command inside, and return its output."""
    ran = cell.run(f"echo begun\n{fill(cell, command)}")
    assert ran.stdout.startswith("begun\n"), ran.stderr
    return ran.stdout


@pytest.mark.parametrize("command", READS)
def test_nothing_outside_is_read(cell: Cell, command: str) -> None:
    assert "s3cret" not in attempt(cell, command)


@pytest.mark.parametrize("command", WRITES)
def test_nothing_outside_is_changed(cell: Cell, command: str) -> None:
    before = snapshot(cell)
    attempt(cell, command)
    assert snapshot(cell) == before
    assert not any(Path(folder, "canary").exists() for folder in ("/usr", "/etc", "/opt"))


def snapshot(cell: Cell) -> tuple[object, ...]:
    files = {
        str(path): path.read_bytes()
        for folder in (cell.outside, cell.shop)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "index"
    }
    return (
        files,
        (cell.tree / ".git").read_bytes(),
        git(cell.shop, "-c", "safe.directory=*", "for-each-ref"),
        oct(cell.outside.stat().st_mode),
    )


NETWORK = [
    "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2)\"",
    "exec 3<>/dev/tcp/127.0.0.1/{port}",
    "exec 3<>/dev/tcp/localhost/{port}",
    "python3 -c \"import socket; socket.create_connection(('1.1.1.1', 53), 2)\"",
]


@pytest.mark.parametrize("command", NETWORK)
def test_network_is_not_reached(cell: Cell, command: str) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert cell.run(command.replace("{port}", str(server.getsockname()[1]))).returncode != 0


def test_abstract_socket_and_processes_of_the_host_are_not_seen(cell: Cell) -> None:
    assert int(cell.run("ls -d /proc/[0-9]* | wc -l").stdout) < 10
    assert cell.run(f"kill -9 {os.getpid()}").returncode != 0


def test_work_in_the_worktree_goes_on(cell: Cell) -> None:
    ran = cell.run("echo 'print(2)' > b.py && python3 b.py && git status --porcelain && echo err >&2; exit 7")
    # An engine may say something before, for example about limits that it cannot set.
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (7, "err")
    assert "2" in ran.stdout
    assert (cell.tree / "b.py").read_text() == "print(2)\n"


def test_output_streams(cell: Cell) -> None:
    with cell.start("echo first; read line; echo $line", stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "first\n"
        process.stdin.write("go\n")
        process.stdin.close()
        assert process.stdout.readline() == "go\n"


def test_ended_command_leaves_nothing_running(cell: Cell) -> None:
    mark = f"31{os.getpid()}"
    with cell.start(f"(setsid sleep {mark} &); echo started; sleep {mark}") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.terminate()
    pause = threading.Event()
    for _ in range(100):
        if not any(mark.encode() in _read(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
            assert containers(cell) == []
            return
        pause.wait(0.1)
    raise AssertionError("a process of the command still runs")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_missing_file_of_the_loop_fails_closed(cell: Cell) -> None:
    ran = cell.run("touch ran", **{VARIABLE: str(cell.outside / "nothing")})
    assert ran.returncode == 125
    assert "nothing was run" in ran.stderr
    assert not (cell.tree / "ran").exists()


def test_session_without_a_sandbox_has_the_users_own_shell(cell: Cell) -> None:
    own = shutil.which("sh") or "/bin/sh"
    ran = cell.run(f"cat {cell.outside}/secret; echo $0", **{VARIABLE: "", "OPENCODE_MEMORY_OWN_SHELL": own})
    assert ran.stdout.startswith("s3cret")
    assert ran.stdout.endswith(f"{own}\n")


def test_network_can_be_allowed(cell: Cell) -> None:
    sandbox = Sandbox(
        engine=SandboxMode.BWRAP,
        loop="x",
        worktree=cell.tree,
        common=cell.shop / ".git",
        network=True,
        image="",
    )
    assert "--share-net" in wrap(sandbox, cell.tree)

"""Errors of the operating system: commands report the file and the reason, and never print a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from opencode_memory.cli import errors, main
from support.command_line import CommandLine
from support.permissions import obey_permissions

COMMAND = [sys.executable, "-m", "opencode_memory.cli"]
READ_ONLY = "the store was opened read-only"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**variables, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        obey_permissions([*COMMAND, *arguments]), env=environment, capture_output=True, text=True, check=False
    )


@contextmanager
def permissions(folder: Path, mode: int) -> Iterator[None]:
    folder.chmod(mode)
    try:
        yield
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize(
    "command", [["recall", "x"], ["remember", "x"], ["list"], ["setup", "--dry-run"]], ids=" ".join
)
def test_deleted_current_folder_is_named(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    answer = cli(*command)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: the current folder was deleted\nhint: ")


def test_doctor_reports_a_deleted_current_folder(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.remember("The staging port is 8081.")
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    checks = cli("doctor", "--json").json["checks"]
    assert ("store", "the current folder was deleted") in [(check["name"], check["text"]) for check in checks]


@pytest.mark.parametrize("name", ["locked", "locked/below"])
def test_folder_that_may_not_be_entered_is_named(environment: dict[str, str], tmp_path: Path, name: str) -> None:
    (tmp_path / "locked" / "below").mkdir(parents=True)
    with permissions(tmp_path / "locked", 0):
        for option in ("--dir", "--data-dir"):
            answer = run(environment, option, str(tmp_path / name), "list")
            assert (answer.returncode, answer.stdout) == (2, "")
            assert f"{tmp_path / name} cannot be entered: Permission denied" in answer.stderr
            assert "Traceback" not in answer.stderr


def test_data_dir_below_a_locked_folder_is_refused_by_servers_too(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir()
    with permissions(tmp_path / "locked", 0):
        for command in (["serve", "--port", "1"], ["serve", "--stdio"], ["backup", "list"]):
            answer = run(environment, "--data-dir", str(tmp_path / "locked"), *command)
            assert answer.returncode == 2, command
            assert answer.stderr.startswith(f"error: data_dir: {tmp_path / 'locked'} cannot be entered"), command


@pytest.mark.parametrize(("name", "reason"), [("file", "is not a folder"), ("file/store", "is below a file")])
def test_data_dir_that_is_a_file_is_refused(cli: CommandLine, name: str, reason: str) -> None:
    (cli.folder / "file").write_text("mine")
    place = cli.folder / name
    for command in (["list"], ["remember", "x"], ["serve", "--port", "1"], ["backup", "list"]):
        answer = cli(*command, "--data-dir", str(place))
        assert (answer.code, answer.out) == (2, ""), command
        assert answer.err.startswith(f"error: data_dir: {place} {reason}\nhint: it is set by --data-dir"), command


def test_project_is_found_below_a_folder_that_may_not_be_read(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "closed" / ".git").mkdir(parents=True)
    with permissions(tmp_path / "closed" / ".git", 0):
        answer = run(environment, "--dir", str(tmp_path / "closed"), "list")
    assert (answer.returncode, answer.stderr) == (0, "Nothing found.\n")


def test_reindex_of_a_read_only_store_is_refused(environment: dict[str, str], tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert run(environment, "--data-dir", str(store), "remember", "The staging port is 8081.").returncode == 0
    (store / "embedder.lock").unlink()
    (store / "store.db").chmod(0o400)
    with permissions(store, 0o500):
        answer = run(environment, "--data-dir", str(store), "reindex")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"error: write to {store / 'store.db'}: {READ_ONLY}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", [["--help"], ["--version"], ["list"], ["export"], ["list", "--json"]], ids=" ".join)
def test_output_to_a_full_device_fails_with_the_reason(environment: dict[str, str], command: list[str]) -> None:
    run(environment, "remember", "The staging port is 8081.")
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [*COMMAND, *command], env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert answer.returncode == 2
    assert "the output cannot be written: No space left on device" in answer.stderr
    assert len(answer.stderr.splitlines()) <= 2, "neither a traceback nor an error of the interpreter"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_error_that_cannot_be_printed_keeps_its_exit_code(environment: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run([*COMMAND, "list", "-c", "no"], env=environment, stderr=full, check=False)
    assert answer.returncode == 2


@pytest.mark.parametrize("streams", [">&-", "<&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_standard_streams_do_not_end_a_command(environment: dict[str, str], streams: str) -> None:
    line = f'"$@" {streams}'
    answer = subprocess.run(
        ["sh", "-c", line, "sh", *COMMAND, "remember", "The staging port is 8081."],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (answer.returncode, answer.stderr) == (0, "")
    listed = run(environment, "list").stdout
    assert listed.endswith("The staging port is 8081.\n")


def test_closed_standard_input_counts_as_empty(environment: dict[str, str]) -> None:
    answer = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *COMMAND, "remember", "-"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "empty" in answer.stderr


def test_other_errors_of_the_system_name_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise IsADirectoryError(21, "Is a directory", "/some/folder")

    monkeypatch.setattr("opencode_memory.cli.application.main", fail)
    assert main(["list"]) == errors.FAILED
    assert capsys.readouterr().err.startswith("error: /some/folder: Is a directory\nhint: ")

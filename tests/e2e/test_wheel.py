"""The wheel for Linux, installed in a bare system: no compiler, no git, no network. `make wheel` builds it.

The wheel for the other processor is loaded by qemu if `make wheel TARGET=aarch64-unknown-linux-gnu` has built it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from platform import machine

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from packaging.utils import parse_wheel_filename

from e2e.bare_system import ROOT, BareSystem, missing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the wheel for Linux")

_NEWEST_GLIBC = (2, 28)
_DIST = ROOT / "dist"
_PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}
"""Processors, as the kernel and as Debian call them."""


def find_wheel(processor: str) -> Path:
    """Return the newest wheel for a processor; skip the test if it is not that of this machine and was not built."""
    found = sorted(_DIST.glob(f"ocm_memory-*-manylinux_*_{processor}.whl"), key=lambda file: file.stat().st_mtime)
    if not found and processor != machine():
        pytest.skip(f"there is no wheel for {processor} in dist/")
    assert found, "there is no wheel in dist/; run `make wheel`"
    return found[-1]


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel for this machine."""
    return find_wheel(machine())


@pytest.fixture(scope="module", params=_PROCESSORS)
def each_wheel(request: pytest.FixtureRequest) -> Path:
    """The wheel for each processor that was built."""
    return find_wheel(request.param)


@pytest.fixture(scope="module")
def system(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> BareSystem:
    """A bare system with the wheel installed from files."""
    if reason := missing():
        pytest.skip(reason)
    made = BareSystem.create(tmp_path_factory.mktemp("bare") / "system")
    files = made.root / "wheels"
    files.mkdir()
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version=3.11"]
    platforms = [f"--platform=manylinux_2_{minor}_{machine()}" for minor in (28, 27, 17)]
    subprocess.run([*download, *platforms, f"--dest={files}", str(wheel)], check=True)
    made.run("python3 -m venv app && app/bin/pip install --quiet --no-index --find-links /wheels ocm-memory")
    return made


def test_wheel_is_for_every_python_and_an_old_glibc(each_wheel: Path) -> None:
    tags = parse_wheel_filename(each_wheel.name)[3]
    assert {(tag.interpreter, tag.abi) for tag in tags} == {("cp311", "abi3")}
    assert {tag.platform for tag in tags} <= {f"manylinux_2_28_{processor}" for processor in _PROCESSORS}


def test_auditwheel_accepts_the_tag(each_wheel: Path) -> None:
    command = [sys.executable, "-m", "auditwheel", "show", str(each_wheel)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert '"manylinux_2_28_' in shown


def test_wheel_needs_no_symbol_newer_than_its_tag_says(each_wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(each_wheel) as archive:
        core = Path(archive.extract("opencode_memory/_core.abi3.so", tmp_path))
    with core.open("rb") as file:
        elf = ELFFile(file)
        needed = next(section for section in elf.iter_sections() if isinstance(section, GNUVerNeedSection))
        versions = {(str(library.name), str(version.name)) for library, of in needed.iter_versions() for version in of}
    glibc = {tuple(map(int, name.removeprefix("GLIBC_").split("."))) for _, name in versions if "GLIBC_" in name}
    assert glibc, "the engine needs the C library"
    assert max(glibc) <= _NEWEST_GLIBC
    assert not {library for library, _ in versions if "stdc++" in library or "gcc" in library}, "must be in the wheel"


def test_wheel_has_the_parts_that_are_no_code(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    plugin = "hosts/opencode/plugin/opencode-memory"
    wanted = {
        *("py.typed", "_core.pyi", "_core.abi3.so", "embedding/model/LICENSE", "embedding/model/model.safetensors"),
        *(f"{plugin}.ts", f"{plugin}/tui.tsx", "server/pages/templates/base.html", "server/pages/static/app.css"),
    }
    assert {f"opencode_memory/{name}" for name in wanted} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


def test_wheel_for_the_other_processor_can_be_loaded(tmp_path: Path) -> None:
    (other,) = _PROCESSORS.keys() - {machine()}
    wheel = find_wheel(other)
    if not Path(f"/proc/sys/fs/binfmt_misc/qemu-{other}").exists():
        pytest.skip("qemu is not registered for programs of the other processor")
    if reason := missing():
        pytest.skip(reason)
    system = BareSystem.create(tmp_path / "system", architecture=_PROCESSORS[other])
    with zipfile.ZipFile(wheel) as archive:
        archive.extract("opencode_memory/_core.abi3.so", system.root / "wheel")
    output = system.run(
        "PYTHONPATH=/wheel/opencode_memory python3 -c 'import _core, platform; print(platform.machine(), _core.__name__)'"
    )
    assert output == f"{other} _core\n"


def test_bare_system_has_nothing_to_build_with(system: BareSystem) -> None:
    programs = ["cc", "gcc", "c++", "clang", "rustc", "cargo", "git", "node"]
    output = system.run(f"for name in {' '.join(programs)}; do command -v $name || echo no $name; done")
    assert output.splitlines() == [f"no {name}" for name in programs]


def test_what_is_remembered_is_found_by_meaning(system: BareSystem) -> None:
    system.run("opencode-memory remember --global 'Amounts of money are stored as whole cents.'")
    found = json.loads(system.run("opencode-memory recall --json 'how do we keep prices?'"))
    assert "whole cents" in json.dumps(found)


def test_doctor_finds_the_installation_sound(system: BareSystem) -> None:
    checks = json.loads(system.run("opencode-memory doctor --json || true"))
    levels = {check["name"]: check["level"] for check in checks["checks"]}
    assert {levels[name] for name in ("installation", "model")} == {"ok"}
    assert "error" not in levels.values()


def test_setup_says_what_it_would_write(system: BareSystem) -> None:
    assert "opencode" in system.run("ocm-mem setup --dry-run")
    assert not (system.root / "home" / "person" / ".config" / "opencode").exists()


def test_server_starts_answers_and_stops(system: BareSystem) -> None:
    output = system.run(
        """
        opencode-memory serve --port 47631 2> served.txt &
        tail --follow --retry served.txt 2> /dev/null | grep --max-count=1 'serves http'
        opencode-memory remember --global 'The port of the test is 47631.'
        opencode-memory recall 'port of the test'
        opencode-memory stop
        wait
        """
    )
    assert "The port of the test is 47631." in output

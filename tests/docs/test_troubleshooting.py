"""Table of docs/troubleshooting.md compared with the checks of the doctor."""

from __future__ import annotations

import re

from docs.machine import ROOT

DOCUMENT = ROOT / "docs" / "troubleshooting.md"
DOCTOR = ROOT / "python" / "opencode_memory" / "cli" / "doctor"
ALWAYS_OK = {"installation", "store"}
"""Checks that only state a fact."""
SHARED = ROOT / "python" / "opencode_memory" / "maintenance" / "health.py"
"""Checks that the doctor shares with ``/health``."""
_CHECK = re.compile(r'(?:Check|Finding)\(\s*"([a-z_ ]+)"')
_ROW = re.compile(r"^\| `([a-z_ ]+)` \|", re.MULTILINE)


def test_table_explains_every_check_of_the_doctor() -> None:
    sources = [file.read_text(encoding="utf-8") for file in DOCTOR.glob("*.py") if file.name != "recall.py"]
    sources.append(SHARED.read_text(encoding="utf-8"))
    checks = {name for source in sources for name in _CHECK.findall(source)} - ALWAYS_OK - {"fix"}
    assert set(_ROW.findall(DOCUMENT.read_text(encoding="utf-8"))) == checks

"""The official MCP conformance suite against the resident server, compared with docs/mcp-conformance.md.

The document has a row for each scenario and a column for each release of the suite: how many of its checks pass, and
why others cannot. So it neither hides a failure nor goes stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.node_tools import run
from e2e.served import Served

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "mcp-conformance.md"
SUITES = {
    "0.1.16": "@modelcontextprotocol/conformance/dist/index.js",
    "0.2.0-alpha.12": "conformance-next/dist/index.js",
}
"""Column of the document, and the program below ``node_modules``."""
FOR_ANY_SERVER = {
    "dns-rebinding-protection",
    "http-header-validation",
    "ping",
    "server-initialize",
    "server-session-lifecycle",
    "server-sse-multiple-streams",
    "tools-list",
}
"""Scenarios that every server must pass; no reason excuses a failure."""
_SUMMARY = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)
_NOT_IN_IT = "–"


@dataclass(frozen=True)
class Row:
    """Row of the document for a scenario."""

    scenario: str
    results: dict[str, str]
    why: str


def rows(document: str) -> list[Row]:
    found = []
    for line in document.splitlines():
        if line.startswith("| `"):
            scenario, *results, why = (cell.strip() for cell in line.strip().strip("|").split("|"))
            found.append(Row(scenario.strip("`"), dict(zip(SUITES, results, strict=True)), why))
    return found


def documented(suite: str) -> dict[str, str]:
    return {row.scenario: row.results[suite] for row in rows(DOCUMENT.read_text()) if row.results[suite] != _NOT_IN_IT}


def all_pass(result: str) -> bool:
    passed, _, of = result.partition(" of ")
    return result == _NOT_IN_IT or passed == of


def unexplained(found: Iterable[Row]) -> list[str]:
    return [row.scenario for row in found if not row.why and not all(map(all_pass, row.results.values()))]


@pytest.mark.parametrize("suite", SUITES)
def test_results_match_the_document(suite: str, served: Served, node_tools: Path, tmp_path: Path) -> None:
    ran = run(node_tools, SUITES[suite], ["server", "--url", served.url, "--suite", "all"], tmp_path / "home")
    results = {
        scenario: f"{passed} of {int(passed) + int(failed)}"
        for scenario, passed, failed in _SUMMARY.findall(ran.stdout)
    }
    assert results == documented(suite), ran.stdout + ran.stderr
    assert [line for line in served.said if "Traceback" in line or "ERROR" in line] == []


def test_document_gives_a_reason_for_each_failure() -> None:
    found = rows(DOCUMENT.read_text())
    assert not unexplained(row for row in found)
    by_name = {row.scenario: row.results for row in found}
    assert len(by_name) == len(found), "a scenario has two rows"
    assert [name for name in FOR_ANY_SERVER if not all(map(all_pass, by_name[name].values()))] == []


def test_a_failure_without_a_reason_is_seen() -> None:
    table = "| Scenario | a | b | Why |\n|---|---|---|---|\n| `x` | 1 of 1 | 0 of 1 | |\n| `y` | – | 0 of 1 | so |\n"
    assert unexplained(rows(table)) == ["x"]

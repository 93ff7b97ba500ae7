"""Error messages in command output: finds the one or two lines that describe the failure best."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.candidate import shorten

_MOST_CHARS: Final = 200
_SECOND_CHARS: Final = 140
_WORTH_A_SECOND: Final = 4
_SURELY: Final = 6
_MOST_LINES: Final = 2000
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WEIGHTS: Final = tuple(
    (re.compile(pattern), weight)
    for pattern, weight in (
        (r"^E\s{2,}\S*(?:Error|Exception|assert)", 10),
        (r"\b[A-Z]\w*(?:Error|Exception|Warning|Failure)\b: \S", 9),
        (r"^\s*error(?:\[\w+\])?: ", 9),
        (r"\berror (?:TS|CS|C|E|LNK|MSB|KSP)\d+", 9),
        (r"^e: |: error: |: fatal error: |: undefined reference", 9),
        (
            r"\bDATA RACE\b|\bdeadlock\b|\bpanic(?:ked)?\b|\bFATAL\b|^fatal: |\bSegmentation fault\b|AddressSanitizer: |\bruntime error: ",
            8,
        ),
        (
            r"\b(?:required a bean|cannot find|could not find|not found|No such file|undefined:|undefined method|unresolved|cannot borrow|does not exist|is not defined|permission denied|refused)\b",
            7,
        ),
        (r"^\s*(?:FAILED|FAIL|✕|✗|×|not ok|--- FAIL)[\s:]", 6),
        (r"\b(?:expected|Expected|got|Received|assert(?:ion)?)\b.*", 5),
        (
            r"(?i)\b(?:error|exception|failed|failure|invalid|unexpected|missing|denied|cannot|can't|unable|mismatch|violat\w+|conflict)\b",
            4,
        ),
    )
)
_NOISE: Final = re.compile(
    r"(?i)^\s*(?:\d+ (?:errors?|failed|warnings?)|error: could not compile|found \d+ errors?|npm (?:err!|error)\s*(?:code|errno|path|command|a complete|lifecycle|$)|make: \*\*\*|build failed|"
    r"={3,}|-{3,}|tests?:? |ran \d+|for more information|aborting due|process exited|\* what went wrong|\* try|> run with|execution failed for|run with|command failed|exit (?:code|status)|error: aborting|elifecycle|short test summary)"
)


def find_complaint(output: str) -> str:
    """Return the most telling line of a failed command's output, and a second one if it adds information."""
    lines = [" ".join(line.split()) for line in _ANSI.sub("", output).split("\n")]
    judged = [(_weight(line), -number, line) for number, line in enumerate(lines) if line]
    best = sorted((scored for scored in judged if scored[0] > 0), reverse=True)
    if not best:
        return shorten(next((line for line in reversed(lines) if line), ""), _MOST_CHARS)
    first = _clean(best[0][2])
    others = (_clean(line) for weight, _, line in best[1:] if weight >= _WORTH_A_SECOND)
    second = next((line for line in others if line not in first and first not in line), None)
    complaint = shorten(first, _MOST_CHARS)
    return complaint if second is None else f"{complaint}; {shorten(second, _SECOND_CHARS)}"


def looks_failed(output: str) -> bool:
    """Return whether an output looks like that of a failed command."""
    return any(_weight(" ".join(line.split())) >= _SURELY for line in _ANSI.sub("", output).split("\n")[:_MOST_LINES])


def _weight(line: str) -> int:
    if _NOISE.search(line):
        return 0
    return max((weight for pattern, weight in _WEIGHTS if pattern.search(line)), default=0)


def _clean(line: str) -> str:
    return re.sub(r"^(?:E\s+|>\s+|\d+\s*\|\s*|\*\s+)", "", line).strip()

"""Error messages in command output: finds the one or two lines that describe the failure best.

Each tool prints the cause among headings, counts and names of packages. Lines get weights by their form. A line that
announces values ("expected:", "left:") is completed by the lines below it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from opencode_memory.learning.extraction.candidate import shorten

_MOST_CHARS: Final = 200
_SECOND_CHARS: Final = 140
_WORTH_A_SECOND: Final = 4
_SURELY: Final = 6
_MOST_LINES: Final = 2000
_LONGEST_LINE: Final = 600
_MOST_VALUES: Final = 2
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PREFIX: Final = re.compile(
    r"^(?:#\d+ (?:\d+\.\d+ )?|\[ERROR\] |npm (?:error|ERR!) ?|make(?:\[\d+\])?: \*\*\* |\w+ \| (?=E ))"
)
"""What docker build, Maven, npm and make print before a message."""
_FILE_LINE: Final = r"(?:\./|/)?[\w./@+-]+\.\w{1,6}:\d+"
_WEIGHTS: Final = tuple(
    (re.compile(pattern), weight)
    for pattern, weight in (
        (r"^E (?:\S+(?:Error|Exception|Warning)\b|assert |Failed: |\w[\w.]*: )", 10),
        (r"\b[A-Z]\w*(?:Error|Exception|Warning|Failure)\b(?: \[\w+\])?: ?\S?", 9),
        (r"^(?:error|Error|ERROR)(?:\[\w+\])?: ", 9),
        (r"\berror (?:TS|CS|C|E|LNK|MSB|KSP)\d+", 9),
        (r"^e: |: error: |: fatal error: |: undefined reference|^\d+:\d+ error ", 9),
        (rf"^{_FILE_LINE}:\d+:? (?!note:|warning:|in |\w+(?:Error|Exception)$)\S|\.\w+:\[\d+,\d+\] \S", 9),
        (r"^[A-Z]{1,4}\d{3,4} \S|\bERR_[A-Z]+_\w+|^assertion .* failed", 9),
        (rf"^{_FILE_LINE}: (?!note:|warning:|in |\w+(?:Error|Exception)$)\S", 8),
        (
            r"\bDATA RACE\b|\bdeadlock\b|\bpanic(?:ked)?\b|\bFATAL\b|^fatal: |\bSegmentation fault\b|AddressSanitizer: |\bruntime error: |^● |\bE[A-Z]{4,} \w",
            8,
        ),
        (
            (
                r"(?i)\b(?:required a bean|cannot find|could not find|not found|No such file|undefined:|undefined method|unresolved|cannot borrow|does not exist|is not defined|permission denied|refused|"
                r"no rule to make|missing script|no module named|command not found)\b"
            ),
            7,
        ),
        (r"^(?:✕|✗|×|not ok)[\s:]|^peer \S+@|^FAILED \S+::|^\S+ \.\.\. FAILED", 6),
        (r"^(?:FAILED|FAIL|--- FAIL)[\s:]", 6),
        (r"\b(?:expected|Expected|got|Received|assert(?:ion)?)\b", 5),
        (
            r"(?i)\b(?:error|exception|failed|failure|invalid|unexpected|missing|denied|cannot|can't|unable|mismatch|violat\w+|conflict)\b",
            4,
        ),
    )
)
_NOISE: Final = re.compile(
    r"(?i)^(?:E$|\d+ (?:errors?|failed|warnings?|issues?|problems?)|✖ \d+ problems?|\[\*\] \d+ fixable|error: (?:could not compile|test failed|aborting|process .* did not complete|failed to solve)|"
    r"found \d+ errors?|found: |while resolving|could not resolve (?:dependency:|all )|code [A-Z]+$|errno |path |a complete log|did you mean|lifecycle|make: |"
    r"\[[^\]]*\] error \d+|(?:> )?build fail|failure: build|compilation error|failures?:$|errors?:$|error trace:|importerror while importing|={3,}|-{3,}|_{5,}|⎯|!{5,}|"
    r"tests?(?: files| suites| run| result)?:? |● (?:test suite failed|console)|ran \d+|for more information|process exited|\* what went wrong|\* try|> run with|> task |"
    r"a problem occurred|execution failed for|failed to execute goal|run with|command failed|exit (?:code|status)|elifecycle|short test summary|collect2: |at |npm (?:err!|error)$|"
    r"FAIL(?:ED)? \(|FAIL$|error collecting|traceback)"
)
_WEAK: Final = re.compile(r"^(?:FAIL|---\sFAIL|FAILED)[\s:]|<<< (?:FAILURE|ERROR)!")
"""Lines that say which test or package failed, but not why."""
_VALUE: Final = re.compile(r"(?i)^(?:left|right|expected|actual|received|got|want)\s*:")
_HEADLINES: Final = 1


def find_complaint(output: str) -> str:
    """Return the most telling line of a failed command's output, and a second one if it adds information."""
    lines = _read_lines(output)
    judged = [(_weight(line), -number) for number, line in enumerate(lines) if line]
    best = sorted((scored for scored in judged if scored[0] > 0), reverse=True)
    if not best:
        return shorten(next((line for line in reversed(lines) if line), ""), _MOST_CHARS)
    first = _complete(lines, -best[0][1])
    others = (_complete(lines, -number) for weight, number in best[1:] if weight >= _WORTH_A_SECOND)
    second = next((line for line in others if line not in first and first not in line), None)
    complaint = shorten(first, _MOST_CHARS)
    return complaint if second is None else f"{complaint}; {shorten(second, _SECOND_CHARS)}"


def looks_failed(output: str) -> bool:
    """Return whether an output looks like that of a failed command."""
    return any(_weight(line, weak=_SURELY) >= _SURELY for line in _read_lines(output))


def _read_lines(output: str) -> list[str]:
    """Return the lines without colours, repeated blanks and the prefix of the tool."""
    plain = _ANSI.sub("", output).split("\n")[:_MOST_LINES]
    return [_PREFIX.sub("", " ".join(line[:_LONGEST_LINE].split())) for line in plain]


def _weight(line: str, *, weak: int = 2) -> int:
    if not line or _NOISE.search(line):
        return 0
    if _WEAK.search(line):
        return weak
    return max((weight for pattern, weight in _WEIGHTS if pattern.search(line)), default=0)


def _complete(lines: Sequence[str], number: int) -> str:
    """Return a line together with the values below it that it announces."""
    line = lines[number]
    below = [following for following in lines[number + 1 :] if following][: _MOST_VALUES + 1]
    values = []
    for following in below[:_MOST_VALUES]:
        if not _VALUE.match(following):
            break
        values.append(following)
    if not values and line.endswith(":"):
        values = below[:_HEADLINES]
    return _clean(" ".join((line, *values)))


def _clean(line: str) -> str:
    return re.sub(r"^(?:E\s+|>\s+|\d+\s*\|\s*|\*\s+)", "", line).strip()

"""The Markdown of plans: what is read, and what is missing."""

from __future__ import annotations

import pytest

from opencode_memory.plans import read_plan

PLAN = """\
# Parse empty files

## Objective
An empty file gives an error that names it.

## Steps
### 1. The parser
Files: `src/parser.py`
Acceptance: `parse("")` raises `EmptyFileError`.

```python
# Not a heading, and no section.
```
#### Notes
Keep the old message.

### Step 2: The command line
- **Files**: src/cli.py
- **Acceptance**: exit code 2

## Verification
```sh
# all tests
$ make lint
make test
```

## Risks
None.
"""


def test_whole_plan_has_no_problems() -> None:
    read = read_plan(PLAN)
    assert read.problems == ()
    assert read.title == "Parse empty files"
    assert read.objective == "An empty file gives an error that names it."
    assert [(section.number, section.title) for section in read.sections] == [
        (1, "The parser"),
        (2, "The command line"),
    ]
    assert "Keep the old message." in read.sections[0].body
    assert "Risks" not in read.sections[1].body
    assert read.commands == ("make lint", "make test")


@pytest.mark.parametrize(
    ("removed", "problem"),
    [
        ("# Parse empty files\n", None),
        ("An empty file gives an error that names it.\n", "the objective is missing"),
        ("Files: `src/parser.py`\n", "section 1 (The parser) names no files"),
        ("- **Acceptance**: exit code 2\n", "section 2 (The command line) has no acceptance"),
        ("$ make lint\nmake test\n", "the verification command is missing"),
        ("## Steps\n", "the sections are missing"),
    ],
)
def test_missing_part_is_named(removed: str, problem: str | None) -> None:
    assert removed in PLAN
    problems = read_plan(PLAN.replace(removed, "")).problems
    assert [found for found in problems if problem is not None and found.startswith(problem)] or problem is None
    assert problem is not None or problems == ()


def test_commands_may_be_inline_code() -> None:
    assert read_plan("## Verification\n- `npm test`\n- then look at it\n").commands == ("npm test",)


def test_too_many_sections_are_refused() -> None:
    steps = "\n".join(f"### {number}. Part\nFiles: a\nAcceptance: b\n" for number in range(1, 26))
    text = f"# T\n## Objective\nx\n## Steps\n{steps}\n## Verification\n`make`\n"
    assert [problem for problem in read_plan(text).problems if "at most 24" in problem]


@pytest.mark.parametrize(
    "text", ["", "no heading", "#", "```\n# open fence\n## Steps", "## Steps\n## Steps", "#" * 5000]
)
def test_any_text_can_be_read(text: str) -> None:
    assert read_plan(text).problems

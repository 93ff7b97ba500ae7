"""A plan for tests: one step, which one commit completes."""

from __future__ import annotations

from typing import Final

PLAN: Final = """\
# Say hello
## Objective
hello.txt says hello.
## Steps
### 1. The file
Files: hello.txt
Acceptance: it says hello
## Verification
```sh
grep -q hello hello.txt
```
"""

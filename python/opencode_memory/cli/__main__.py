"""Entry point of ``python -m opencode_memory.cli``, an alias of ``opencode-memory``."""

from __future__ import annotations

import sys

from opencode_memory.cli import main

if __name__ == "__main__":
    sys.exit(main())

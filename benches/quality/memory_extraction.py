"""The memory-extraction set: twenty short texts of an assistant, and the expected memories of each.

Its types are mapped to categories: a commitment is a plan, an opinion a preference. A label is met if a memory of that
category has most of its words. The texts are notes that an assistant made about itself, so they are read as texts of a
user.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from opencode_memory._core import terms
from opencode_memory.learning.admission import admit
from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.extraction.statements import Context, extract_from_user

_CATEGORY: Final = {"commitment": "plan", "opinion": "preference"}
_MOST_OF: Final = 0.6


def report(folder: Path) -> Iterator[str]:
    """Yield lines with precision and recall, by content alone and with the category."""
    texts = [json.loads(line) for line in (folder / "dataset.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = {
        label["id"]: label["memories"]
        for label in map(json.loads, (folder / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    }
    for name, elsewhere in (("said once", 0), ("said in three sessions", 2)):
        found = [
            (text, [c for c in extract_from_user(text["text"], Context()) if admit(c, elsewhere=elsewhere)])
            for text in texts
        ]
        for strict in (False, True):
            right = sum(
                any(_meets(c, label, strict=strict) for label in labels[text["id"]]) for text, got in found for c in got
            )
            total = sum(len(got) for _, got in found)
            hit = sum(
                any(_meets(c, label, strict=strict) for c in got) for text, got in found for label in labels[text["id"]]
            )
            wanted = sum(map(len, labels.values()))
            what = "type and substance" if strict else "substance"
            figures = f"precision {right / max(1, total):.3f} ({right} of {total}), recall {hit / wanted:.3f}"
            yield f"memory-extraction, {name}, {what}: {figures} ({hit} of {wanted})"


def _meets(candidate: Candidate, label: dict[str, str], *, strict: bool) -> bool:
    if strict and str(candidate.category) != _CATEGORY.get(label["type"], label["type"]):
        return False
    wanted, said = (frozenset(terms(text)[0]) for text in (label["content"], candidate.content))
    return bool(wanted) and len(wanted & said) >= _MOST_OF * len(wanted)

"""Typed prose: the part of a message that the user wrote as sentences, without lists, logs, headings and code.

A message that is mostly pasted, or that is longer than the user types, has no typed prose at all: plans, articles and
answers of other models have sentences of their own that would be taken for the user's.
"""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.authored_text import extract_authored_text

LONGEST: Final = 1200
"""Characters from which a message states nothing."""
_MOST_LINES: Final = 4
"""Number of lines of a list, a log or code from which they count as pasted."""
_MOST_HEADINGS: Final = 1
_LOOKED_AT: Final = 4000
_CAPTION_LINES: Final = 8
_CAPTION_WORDS: Final = 9
_HEADING: Final = re.compile(r"^\s*(?:#{1,6}\s+\S|\*\*[^*]{2,80}\*\*:?\s*$|__[^_]{2,80}__:?\s*$|[-=*_]{3,}\s*$)")
_MARKED: Final = re.compile(
    r"^\s*(?:[-*•+–]\s|\(?\d{1,3}[.):]\s|\(?[a-zA-Z][.)]\s|\[[ xX]\]|#{1,6}\s|\*\*|>|\||[{}\[\]();<]|[✓✔✗✘×⚠❌✅•▶►→➜⏺⎿└├│┌┬╭╰─═]|"
    r"[\w.-]+\s*[=:]\s*\S|\S*[/\\]\S+\s*$|https?://|\d+[:.|]|\w+\(|@\w|\.\w|--?\w)"
)
_MAIL: Final = re.compile(r"^\s*(?:From|To|Subject|Date|Sent|Cc|Von|An|Betreff):\s\S", re.MULTILINE)
_LEAD: Final = re.compile(r"^\s*(?:[-*•+]\s+|\d{1,2}[.)]\s+)\*\*")
_MODEL: Final = re.compile(
    r"^(?:\s*#{1,6} |Great question|Certainly[!,.]|Sure[!,] (?:here|I)|Here(?:'s| is| are) (?:a|an|the|your) |I(?:'ve| have) (?:updated|created|added|implemented|fixed)|Based on (?:your|the|my)|"
    r"(?:User|Human|Assistant|Claude|ChatGPT|AI|System|You|Me)\s*:\s)",
    re.MULTILINE,
)
_POINTS: Final = r"(?:this|that|these|those|the following)\b"
_INTRODUCES: Final = re.compile(
    # "Bob wrote me this mail:", but not "I said:".
    r"(?<!\bI )(?<!\bwe )(?<!\byou )(?<!\bi )"
    r"\b(?:wrote|writes|said|says|answered|answers|replied|replies|sent|posted|commented|recommends|suggested|states)\b|"
    rf"\b(?:explain|review|fix|answer|summari[sz]e|translate|proofread|rewrite|rephrase|correct|improve|reply to|"
    rf"respond to|look at|have a look at|comment on|typos in|mistakes in) {_POINTS}|"
    r"\b(?:found|got|read|received|saw|copied|pasted)\b.*\b(?:on|in|from|mail|e-?mail|message|letter|page|article|post)\b|"
    r"\b(?:mail|e-?mail|letter|article|web ?page|blog post|readme(?:\.md)?|contributing(?:\.md)?|changelog|log|output|"
    r"traceback|transcript|comment|issue|ticket|thread|quote|excerpt|snippet|text|answer|reply|response)\s*[:?]\s*$",
    re.IGNORECASE,
)
"""Words that introduce another person's text. The line must also end with a colon or a question mark."""


def extract_typed_prose(message: str) -> str:
    """Return the sentences that the user typed, line by line; empty if the message states nothing."""
    if len(_MAIL.findall(message[:_LOOKED_AT])) > 1:
        return ""
    text = extract_authored_text(message).text.strip()
    if not text or len(text) > LONGEST:
        return ""
    lines = _cut_behind_introduction(text.split("\n"))
    if sum(bool(_HEADING.match(line)) for line in lines) > _MOST_HEADINGS or _looks_generated(text, lines):
        return ""
    kept = _drop_blocks(lines)
    prose = "\n".join(kept).strip()
    is_mostly_pasted = len(lines) > _MOST_LINES and 2 * len(prose) < len(text)
    return "" if is_mostly_pasted else prose


def _cut_behind_introduction(lines: list[str]) -> list[str]:
    """Drop all lines below one that introduces another person's text, such as "Bob wrote me this mail:"."""
    for place, line in enumerate(lines):
        if line.rstrip().endswith((":", "?")) and _INTRODUCES.search(line):
            return lines[: place + 1]
    return lines


def _looks_generated(text: str, lines: list[str]) -> bool:
    """Return whether a text is an answer of a model, a dialogue, or the captions of a video."""
    if len(_MODEL.findall(text)) > 1 or sum(bool(_LEAD.match(line)) for line in lines) > 1:
        return True
    filled = [line.split() for line in lines if line.strip()]
    short = sum(len(words) <= _CAPTION_WORDS and words[-1][-1:].isalnum() for words in filled)
    return len(filled) >= _CAPTION_LINES and 4 * short > 3 * len(filled)


def _drop_blocks(lines: list[str]) -> list[str]:
    """Leave out runs of more than four marked lines; blank lines do not end a run."""
    kept: list[str] = []
    run: list[str] = []
    for line in [*lines, "end"]:
        if _MARKED.match(line) or _HEADING.match(line) or (run and not line.strip()):
            run.append(line)
            continue
        if sum(bool(marked.strip()) for marked in run) <= _MOST_LINES:
            kept += run
        run = []
        kept.append(line)
    return kept[:-1]

"""Cues of a language: its commonest words, by which it is recognised, and the forms of lasting statements."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

ENGLISH: Final = "en"
"""Known to the gate, which needs no file."""
MEASURED: Final = frozenset({ENGLISH, "fr"})
"""Languages that were tested on real talk; learned from unless the configuration says otherwise."""
_POLITE: Final = "<polite>"
"""In a form that orders to remember: the place of polite words, such as "please", with or without commas."""
_QUESTION_MARK: Final = r"[\s.!?。！？]*$"
_NOTHING: Final = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """The cues of one language.

    Attributes:
        code: Its code in ISO 639-1, for example ``fr``.
        name: Its English name.
        is_measured: Whether the forms were tested on real talk of people with agents.
        words: Its commonest words, in lower case; empty if letters identify it.
        letters: Matches one letter that identifies it.
        lead: Matches introductory words, which are no part of a statement.
        moment: Found in sentences about the work at hand.
        everywhere: Found in sentences that hold for all projects of the user.
        retraction: Matches a remark that takes the statement before it back.
        remember: Forms that order to remember what the group ``said`` matches.
        ask: The same in the form of a question, for example "could you remember that …?".
        directive: Forms of orders to the agent.
        convention: Forms of habits of the team.
    """

    code: str
    name: str
    is_measured: bool
    words: frozenset[str]
    letters: re.Pattern[str]
    lead: re.Pattern[str]
    moment: re.Pattern[str]
    everywhere: re.Pattern[str]
    retraction: re.Pattern[str]
    remember: tuple[re.Pattern[str], ...]
    ask: tuple[re.Pattern[str], ...]
    directive: tuple[re.Pattern[str], ...]
    convention: tuple[re.Pattern[str], ...]


@cache
def read_cues() -> dict[str, Cues]:
    """Read the cues of each language, by its code."""
    files = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".toml")]
    found = (_parse(file.name.removesuffix(".toml"), tomllib.loads(file.read_text(encoding="utf-8"))) for file in files)
    return {cues.code: cues for cues in sorted(found, key=lambda cues: cues.code)}


def _parse(code: str, file: dict[str, Any]) -> Cues:
    polite = rf"(?:[\s,]+(?:{file['polite']})(?!\w))*" if "polite" in file else ""
    return Cues(
        code=code,
        name=file["name"],
        is_measured=file["is_measured"],
        words=frozenset(file.get("words", "").split()),
        letters=re.compile(f"[{file['letters']}]") if "letters" in file else _NOTHING,
        lead=re.compile(rf"(?:(?:{file['lead']})(?:[\s,，、:：;.!-]+|(?<=[一-鿿ぁ-ヺ])))*", re.IGNORECASE),
        moment=_form(file["moment"].strip()),
        everywhere=_form(file["everywhere"].strip()),
        retraction=_form(rf"(?:{file['retraction'].strip()})[\s.,!。，！]*$"),
        remember=tuple(_form(form.replace(_POLITE, polite)) for form in file["remember"]),
        ask=tuple(_form(rf"{form.replace(_POLITE, polite)}{_QUESTION_MARK}") for form in file["ask"]),
        directive=tuple(map(_form, file["directive"])),
        convention=tuple(map(_form, file["convention"])),
    )


def _form(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)

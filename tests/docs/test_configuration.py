"""The tables in docs/configuration.md are what is read; UPDATE_DOCS=1 writes them anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.config.opencode_manager.file import MAX_BYTES
from opencode_memory.config.opencode_manager.keys import KEYS, Key
from opencode_memory.config.settings import SETTINGS, Setting

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"
END = "<!-- end -->"


def shown(value: Any) -> str:
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{', '.join(value) if isinstance(value, tuple) else value}`"


def accepted(setting: Setting) -> str:
    with pytest.raises(ValueError, match=r"\w") as caught:
        setting.read(object(), {})
    return str(caught.value)


def meaning(key: Key) -> str:
    if key.setting is None:
        return f"no effect: {key.meaning}"
    return f"`{key.setting}`" + (f"; {key.meaning}" if key.meaning else "")


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in cells)


def settings() -> str:
    rows = [
        (f"`{one.key}`", f"`{one.variable}`", shown(one.default({"HOME": "~"})), accepted(one), one.about)
        for one in SETTINGS
    ]
    return table(("key", "variable", "default", "accepted", "what it is"), rows)


def keys() -> str:
    rows = [
        (f"`{key.name}`", key.kind.accepts, '`""`' if key.default == "" else shown(key.default), meaning(key))
        for key in KEYS
    ]
    return table(("key", "accepted", "default there", "here"), rows)


def between(text: str, name: str, current: str) -> str:
    before, rest = text.split(f"<!-- {name} -->\n")
    _, after = rest.split(END, maxsplit=1)
    return f"{before}<!-- {name} -->\n{current}{END}{after}"


def test_the_tables_are_what_is_read() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    current = between(between(text, "settings", settings()), "keys", keys())
    if os.environ.get("UPDATE_DOCS"):
        DOCUMENT.write_text(current, encoding="utf-8")
    assert text == current or os.environ.get("UPDATE_DOCS")


def test_the_limit_is_the_one_that_holds() -> None:
    assert f"at most {MAX_BYTES // 1024} KiB" in DOCUMENT.read_text(encoding="utf-8")


def test_no_folder_of_a_person_is_in_the_tables() -> None:
    assert "/home/" not in settings() + keys()
    assert str(Path.home()) not in settings() + keys()

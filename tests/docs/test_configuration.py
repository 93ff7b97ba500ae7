"""Tables of docs/configuration.md compared with the code; UPDATE_DOCS=1 writes them again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from docs.tables import check_tables
from opencode_memory.config.opencode_manager.file import MAX_BYTES
from opencode_memory.config.opencode_manager.keys import KEYS, Key
from opencode_memory.config.setting import Setting
from opencode_memory.config.settings import SETTINGS

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"


def format_default(value: Any) -> str:
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{', '.join(value) if isinstance(value, tuple) else value}`"


def read_kind(setting: Setting) -> str:
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
        (
            f"`{setting.key}`",
            f"`{setting.variable}`",
            format_default(setting.default({"HOME": "~"})),
            read_kind(setting),
            setting.about,
        )
        for setting in SETTINGS
    ]
    return table(("key", "variable", "default", "accepted", "meaning"), rows)


def keys() -> str:
    rows = [
        (f"`{key.name}`", key.kind.accepts, '`""`' if key.default == "" else format_default(key.default), meaning(key))
        for key in KEYS
    ]
    return table(("key", "accepted", "default of the original", "meaning here"), rows)


def test_tables_show_all_settings_and_keys() -> None:
    check_tables(DOCUMENT, {"settings": settings(), "keys": keys()})


def test_document_names_the_size_limit() -> None:
    assert f"at most {MAX_BYTES // 1024} KiB" in DOCUMENT.read_text(encoding="utf-8")


def test_tables_name_no_home_folder() -> None:
    assert "/home/" not in settings() + keys()
    assert str(Path.home()) not in settings() + keys()


def test_text_names_the_default_number_of_added_memories() -> None:
    results = next(setting for setting in SETTINGS if setting.key == "injection.max_results")
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    assert f"at most {results.default({})} memories are added to a message" in text

"""Keys of earlier versions: they have no effect, and a notice names the key that replaces them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory.config.edit import unset_value
from opencode_memory.config.load import load
from opencode_memory.errors import ConfigError


def test_old_keys_send_nothing_and_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "memory.toml"
    file.write_text('extraction_model = "m"\n')
    environment = {
        "HOME": str(tmp_path),
        "OPENCODE_MEMORY_CONFIG": str(file),
        "OPENCODE_MEMORY_EXTRACTION_URL": "http://127.0.0.1:11434/v1",
    }
    config = load(environment=environment)
    assert (config.learning.digest_model, config.learning.digest_url) == (None, None)
    assert [(notice.level, notice.key) for notice in config.notices] == [
        ("note", "extraction_model"),
        ("note", "extraction_url"),
    ]
    assert "learning.digest_url replaces it" in config.notices[1].text
    assert unset_value(file, "extraction_model")
    assert len(load(environment=environment).notices) == 1


def test_option_with_an_old_key_names_the_new_one() -> None:
    with pytest.raises(ConfigError) as failure:
        load(environment={"HOME": "/home/ann"}, options={"extraction_model": "m"})
    assert failure.value.hint == "learning.digest_model replaces it"

"""The count of replacements: which sentences it compares, and data that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.quality.replacements import list_sentences, main


def test_questions_and_very_short_sentences_are_left_out() -> None:
    said = ["Use pnpm for all packages. Thanks. Why does it use npm here?", "x" * 6_001]
    assert list(list_sentences(iter(said))) == ["Use pnpm for all packages."]


def test_missing_data_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err

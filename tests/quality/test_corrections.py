"""The count of corrections: how the pairs are read, and which outcomes are told apart."""

from __future__ import annotations

from collections import Counter

import pytest

from benches.quality.corrections import SETS, Pair, count_outcomes, format_table, main, read_pairs

YARN = ("we use yarn in this repo, not npm",)


@pytest.mark.parametrize(
    ("name", "changes", "others"),
    [("lifted", 80, 70), ("near", 60, 120), ("withdrawn", 80, 80), ("unchanged", 60, 180)],
)
def test_all_pairs_of_a_set_are_read_with_their_labels(name: str, changes: int, others: int) -> None:
    pairs = list(read_pairs(name))
    assert name in SETS
    assert Counter(pair.changes is not None for pair in pairs) == {True: changes, False: others}
    assert all(pair.changes is None or pair.changes < len(pair.stored) for pair in pairs)


def test_outcomes_are_counted_by_label_and_half() -> None:
    counts = count_outcomes(
        [
            Pair(YARN, "from now on we use pnpm instead of yarn in this repo", 0),
            Pair(("Prefer small commits.", *YARN), "The weather in Ghent is lovely.", None),
        ]
    )
    assert counts == {(True, True, "replaced"): 1, (False, False, "nothing"): 1}


def test_table_names_both_halves() -> None:
    counts = Counter({(True, True, "quoted"): 2, (True, False, "quoted"): 3, (False, True, "nothing"): 4})
    assert list(format_table("near", counts)) == [
        "near       change     of 5: replaced 0 (0 + 0), linked 0 (0 + 0), quoted 5 (2 + 3), nothing 0 (0 + 0)",
        "near       no change  of 4: replaced 0 (0 + 0), linked 0 (0 + 0), quoted 0 (0 + 0), nothing 4 (4 + 0)",
    ]


def test_unknown_set_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--set", "other"])
    assert "invalid choice" in capsys.readouterr().err

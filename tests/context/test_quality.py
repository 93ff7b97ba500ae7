"""What is put beside labelled messages stays as good as it was: floors a little under what was reached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benches.quality.cached_embedder import CachedEmbedder
from benches.quality.in_sight import total
from benches.quality.injection import STORES, Looked, devmembench, figures, look, sight
from benches.quality.labelled_messages import messages
from opencode_memory.embedding import BundledEmbedder

DATA = Path(__file__).parents[1] / "data" / "quality" / "devmembench"


@pytest.fixture(scope="module")
def embedder() -> Iterator[CachedEmbedder]:
    with CachedEmbedder.open(BundledEmbedder(), None) as one:
        yield one


@pytest.fixture(scope="module")
def looked(embedder: CachedEmbedder) -> dict[str, list[Looked]]:
    return {name: look(messages(name), embedder) for name in ("tuning", "held_out")}


@pytest.mark.parametrize(
    ("name", "precision", "recall", "silence"), [("tuning", 0.70, 0.47, 0.93), ("held_out", 0.49, 0.41, 0.90)]
)
def test_what_is_shown_is_right_and_nothing_is_shown_where_nothing_fits(
    looked: dict[str, list[Looked]], name: str, precision: float, recall: float, silence: float
) -> None:
    found = figures(looked[name])
    assert found.precision >= precision
    assert found.recall >= recall
    assert found.silence >= silence


@pytest.mark.parametrize(("stores", "full", "headline"), [(STORES[0], 0.75, 0.90), (STORES[2], 0.42, 0.61)])
def test_labelled_memories_are_in_sight_within_the_budget(
    embedder: CachedEmbedder, stores: str, full: float, headline: float
) -> None:
    found = total(sight(messages("held_out"), embedder, stores=stores))
    assert found.full >= full * found.wanted
    assert found.headline >= headline * found.wanted
    assert found.tokens <= 1_700 * found.sessions
    assert found.tokens - found.brief_tokens <= 60 * found.messages
    assert found.silent >= 0.93 * found.idle


def test_a_message_that_only_goes_on_asks_for_nothing(looked: dict[str, list[Looked]]) -> None:
    going_on = [one for found in looked.values() for one in found if one.message.kind == "go-on"]
    assert len(going_on) == 18
    assert sum(not one.query for one in going_on) >= 15
    assert figures(going_on).shown == 0


def test_nearly_half_of_the_labelled_messages_are_about_nothing_that_is_known(looked: dict[str, list[Looked]]) -> None:
    for found in looked.values():
        counted = figures(found)
        assert counted.idle >= 44
        assert counted.needy == 57
        assert counted.messages == len(found)


def test_questions_of_devmembench_get_memories_of_the_right_session(embedder: CachedEmbedder) -> None:
    found = figures(devmembench(DATA, embedder, as_turns=False))
    assert (found.needy, found.idle) == (175, 25)
    assert found.served >= 145
    assert found.empty >= 12

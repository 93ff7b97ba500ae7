"""What holds of the names in any text, and the work that no text can make."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opencode_memory.entities import canonical, find_entities, short

PROJECTS = [
    None,
    "work",
    "gitlab.com/group/project",
    "github.com/Owner/next.js",
    "gitlab.com/a.b/c/d",
    "intranet/team/app",
    "intranet/intranet/intranet",
    "gitlab.com/gitlab.com/x",
]
PIECES = [
    *"!#&@/.:`~<>()[]{}=-_+*\\\"' \n\t,;?%$|",
    *["a", "b.c", "x.py", "next.js", "README.md", "group", "project", "gitlab.com", "localhost", "intranet", "commit "],
    *[
        "1",
        "12",
        "123456",
        "0",
        "abc1234",
        "1234567",
        "f" * 40,
        "a1" * 20,
        "in `",
        "```",
        "~~~",
        "    ",
        "def f():",
        "./",
        "../",
    ],
    *[
        "https://",
        "github.com/o/r",
        "/-/",
        "issues/",
        "merge_requests/",
        "pull/",
        "groups/g/-/epics/",
        "/commit/",
        "color:",
    ],
    *["é", "文", "\ud800", "\x00", "\u2028", "\u212a", "\u0130", "\ufeff"],
]
ANY_TEXT = st.text(st.characters(exclude_categories=()))
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), ANY_TEXT)


@given(TEXTS, st.sampled_from(PROJECTS))
@example("@./next.js ./@x.py ./~x.py a.b&7 a.b/c!7", "gitlab.com/a.b/c/d")
def test_names_of_a_text_are_their_own_names(text: str, project: str | None) -> None:
    names = find_entities(text, project=project)
    assert len({name.lower() for name in names}) == len(names) <= 50
    for name in names:
        assert name == name.strip()
        assert 0 < len(name.encode()) <= 2048
        assert canonical(name, project=project) == name
        assert canonical(short(name, project=project), project=project) == name


@given(TEXTS, st.sampled_from(PROJECTS))
@example("./@x.py", None)
@example("./github.com/o/x.py", None)
@example("COMMIT:ABC1234", None)
@example("` `!1` `", "work")
def test_canonical_names_stay_as_they_are(reference: str, project: str | None) -> None:
    name = canonical(reference, project=project)
    assert canonical(name, project=project) == name
    assert canonical(short(name, project=project), project=project) == name


@given(TEXTS, ANY_TEXT)
def test_no_project_name_breaks_the_search(text: str, project: str) -> None:
    for name in find_entities(f"!1 {text}", project=project):
        assert canonical(name, project=project) == name


LENGTH = 100_000
HOSTILE = {
    "signs": "@#!&",
    "at": "@",
    "hash": "#",
    "path": "a/",
    "dots": "a.",
    "backtick": "`",
    "backticks": "` ",
    "fences": "```\n",
    "tildes": "~~~ ` ",
    "hex": "a1",
    "commits": "in `abc1234` ",
    "reference": "a/a#1",
    "references": "#1 ",
    "colours": "--color: #123 ",
    "schemes": "://",
    "addresses": "a://)",
    "address": "https://x.y/(",
    "tags": "<a ",
    "elements": "<style>",
    "lines": "\n ",
    "quotes": "> ",
    "decorators": "@a\n",
    "links": "](#1",
    "brackets": "`[a](`",
    "surrogates": "\ud800@",
}


def cost(text: str) -> float:
    """Seconds of this process for a text, the least of three, since what else it does only adds."""
    times = []
    for _ in range(3):
        start = time.process_time()
        find_entities(text, project="gitlab.com/group/project")
        canonical(text, project="gitlab.com/group/project")
        times.append(time.process_time() - start)
    return min(times)


@pytest.fixture(scope="module")
def plain() -> float:
    line = "The fox reads src/app.py and asks @alice about !12, see #34 and `code` of others.\n"
    return cost((line * LENGTH)[:LENGTH])


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_costs_about_as_much_as_plain_text(piece: str, plain: float) -> None:
    text = (piece * LENGTH)[:LENGTH]
    # A search in quadratic time would be hundreds of times slower at this length.
    assert cost(text) < 15 * plain


def test_backticks_of_all_lengths_cost_about_as_much_as_plain_text(plain: float) -> None:
    assert cost(" ".join("`" * length for length in range(1, 440))) < 15 * plain

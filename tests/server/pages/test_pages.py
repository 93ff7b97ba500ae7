"""What the pages show, and the log, which takes changes back."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

from opencode_memory import Trust
from opencode_memory.store.ledger import Decision, Shown, State
from server.pages.browser import Browser, stored

HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(1)>" onmouseover="x\' </p>'


def test_newest_memories_of_all_projects_are_listed(browser: Browser) -> None:
    stored(browser, "Of the shop.", project="shop")
    stored(browser, "Of the bank.", project="bank")
    page = browser.get("/ui/")
    assert page.index("Of the bank.") < page.index("Of the shop.")
    page = browser.get("/ui/?project=shop")
    assert "Of the shop." in page
    assert "Of the bank." not in page


def test_pages_of_a_long_list_lead_to_each_other(browser: Browser) -> None:
    browser.world.store.remember_many([{"content": f"number {n}", "project": "shop"} for n in range(120)])
    seen = set(re.findall(r"number \d+", browser.get("/ui/?project=shop")))
    while older := re.search(r'href="/ui/(\?[^"]+)">Older', browser.page):
        seen |= set(re.findall(r"number \d+", browser.get("/ui/" + older[1].replace("&amp;", "&"))))
    assert len(seen) == 120


@pytest.mark.parametrize("query", ["?project=bank", "?tag=x", "?status=archived", "?until=2020-01-01", "?page=3"])
def test_list_without_a_match_does_not_say_that_nothing_is_stored(browser: Browser, query: str) -> None:
    assert "stores a first memory" in browser.get("/ui/")
    stored(browser, "Of the shop.", project="shop")
    stored(browser, "Of the bank.", project="bank", status="candidate")
    page = browser.get(f"/ui/{query}")
    assert "No memory matches." in page
    assert "stores a first memory" not in page


@pytest.mark.parametrize(
    "path", ["/", "/search?q=walrus", "/review", "/log", "/log?all=yes", "/projects", "/sessions", "/memories/{id}"]
)
def test_hostile_text_stays_text(browser: Browser, path: str) -> None:
    store = browser.world.store
    id = (
        store.acting_as(Trust.EXTRACTED)
        .remember(
            f"walrus {HOSTILE}",
            category="directive",
            trust="extracted",
            tags=["a<b>"],
            project="shop<i>",
            metadata={"rule": "x", "evidence": HOSTILE},
        )
        .id
    )
    store.edit(id, content=f"walrus two {HOSTILE}")
    store.ledger.decide(
        Decision(
            session="ses_<b>", message="m", state=State.SHOWN, shown=(Shown(memory=id, key=1, score=1.0, why="<u>"),)
        )
    )
    browser.get("/ui" + path.format(id=id))
    assert browser.answer.status == 200
    for tag in ("<script>alert", "<img", "<b>walrus", "<i>", "<u>"):
        assert tag not in browser.page
    assert ' onmouseover="x' not in browser.page


def test_search_field_is_limited_and_has_the_focus_until_there_is_a_query(browser: Browser) -> None:
    browser.get("/ui/search")
    field = re.search(r"<input [^>]*data-search[^>]*>", browser.page)
    assert field is not None
    assert 'maxlength="2000"' in field[0]
    assert "autofocus" in field[0]
    # The keys for the list of hits do not work while a field has the focus.
    assert "autofocus" not in browser.get("/ui/search?q=walrus")


@pytest.mark.parametrize("path", ["/", "/search?q=walrus", "/review", "/log?all=yes", "/timeline", "/memories/{id}"])
def test_marks_of_direction_and_invisible_characters_are_replaced(browser: Browser, path: str) -> None:
    hidden = "\u202e\u2066\u200b\U000e0041"
    more = {"tags": [f"a{hidden}"], "metadata": {"evidence": hidden}, "trust": "extracted"}
    learner = browser.world.store.acting_as(Trust.EXTRACTED)
    id = learner.remember(f"walrus{hidden}", **more, category="directive" if path == "/review" else "decision").id
    page = browser.get("/ui" + path.format(id=id))
    assert browser.answer.status == 200
    assert not set(hidden) & set(page)
    assert "walrus\ufffd" in page


def test_fields_of_the_user_keep_their_characters(browser: Browser) -> None:
    query = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 <b>"  # a Persian word with a joiner
    browser.get("/ui/search?" + urlencode({"q": query, "tag": query}))
    assert (browser.value("q"), browser.value("tag")) == (query, query)
    assert "<b>" not in browser.page


def test_search_shows_what_spoke_for_each_hit(browser: Browser) -> None:
    stored(browser, "We deploy on Thursdays.", project="shop")
    page = browser.get("/ui/search?q=when+do+we+deploy")
    assert "We deploy on Thursdays." in page
    assert re.search(r"<meter [^>]*aria-label=\"words\"", page)
    assert "Nothing relevant" in browser.get("/ui/search?q=zebra+crossing+quantum")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/search?q=x&category=zzz", "category"),
        ("/?status=zzz", "status"),
        ("/?page=-1", "page"),
        ("/?page=99999999999", "page"),
        ("/log?before=x", "before"),
        ("/search?q=" + "x" * 2_001, "q"),
    ],
)
def test_bad_parameters_are_named(browser: Browser, path: str, field: str) -> None:
    page = browser.get(f"/ui{path}")
    assert browser.answer.status == 400
    assert f"{field}:" in page


@pytest.mark.parametrize("path", ["/memories/ffffffff", "/sessions/none", "/nowhere"])
def test_unknown_things_are_not_found(browser: Browser, path: str) -> None:
    browser.get(f"/ui{path}")
    assert browser.answer.status == 404


def test_log_shows_mine_or_all_and_takes_back(browser: Browser) -> None:
    browser.world.store.acting_as(Trust.USER).remember("Mine.", project="shop")
    browser.world.store.acting_as(Trust.EXTRACTED).remember("Learned.", project="shop")
    mine, everything = browser.get("/ui/log"), browser.get("/ui/log?all=yes")
    assert ("Learned." in mine, "Learned." in everything, "Mine." in mine) == (False, True, True)
    browser.get("/ui/log")
    undo = re.search(r'action="(/ui/log/\d+/undo)"', browser.page)
    assert undo is not None
    assert "(undone)" in browser.post(undo[1])
    browser.post(undo[1].replace("undo", "redo"))
    assert {memory.content for memory in browser.world.store.list(project="shop")} == {"Learned.", "Mine."}


def test_session_shows_memories_tokens_and_erased_ones(browser: Browser) -> None:
    store = browser.world.store
    id, gone = stored(browser, "We deploy on Thursdays."), stored(browser, "Gone.")
    shown = tuple(Shown(memory=one, key=1, score=1.0, why="words match") for one in (id, gone))
    store.ledger.decide(Decision(session="ses_1", message="msg_1", state=State.SHOWN, tokens=42, shown=shown))
    store.delete(gone)
    assert "ses_1" in browser.get("/ui/sessions")
    page = browser.get("/ui/sessions/ses_1")
    assert "42 tokens" in page
    assert "We deploy on Thursdays." in page
    assert "words match" in page
    assert "erased" in page


def test_health_and_projects_are_shown(browser: Browser) -> None:
    stored(browser, "Of the shop.", project="shop")
    assert str(browser.world.store.data_dir) in browser.get("/ui/health")
    assert "shop" in browser.get("/ui/projects")

"""The timeline and the map of topics."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from opencode_memory.text import clock
from server.pages.browser import Browser


def keep(browser: Browser, text: str, *, days_ago: int, category: str = "decision", project: str = "shop") -> str:
    time = clock.now() - timedelta(days=days_ago)
    id_: str = browser.world.store.remember(text, category=category, project=project, time=time).id
    return id_


def bars(page: str) -> list[str]:
    return re.findall(r'<a href="([^"]+)" aria-label="[^"]+: [\d,]+ memor', page)


@pytest.mark.parametrize(("step", "days"), [("day", 1), ("week", 7), ("month", 32)])
def test_bar_leads_to_the_memories_of_its_period(browser: Browser, step: str, days: int) -> None:
    keep(browser, "We deploy on Thursdays.", days_ago=0)
    keep(browser, "We pay with Stripe.", days_ago=days)
    page = browser.get(f"/ui/timeline?step={step}&project=shop")
    assert "We deploy on Thursdays." in page
    old, new = bars(page)
    shown = browser.get(old.replace("&amp;", "&"))
    assert "We pay with Stripe." in shown
    assert "We deploy on Thursdays." not in shown
    assert "We deploy on Thursdays." in browser.get(new.replace("&amp;", "&"))


def test_timeline_names_decisions_and_follows_the_filters(browser: Browser) -> None:
    keep(browser, "Bees sleep at night.", days_ago=1, category="fact")
    keep(browser, "We keep bees.", days_ago=1, project="apiary")
    everything = browser.get("/ui/timeline?step=day")
    assert "We keep bees." in everything
    assert "Bees sleep" not in everything
    assert "2 memories" in everything
    assert "1 memory" in browser.get("/ui/timeline?step=day&project=apiary")
    assert "Bees sleep" in browser.get("/ui/timeline?step=day&category=fact")
    assert "Nothing was remembered" in browser.get("/ui/timeline?project=nowhere")


@pytest.mark.parametrize(
    ("path", "field"), [("/timeline?step=year", "step"), ("/?since=soon", "since"), ("/map?until=never", "until")]
)
def test_bad_parameters_are_named(browser: Browser, path: str, field: str) -> None:
    page = browser.get("/ui" + path)
    assert browser.answer.status == 400
    assert field in page


def test_map_shows_each_memory_with_a_vector(browser: Browser) -> None:
    assert "Nothing is remembered" in browser.get("/ui/map")
    texts = ["Walruses are fed at noon.", "The walrus sleeps at noon.", "Invoices are rounded to cents."]
    ids = [keep(browser, text, days_ago=0) for text in texts]
    assert "3 memories wait for a vector" in browser.get("/ui/map")
    browser.world.store.indexes.embed_pending()
    late = keep(browser, "<b>late</b>", days_ago=0)
    page = browser.get("/ui/map")
    assert all(f"/ui/memories/{id_}" in page for id_ in ids)
    assert late not in page
    assert "1 memory without a vector yet is left out" in page
    assert page.count("<circle cx=") >= 3
    browser.world.store.indexes.embed_pending()
    browser.get("/ui/map")
    assert b"&lt;b&gt;late" in browser.answer.body
    assert b"<b>late" not in browser.answer.body

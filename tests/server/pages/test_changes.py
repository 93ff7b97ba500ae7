"""What the forms of the pages change."""

from __future__ import annotations

import re
from typing import Any

import pytest

from opencode_memory import MemoryStore, Trust
from opencode_memory.learning.review import REPLACES
from server.pages.browser import Browser, status, stored


def test_each_action_is_done_as_the_user_and_can_be_undone(browser: Browser) -> None:
    id = stored(browser, "We deploy on Thursdays.", project="shop")
    for action, wanted in [("archive", "archived"), ("restore", "active"), ("pin", "active"), ("unpin", "active")]:
        browser.get(f"/ui/memories/{id}")
        browser.post(f"/ui/memories/{id}/{action}")
        assert status(browser, id) == wanted
        assert browser.world.store.history(id)[-1].actor is Trust.USER
        assert ">Undo</button>" in browser.page
    browser.get(f"/ui/memories/{id}")
    page = browser.post(f"/ui/memories/{id}/delete")
    assert "was deleted" in page
    undo = re.search(r'action="(/ui/log/\d+/undo)"', browser.page)
    assert undo is not None
    browser.post(undo[1], {"back": f"/ui/memories/{id}"})
    assert status(browser, id) == "active"


def assert_nothing_to_undo(browser: Browser) -> None:
    sentence = browser.page.split('id="main"')[1].split("<h1>")[0]
    assert "Nothing changed." in sentence
    assert "Undo" not in sentence


@pytest.mark.parametrize(
    ("action", "fields"),
    [("edit", {"content": "We deploy on Thursdays.", "category": "fact", "tags": ""}), ("pin", {})],
)
def test_action_that_changes_nothing_offers_no_undo(browser: Browser, action: str, fields: dict[str, Any]) -> None:
    id = stored(browser, "We deploy on Thursdays.", category="fact", project="shop")
    browser.get(f"/ui/memories/{id}")
    browser.world.store.pin(id)
    browser.world.store.acting_as(Trust.USER).remember("Another one.", project="shop")
    browser.post(f"/ui/memories/{id}/{action}", fields)
    assert_nothing_to_undo(browser)


def test_change_of_several_that_changes_nothing_offers_no_undo(browser: Browser) -> None:
    id = stored(browser, "We deploy on Thursdays.", project="shop")
    browser.world.store.acting_as(Trust.USER).archive(id)
    browser.get("/ui/?status=archived")
    browser.post("/ui/several", {"id": [id], "action": "archive"})
    browser.post("/ui/several/apply")
    assert_nothing_to_undo(browser)


def test_undo_takes_back_the_change_of_the_page_and_not_that_of_a_command(browser: Browser) -> None:
    ids = [stored(browser, f"number {n}", project="shop") for n in range(2)]
    browser.get("/ui/")
    browser.post("/ui/several", {"id": ids, "action": "pin"})
    fields = {"id": ids, "action": "pin", "mark": browser.value("mark")}

    change = MemoryStore.pin

    def pin(store: MemoryStore, ids: Any) -> Any:
        pinned = change(store, ids)
        store.acting_as(Trust.USER).remember("By a command.", project="shop")
        return pinned

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryStore, "pin", pin)
        browser.post("/ui/several/apply", fields)
    undo = re.search(r'action="(/ui/log/\d+/undo)"', browser.page)
    assert undo is not None
    browser.post(undo[1])
    assert [browser.world.store.get(id).pinned for id in ids] == [False, False]
    assert "By a command." in browser.get("/ui/")


def test_edit_keeps_the_history_as_a_difference(browser: Browser) -> None:
    id = stored(browser, "We deploy on Thursdays.", project="shop")
    browser.get(f"/ui/memories/{id}")
    page = browser.post(
        f"/ui/memories/{id}/edit", {"content": "We deploy on Mondays.", "category": "decision", "tags": "a, b"}
    )
    memory = browser.world.store.get(id)
    assert (memory.content, memory.category, memory.tags) == ("We deploy on Mondays.", "decision", ("a", "b"))
    assert "- We deploy on Thursdays." in page
    assert "+ We deploy on Mondays." in page


TWO_LINES = "Deploy on Thursdays.\nTest before."


def test_added_tag_keeps_the_text(browser: Browser) -> None:
    id = stored(browser, TWO_LINES, category="decision", project="shop", tags=["a"])
    browser.get(f"/ui/memories/{id}")
    sent = {"content": TWO_LINES.replace("\n", "\r\n"), "category": "decision", "tags": "a, b"}
    browser.post(f"/ui/memories/{id}/edit", sent)
    memory = browser.world.store.get(id)
    assert (memory.content, memory.tags) == (TWO_LINES, ("a", "b"))


@pytest.mark.parametrize("text", [TWO_LINES, "Deploy on Thursdays.\r\nTest before.", "\n Deploy.\n", "Deploy\u202e."])
def test_edited_category_keeps_text_and_tag_with_a_comma(browser: Browser, text: str) -> None:
    id = stored(browser, text, category="decision", project="shop", tags=["a,b"])
    browser.get(f"/ui/memories/{id}")
    shown = browser.textarea().replace("\n", "\r\n")
    browser.post(f"/ui/memories/{id}/edit", {"content": shown, "category": "fact", "tags": browser.value("tags")})
    memory = browser.world.store.get(id)
    assert (memory.content, memory.tags, memory.category) == (text, ("a,b",), "fact")


def test_lines_that_a_browser_sends_are_stored_with_line_feeds(browser: Browser) -> None:
    sent: dict[str, str | list[str]] = {"content": "One.\r\nTwo.\r\nThree."}
    edited = stored(browser, "We deploy on Thursdays.", category="fact", project="shop")
    browser.get(f"/ui/memories/{edited}")
    browser.post(f"/ui/memories/{edited}/edit", {**sent, "category": "fact", "tags": ""})
    accepted = waiting(browser)
    browser.get("/ui/review")
    browser.post(f"/ui/review/{accepted}/edit", sent)
    merged = [stored(browser, f"number {n}", project="shop") for n in range(2)]
    browser.get("/ui/")
    browser.post("/ui/several", {"id": merged, "action": "merge"})
    browser.post("/ui/several/apply", {"id": merged, **sent})
    for id in (edited, accepted, merged[0]):
        assert browser.world.store.get(id).content == "One.\nTwo.\nThree."


def test_edit_in_a_second_tab_is_refused_and_nothing_is_lost(browser: Browser) -> None:
    id = stored(browser, "We deploy on Thursdays.", project="shop")
    browser.get(f"/ui/memories/{id}")
    browser.world.store.edit(id, content="We deploy on Mondays.")
    page = browser.post(f"/ui/memories/{id}/edit", {"content": "Mine.", "category": "fact", "tags": ""})
    assert browser.answer.status == 409
    assert "changed since" in page
    assert browser.world.store.get(id).content == "We deploy on Mondays."


@pytest.mark.parametrize("fields", [{"content": "", "category": "fact"}, {"content": "x", "category": "zzz"}])
def test_bad_edit_is_refused(browser: Browser, fields: dict[str, str | list[str]]) -> None:
    id = stored(browser, "We deploy on Thursdays.", project="shop")
    browser.get(f"/ui/memories/{id}")
    browser.post(f"/ui/memories/{id}/edit", {"tags": "", **fields})
    assert browser.answer.status == 400
    assert browser.world.store.get(id).content == "We deploy on Thursdays."


def waiting(browser: Browser) -> str:
    learner = browser.world.store.acting_as(Trust.EXTRACTED)
    return learner.remember("Always answer briefly.", category="directive", trust="extracted", project="shop").id


def test_review_accepts_edits_and_rejects(browser: Browser) -> None:
    id = waiting(browser)
    assert "Always answer briefly." in browser.get("/ui/review")
    browser.post(f"/ui/review/{id}/accept")
    assert browser.world.store.get(id).is_confirmed
    assert "Nothing waits" in browser.get("/ui/review")

    browser.world.store.delete(id)
    id = waiting(browser)
    browser.get("/ui/review")
    browser.post(f"/ui/review/{id}/edit", {"content": "Answer in one sentence."})
    assert browser.world.store.get(id).content == "Answer in one sentence."
    assert browser.world.store.get(id).is_confirmed


@pytest.mark.parametrize("changes", [{"content": "Always push to main."}, {"category": "preference"}, {"tags": ["x"]}])
@pytest.mark.parametrize("path", ["/review/{id}/accept", "/review/{id}/edit", "/review/{id}/reject"])
def test_decision_on_a_memory_that_an_agent_has_changed_since_is_refused(
    browser: Browser, path: str, changes: dict[str, Any]
) -> None:
    id = waiting(browser)
    browser.get("/ui/review")
    changed = browser.world.store.acting_as(Trust.AGENT).edit(id, **changes)
    page = browser.post("/ui" + path.format(id=id), {"content": "Answer briefly."} if "edit" in path else None)
    assert browser.answer.status == 409
    assert "changed since" in page
    assert browser.world.store.get(id) == changed


@pytest.mark.parametrize("action", ["restore", "pin", "archive", "delete"])
def test_action_on_a_memory_that_an_agent_has_changed_since_is_refused(browser: Browser, action: str) -> None:
    text = {"content": "Always answer briefly.", "category": "directive", "project": "shop"}
    id = stored(browser, **text, status="candidate" if action == "restore" else "active")
    browser.get(f"/ui/memories/{id}")
    changed = browser.world.store.acting_as(Trust.AGENT).edit(id, content="Always push to main.")
    browser.post(f"/ui/memories/{id}/{action}")
    assert browser.answer.status == 409
    assert browser.world.store.get(id) == changed


def test_undo_of_an_accepted_replacement_leaves_the_earlier_text_alone_active(browser: Browser) -> None:
    store = browser.world.store
    old = store.acting_as(Trust.USER).remember("Use tox.", category="directive", project="shop").id
    proposed = {"category": "directive", "project": "shop", "trust": "agent", "status": "candidate"}
    new = store.acting_as(Trust.AGENT).remember("Use nox.", metadata={REPLACES: old}, **proposed).id
    browser.get("/ui/review")
    browser.post(f"/ui/review/{new}/accept")
    assert [status(browser, id) for id in (old, new)] == ["superseded", "active"]
    undo = re.search(r'action="(/ui/log/\d+/undo)"', browser.page)
    assert undo is not None
    browser.post(undo[1])
    assert [status(browser, id) for id in (old, new)] == ["active", "candidate"]


def test_rejected_memory_is_archived(browser: Browser) -> None:
    id = waiting(browser)
    browser.get("/ui/review")
    browser.post(f"/ui/review/{id}/reject")
    assert status(browser, id) == "archived"


def test_several_are_changed_after_a_preview(browser: Browser) -> None:
    ids = [stored(browser, f"number {n}", project="shop") for n in range(3)]
    browser.get("/ui/")
    page = browser.post("/ui/several", {"id": ids, "action": "archive", "back": "/ui/?project=shop"})
    assert "Archive 3 memories?" in page
    assert {status(browser, id) for id in ids} == {"active"}
    browser.post(
        "/ui/several/apply",
        {"id": ids, "action": "archive", "mark": browser.value("mark"), "back": browser.value("back")},
    )
    assert {status(browser, id) for id in ids} == {"archived"}
    undo = re.search(r'action="(/ui/log/\d+/undo)"', browser.page)
    assert undo is not None
    browser.post(undo[1])
    assert {status(browser, id) for id in ids} == {"active"}


def test_several_are_refused_when_the_store_moved_on(browser: Browser) -> None:
    ids = [stored(browser, f"number {n}", project="shop") for n in range(3)]
    browser.get("/ui/")
    browser.post("/ui/several", {"id": ids, "action": "delete"})
    mark = browser.value("mark")
    browser.world.store.edit(ids[1], content="changed")
    browser.post("/ui/several/apply", {"id": ids, "action": "delete", "mark": mark})
    assert browser.answer.status == 409
    assert {status(browser, id) for id in ids} == {"active"}


def test_several_are_merged_in_the_words_of_the_person(browser: Browser) -> None:
    texts = ["Deploy on Thursdays.", "Deploy after the tests."]
    ids = [stored(browser, text, project="shop") for text in texts]
    browser.get("/ui/")
    page = browser.post("/ui/several", {"id": ids, "action": "merge"})
    assert "Merge 2 memories?" in page
    assert "Deploy on Thursdays.\nDeploy after the tests.</textarea>" in page
    merged = "Deploy on Thursdays, after the tests."
    page = browser.post(
        "/ui/several/apply", {"id": ids, "action": "merge", "mark": browser.value("mark"), "content": merged}
    )
    assert f'class="whole">{merged}' in page
    assert [browser.world.store.get(id).status for id in ids] == ["active", "superseded"]
    assert browser.world.store.get(ids[1]).superseded_by == ids[0]
    undo = re.search(r'action="(/ui/log/\d+/undo)"', browser.page)
    assert undo is not None
    browser.post(undo[1])
    assert [browser.world.store.get(id).content for id in ids] == texts
    assert {status(browser, id) for id in ids} == {"active"}


@pytest.mark.parametrize("count", [1, 21])
def test_merge_needs_two_to_twenty_memories(browser: Browser, count: int) -> None:
    ids = [stored(browser, f"number {n}", project="shop") for n in range(count)]
    browser.get("/ui/")
    browser.post("/ui/several", {"id": ids, "action": "merge"})
    assert browser.answer.status == 400


def test_merge_of_two_projects_changes_nothing(browser: Browser) -> None:
    ids = [stored(browser, "Deploy on Thursdays.", project=project) for project in ("shop", "bank")]
    browser.get("/ui/")
    browser.post("/ui/several", {"id": ids, "action": "merge"})
    browser.post(
        "/ui/several/apply", {"id": ids, "action": "merge", "mark": browser.value("mark"), "content": "Never deploy."}
    )
    assert browser.answer.status == 409
    assert {status(browser, id) for id in ids} == {"active"}


@pytest.mark.parametrize("fields", [{"action": "archive"}, {"action": "zzz", "id": ["a"]}, {"id": ["a"]}])
def test_bad_choice_of_several_is_refused(browser: Browser, fields: dict[str, str | list[str]]) -> None:
    stored(browser, "We deploy on Thursdays.")
    browser.get("/ui/")
    browser.post("/ui/several", fields)
    assert browser.answer.status in {400, 404}


def test_way_back_stays_on_the_site(browser: Browser) -> None:
    id = stored(browser, "We deploy on Thursdays.", project="shop")
    for back in ("https://example.org/", "//example.org", "/ui//example.org", "/ui/\\example.org", "/other"):
        browser.world.store.unpin(id)
        browser.get(f"/ui/memories/{id}")
        browser.post(f"/ui/memories/{id}/pin", {"back": back})
        assert f"Memory <code>{id[-8:]}" in browser.page

"""Who sees the pages: a link works once, a session ends, and foreign forms do nothing."""

from __future__ import annotations

import re

import pytest

from opencode_memory.server.pages.access import CODE_SECONDS, SESSION_SECONDS, Access
from server.pages.browser import Browser
from support.mcp import World

PAGES = ["/", "/search?q=x", "/review", "/log", "/sessions", "/projects", "/health"]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_code_works_once() -> None:
    access = Access()
    code = access.new_code()
    cookie = access.enter(code)
    assert cookie is not None
    assert access.find(cookie) is not None
    assert access.enter(code) is None
    assert access.enter("") is None
    assert access.find("") is None


def test_code_and_session_end() -> None:
    clock = Clock()
    access = Access(clock)
    late = access.new_code()
    cookie = access.enter(access.new_code())
    assert cookie is not None
    clock.now = CODE_SECONDS
    assert access.enter(late) is None
    clock.now = SESSION_SECONDS - 1
    assert access.find(cookie) is not None
    # Each visit renews the session.
    clock.now += SESSION_SECONDS - 1
    assert access.find(cookie) is not None
    clock.now += SESSION_SECONDS
    assert access.find(cookie) is None


def test_old_codes_and_sessions_make_room() -> None:
    access = Access()
    first = access.new_code()
    for _ in range(20):
        access.new_code()
    assert access.enter(first) is None
    cookies = [access.enter(access.new_code()) for _ in range(51)]
    assert access.find(str(cookies[0])) is None
    assert access.find(str(cookies[-1])) is not None


def test_two_browsers_have_two_sessions(world: World) -> None:
    browser = Browser(world).sign_in()
    one = browser.cookie
    two = browser.sign_in().cookie
    assert one != two


@pytest.mark.parametrize("path", PAGES)
def test_page_needs_a_session(world: World, path: str) -> None:
    world.store.remember("The walrus is secret.")
    browser = Browser(world)
    for cookie in ("", "opencode_memory_9824=wrong", "opencode_memory_0=wrong"):
        browser.cookie = cookie
        page = browser.get(f"/ui{path}")
        assert browser.answer.status == 401
        assert "walrus" not in page
        assert "opencode-memory ui" in page


def test_link_needs_the_token(world: World) -> None:
    browser = Browser(world)
    assert [browser.link(token).status for token in ("", "wrong", "t0ken")] == [401, 401, 200]


def test_used_link_is_refused_and_says_what_to_do(world: World) -> None:
    browser = Browser(world)
    found = re.search(rb'"path":"([^"]+)"', browser.link().body)
    assert found is not None
    path = found[1].decode()
    browser.get(path)
    assert browser.answer.status == 200
    browser.cookie = ""
    assert "used before" in browser.get(path)
    assert browser.answer.status == 401


def test_cookie_is_for_this_site_and_unreadable_for_scripts(world: World) -> None:
    browser = Browser(world)
    found = re.search(rb'"path":"([^"]+)"', browser.link().body)
    assert found is not None
    given = browser._send("GET", found[1].decode()).headers[b"set-cookie"].decode().lower()
    assert "httponly" in given
    assert "samesite=strict" in given
    assert "path=/ui" in given


def test_foreign_form_changes_nothing(browser: Browser) -> None:
    id = browser.world.store.remember("Keep me.").id
    browser.get("/ui/")
    for form in ("", "wrong"):
        browser.post(f"/ui/memories/{id}/archive", form=form)
        assert browser.answer.status == 403
    assert browser.world.store.get(id).status == "active"


def test_form_of_another_session_changes_nothing(browser: Browser, world: World) -> None:
    id = world.store.remember("Keep me.").id
    browser.get("/ui/")
    theirs = browser.value("form")
    browser.sign_in()
    browser.get("/ui/")
    browser.post(f"/ui/memories/{id}/archive", form=theirs)
    assert browser.answer.status == 403


@pytest.mark.parametrize("path", [*PAGES, "/nowhere", "/static/app.css", "/static/app.js"])
def test_headers_keep_everything_foreign_out(browser: Browser, path: str) -> None:
    browser.get(f"/ui{path}")
    headers = browser.answer.headers
    policy = headers[b"content-security-policy"].decode()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers[b"x-content-type-options"] == b"nosniff"


def test_static_files_are_only_the_known_ones(browser: Browser) -> None:
    for name in ("app.js", "app.css", "icon.svg"):
        browser.get(f"/ui/static/{name}")
        assert browser.answer.status == 200
    for name in ("site.py", "..%2faccess.py", "base.html", ""):
        browser.get(f"/ui/static/{name}")
        assert browser.answer.status in {401, 404}


def test_pages_load_nothing_from_elsewhere(browser: Browser) -> None:
    browser.world.store.remember("See https://example.org/x.")
    for path in PAGES:
        page = browser.get(f"/ui{path}")
        assert re.findall(r'(?:src|href|action)="(?!/ui/|\?|#)[^"]+"', page) == []
        assert " style=" not in page
        assert not re.search(r"<script(?! src=)", page)
        assert " onclick" not in page

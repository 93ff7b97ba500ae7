"""A browser for the pages: keeps its cookie, and sends the forms that a page has."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.routing import Mount

from opencode_memory.server.pages.site import build_site
from support.asgi import OUR_HOST, Answer, ask, body_messages, http_scope
from support.mcp import World

TOKEN = "t0ken"


@dataclass
class Browser:
    """A browser, and the server that it visits.

    Attributes:
        world: The server.
        page: The page that it shows.
        answer: The last answer.
        cookie: Its cookie; empty if it has none.
    """

    world: World
    page: str = ""
    answer: Answer = field(default_factory=lambda: Answer([]))
    cookie: str = ""

    def __post_init__(self) -> None:
        self._app = Starlette(routes=[Mount("/ui", app=build_site(self.world.state, token=TOKEN))])

    def link(self, token: str = TOKEN) -> Answer:
        """Ask for a link, as the command does."""
        return self._send("POST", "/ui/link", b"{}", (b"authorization", f"Bearer {token}".encode()))

    def sign_in(self) -> Browser:
        """Open a link, and follow it."""
        path = re.search(rb'"path":"([^"]+)"', self.link().body)
        assert path is not None
        self.get(path[1].decode())
        return self

    def get(self, path: str) -> str:
        """Open a page; returns its text."""
        return self._follow(self._send("GET", path))

    def post(self, path: str, fields: dict[str, str | list[str]] | None = None, *, form: str | None = None) -> str:
        """Send a form of this page, with its hidden fields; returns the page that follows."""
        own = re.search(r'name="form" value="([^"]+)"', self.page)
        secret = form if form is not None else own[1] if own else ""
        body = urlencode({**self._hidden(path), "form": secret, **(fields or {})}, doseq=True).encode()
        return self._follow(self._send("POST", path, body))

    def value(self, name: str) -> str:
        """Return the value of the first field of this name."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.page)
        assert found is not None, self.page
        return html.unescape(found[1])

    def textarea(self) -> str:
        """Return the first text of several lines that this page lets a person edit, as browsers read it."""
        found = re.search(r"<textarea[^>]*>\n?([^<]*)</textarea>", self.page)
        assert found is not None, self.page
        return html.unescape(found[1]).replace("\r\n", "\n")

    def _hidden(self, path: str) -> dict[str, str]:
        """Return the hidden fields of the form of this page that is sent to a path."""
        form = re.search(rf'<form method="post" action="{re.escape(path)}".*?</form>', self.page, re.DOTALL)
        fields = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form[0]) if form else []
        return {name: html.unescape(value) for name, value in fields}

    def _follow(self, answer: Answer) -> str:
        cookies = SimpleCookie(answer.headers.get(b"set-cookie", b"").decode())
        for name, morsel in cookies.items():
            self.cookie = f"{name}={morsel.value}"
        if answer.status == 303:
            return self._follow(self._send("GET", answer.headers[b"location"].decode()))
        self.answer, self.page = answer, answer.body.decode()
        return html.unescape(self.page)

    def _send(self, method: str, path: str, body: bytes = b"", *headers: tuple[bytes, bytes]) -> Answer:
        path, _, query = path.partition("?")
        given = (OUR_HOST, *headers, *([(b"cookie", self.cookie.encode())] if self.cookie else []))
        scope = http_scope(given, path=path, query_string=query.encode())
        return ask(self._app, {**scope, "method": method}, body_messages(body))


def stored(browser: Browser, content: str, **more: Any) -> str:
    """Store a memory in the store of the server that a browser visits; returns its id."""
    return browser.world.store.remember(content, **more).id


def status(browser: Browser, id: str) -> str:
    """Return the status of a memory."""
    return browser.world.store.get(id).status

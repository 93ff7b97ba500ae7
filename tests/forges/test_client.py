"""Requests to a forge: slow servers, and the words that a refusal has."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from opencode_memory.config.forge import ForgeKind
from opencode_memory.forges.client import Response, fetch
from opencode_memory.forges.errors import ForgeError
from opencode_memory.forges.hosts import Forge
from opencode_memory.forges.item import Item, Reference, parse_item, parse_reference
from support.forge_server import HOST, TOKEN, ForgeServer, Reply, github_issue

NOW = datetime(2026, 9, 21, tzinfo=UTC)
REFERENCE = Reference(HOST, "acme/shop", "#", 12)


def ask(server: ForgeServer, *, timeout_seconds: float = 10.0, etag: str | None = None) -> Response:
    forge = Forge(
        host=HOST, kind=ForgeKind.GITHUB, api=server.url, is_loopback=True, token=TOKEN, token_source="GH_TOKEN"
    )
    return fetch(forge, REFERENCE, etag=etag, at=NOW, timeout_seconds=timeout_seconds)


def test_slow_forge_times_out(forge: ForgeServer) -> None:
    forge.script = [Reply(hangs=True)]
    with pytest.raises(ForgeError, match=r"did not answer within 0\.2 s") as failure:
        ask(forge, timeout_seconds=0.2)
    assert failure.value.is_of_host


def test_forge_that_is_gone_is_named(forge: ForgeServer) -> None:
    with ForgeServer() as closed:
        pass
    with pytest.raises(ForgeError, match=f"cannot connect to {HOST}") as failure:
        ask(closed)
    assert failure.value.is_of_host


@pytest.mark.parametrize("etag", ["x" * 201, "", "a\tb", "\u00e4"])
def test_unusable_etag_is_not_kept(etag: str, forge: ForgeServer) -> None:
    body = b'{"title": "x", "state": "open"}'
    forge.script = [Reply(headers={"ETag": etag.encode().decode("latin-1")}, body=body)]
    assert ask(forge).etag is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "Mon, 21 Sep 2026 00:01:00 GMT"}, 60.0),
        ({"Retry-After": "-7"}, 60.0),
        ({"Retry-After": "9999999"}, 86_400.0),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW.timestamp()) + 90)}, 90.0),
        ({"RateLimit-Remaining": "0", "RateLimit-Reset": str(int(NOW.timestamp()) + 90)}, 90.0),
        ({"RateLimit-Remaining": "0", "RateLimit-Reset": "1"}, 0.0),
        ({"RateLimit-Remaining": "0", "RateLimit-Reset": "9" * 5000}, 60.0),
        ({}, 60.0),
    ],
)
def test_forge_says_how_long_it_limits_requests(headers: dict[str, str], seconds: float, forge: ForgeServer) -> None:
    forge.script = [Reply(status=429, headers=headers)]
    with pytest.raises(ForgeError, match="limits the number of requests") as failure:
        ask(forge)
    assert failure.value.wait_seconds == seconds


def test_unchanged_item_has_no_body(forge: ForgeServer) -> None:
    forge.items["/repos/acme/shop/issues/12"] = github_issue()
    first = ask(forge)
    second = ask(forge, etag=first.etag)
    assert (first.is_unchanged, second.is_unchanged, second.item) == (False, True, None)


def test_item_survives_its_json(forge: ForgeServer) -> None:
    forge.items["/repos/acme/shop/issues/12"] = github_issue()
    item = ask(forge).item
    assert isinstance(item, Item)
    assert parse_item(item.to_json()) == item


@pytest.mark.parametrize(
    "name",
    [
        "",
        "#12",
        "github.com#12",
        "github.com/../x#12",
        "github.com/a/b#012",
        "github.com/a/b@12",
        "github.com/a b/c#1",
        "github.com/" + "a" * 500 + "/b#1",
        "github.com/a/b#12\n",
        "github.com//b#12",
        "github.com/a/b#12345678901",
    ],
)
def test_name_that_is_no_item(name: str) -> None:
    assert parse_reference(name) is None

"""Validation of the settings of the optional LLM."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from opencode_memory.errors import InvalidInputError
from opencode_memory.learning.digest.settings import DigestSettings, parse_endpoint

URL = "http://127.0.0.1:11434/v1"
KEY = "sk-verysecretverysecretverysecret"


@pytest.mark.parametrize(
    ("base", "url"),
    [
        (URL, "http://127.0.0.1:11434/v1/chat/completions"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1/chat/completions"),
        ("http://127.0.0.1:11434/v1/chat/completions", "http://127.0.0.1:11434/v1/chat/completions"),
        ("HTTP://LocalHost:80", "http://localhost:80/chat/completions"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
        ("http://127.8.9.1", "http://127.8.9.1/chat/completions"),
        ("https://api.example.com/v1", "https://api.example.com/v1/chat/completions"),
        ("https://example.com/openai/My-Model/v1", "https://example.com/openai/My-Model/v1/chat/completions"),
    ],
)
def test_base_url_is_completed_to_the_endpoint(base: str, url: str) -> None:
    assert parse_endpoint(base).url == url


@pytest.mark.parametrize(
    "base",
    [
        "http://example.com/v1",
        "http://192.168.1.7:11434/v1",
        "http://0.0.0.0:11434/v1",
        "http://localhost.example.com/v1",
        "http://127.0.0.1.example.com/v1",
        "http://[2001:db8::1]/v1",
        "http://[::ffff:10.0.0.1]/v1",
    ],
)
def test_remote_url_requires_https(base: str) -> None:
    with pytest.raises(InvalidInputError, match="must use https") as refused:
        DigestSettings(model="m", url=base)
    assert refused.value.field == "learning.digest_url"
    assert not parse_endpoint(base.replace("http:", "https:")).is_loopback


@pytest.mark.parametrize(
    "base",
    [
        "",
        "127.0.0.1:11434",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "http://user:hunter2@127.0.0.1/v1",
        "http://127.0.0.1\\@example.com/v1",
        "http://127.0.0.1/v1?key=hunter2",
        "http://127.0.0.1/v1#hunter2",
        "http://127.0.0.1:70000/v1",
        "http://127.0.0.1:/v1",
        "http://127.0.0.1/a b",
        "http:///v1",
        "http://127.0.0.1/v1\nHost: example.com",
        "https://exämple.com/v1",
    ],
)
def test_invalid_url_is_refused_and_not_quoted(base: str) -> None:
    with pytest.raises(InvalidInputError, match="is not of the form") as refused:
        DigestSettings(model="m", url=base)
    assert refused.value.field == "learning.digest_url"
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "schlüssel", "tab\t"])
def test_key_unfit_for_a_header_is_refused_and_not_quoted(key: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        DigestSettings(model="m", url=URL, key=key)
    assert refused.value.field == "key"
    assert not key or key not in str(refused.value)


def test_key_is_not_in_repr() -> None:
    settings = DigestSettings(model="m", url=URL, key=KEY)
    assert settings.key == KEY
    assert KEY not in repr(settings)
    assert KEY not in str(settings)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", ""),
        ("model", " m"),
        ("model", "m\n"),
        ("model", "m" * 201),
        ("timeout_seconds", 0),
        ("timeout_seconds", 601),
        ("timeout_seconds", float("nan")),
        ("max_answer_tokens", 63),
        ("max_answer_tokens", 32_001),
        ("calls_per_day", 0),
        ("calls_per_day", 100_001),
        ("tokens_per_day", 999),
        ("tokens_per_day", 10**9 + 1),
    ],
)
def test_value_outside_its_limits_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError) as refused:
        DigestSettings(**{"model": "m", "url": URL, field: value})
    assert refused.value.field == field
    assert field in str(refused.value)


def test_http_client_is_not_imported_with_the_package() -> None:
    code = "import sys, opencode_memory.learning.digest; print('httpx2' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert said.stdout == "False\n"

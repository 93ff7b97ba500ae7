"""Tests of masking e-mail addresses."""

from __future__ import annotations

import pytest

from opencode_memory.text.emails import mask_emails


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Ask ann.smith@example.com about billing.", "Ask [email] about billing."),
        ("Ann <ann+work@mail.example.co.uk>, Bob", "Ann <[email]>, Bob"),
        ("cat /Volumes/Drive-ann@example.com/notes/todo.md", "cat /Volumes/[email]/notes/todo.md"),
        ("git config user.email ann@example.com", "git config user.email [email]"),
        ("--author='Ann <12345+ann@users.noreply.example.com>'", "--author='Ann <[email]>'"),
        ("see https://example.com/?user=ann%40example.com&x=1", "see https://example.com/?user=[email]&x=1"),
        ("mailto:ann@example.com", "mailto:[email]"),
        ("ann@example.com: the port is 4000", "[email]: the port is 4000"),
        ("ANN@EXAMPLE.COM", "[email]"),
        ("jürgen@müller.example", "[email]"),
        ("a@example.com,b@example.org", "[email],[email]"),
    ],
)
def test_address_of_a_person_is_masked(text: str, masked: str) -> None:
    assert mask_emails(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "git clone git@github.com:shop/web.git",
        "git remote add origin ssh://git@git.example.com/shop/web",
        "clone https://token@git.example.com/shop",
        "scp build.tgz deploy@web1.example.com:/srv/app",
        "rsync -a out/ ci@files.example.com:releases/out",
        "pnpm add @scope/pkg @types/node@20.1.0 react@18.2.0",
        "uses: actions/checkout@v4",
        "image: redis@sha256:0123",
        "assets/logo@2x.png",
        "systemctl restart worker@blue.service",
        "y = w@x.mean(axis=0)",
        "@app.route('/')",
        "no address at all",
    ],
)
def test_remote_package_and_file_stay(text: str) -> None:
    assert mask_emails(text) == text

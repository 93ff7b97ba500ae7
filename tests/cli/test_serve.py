"""Options of ``serve``."""

from __future__ import annotations

import click
import pytest

from opencode_memory.cli.serve import serve


def parse(*arguments: str) -> dict[str, object]:
    context = serve.make_context("serve", list(arguments))
    return context.params


@pytest.mark.parametrize(("given", "expected"), [("core", "core"), ("all", "all"), ("CORE", "core")])
def test_tools_are_named_as_in_the_configuration(given: str, expected: str) -> None:
    assert parse("--tools", given)["tools"] == expected


def test_unknown_tools_are_refused_with_the_known_ones() -> None:
    with pytest.raises(click.BadParameter, match="all"):
        parse("--tools", "some")

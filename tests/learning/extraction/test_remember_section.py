"""Section "Remember" of a summary: its form, and the grounding of its quotes in the user's words."""

from __future__ import annotations

import pytest

from opencode_memory.learning.extraction.events import Compaction, SessionInfo
from opencode_memory.learning.extraction.remember_section import (
    MOST,
    REQUEST,
    extract_from_summary,
    parse_other_sections,
    parse_section,
)
from opencode_memory.learning.extraction.session_state import SessionState
from opencode_memory.models import Category
from support.learning import SHOP, agent, find_candidates, user

TYPED = "Hmm, the office rejected it once more: amounts with four digits, that is how the export has to look."
ORDER = "Please never put the tax id into the file name, whatever the customer says."
LINE = '- decision: The tax export shows amounts with four digits. — "amounts with four digits"'


def summarise(*lines: str, title: str = "## Remember") -> str:
    return "\n".join(["## Objective", "- Build the export.", "", title, *lines])


def contents(*lines: str, info: SessionInfo = SHOP, title: str = "## Remember") -> list[tuple[str, str, bool]]:
    summary = Compaction(summary=summarise(*lines, title=title))
    found = find_candidates(user(TYPED), agent("Done."), user(ORDER), agent("Done."), summary, info=info)
    return [(one.category, one.content, one.is_persons) for one in found if one.rule == "quoted in a summary"]


def test_line_is_parsed_into_kind_text_and_quote() -> None:
    [line] = parse_section(summarise(LINE))
    assert (line.kind, line.text, line.quote) == (
        Category.DECISION,
        "The tax export shows amounts with four digits.",
        "amounts with four digits",
    )


@pytest.mark.parametrize(
    "line",
    [
        LINE.replace("—", "-"),
        LINE.replace("—", "–").replace("- decision", "* **Decision**"),
        LINE.replace(' "', " “").replace('digits"', "digits”"),
        f"{LINE}.",
    ],
)
def test_common_variants_of_a_line_are_read(line: str) -> None:
    [parsed] = parse_section(summarise(line, title="### Remember:"))
    assert parsed.quote == "amounts with four digits"
    assert parsed.text == "The tax export shows amounts with four digits."


@pytest.mark.parametrize(
    "line",
    [
        "- The tax export shows amounts with four digits.",
        "- decision: The tax export shows amounts with four digits.",
        LINE.replace("decision", "summary"),
        LINE.replace('amounts with four digits"', 'four digits"'),
        LINE.replace("The tax export shows amounts with four digits.", "Digits."),
        f'- decision: {"long " * 200} — "amounts with four digits"',
        "(none)",
        "- (none)",
        "",
    ],
)
def test_line_of_another_form_is_left_out(line: str) -> None:
    assert parse_section(summarise(line)) == ()


def test_only_the_section_is_read_and_only_its_first_lines() -> None:
    assert parse_section(summarise(LINE, title="## Next Move")) == ()
    assert parse_section(f"{summarise()}\n## Relevant Files\n{LINE}") == ()
    assert len(parse_section(summarise(*[LINE] * 20))) == MOST


def test_request_shows_the_form_that_is_parsed() -> None:
    [example] = [line for line in REQUEST.splitlines() if line.startswith("- kind: ")]
    filled = example.replace("kind", "fact").replace("statement", "Ann owns the export.").replace("quote", TYPED)
    [parsed] = parse_section(f"## Remember\n{filled}")
    assert (parsed.kind, parsed.text, parsed.quote) == (Category.FACT, "Ann owns the export.", TYPED)


def test_statement_with_the_users_words_is_a_candidate() -> None:
    assert contents(LINE) == [("decision", "The tax export shows amounts with four digits.", True)]


def test_invented_quote_is_dropped() -> None:
    assert contents(LINE.replace('amounts with four digits"', 'amounts with two digits always"')) == []


def test_words_of_the_agent_are_no_quote_of_the_user() -> None:
    line = '- decision: The export is written in Rust. — "the export is written in Rust"'
    told = (user(TYPED), agent("So the export is written in Rust."), Compaction(summary=summarise(line)))
    assert [one for one in find_candidates(*told) if one.rule == "quoted in a summary"] == []


def test_instruction_is_the_users_only_if_the_quote_is_a_standing_order() -> None:
    weak = '- directive: Exports always show four digits. — "that is how the export has to look"'
    assert contents(weak) == [("directive", "Exports always show four digits.", False)]


def test_statement_that_the_rules_found_is_not_repeated() -> None:
    line = '- directive: Customers\' tax ids never stand in file names. — "never put the tax id into the file name"'
    state = SessionState(typed=(), proposed=())
    assert extract_from_summary(summarise(line), state) == ()
    told = (user(ORDER), Compaction(summary=summarise(line)))
    found = [one for one in find_candidates(*told) if one.category is Category.DIRECTIVE]
    assert len(found) == 1


def test_session_of_a_subagent_has_no_user() -> None:
    assert contents(LINE, info=SessionInfo(id="ses_b", parent="ses_a")) == []


def test_quoting_bullets_of_other_sections_are_weak_statements() -> None:
    bullet = '- User wants "amounts with four digits" in the export'
    [line] = parse_other_sections(summarise(bullet, title="## Important Details"))
    assert (line.kind, line.quote) == (None, "amounts with four digits")
    assert parse_other_sections(summarise(bullet, title="## Next Move")) == ()
    assert parse_other_sections(summarise("- Uses `four digits`", title="### Blocked")) == ()
    summary = Compaction(summary=summarise(bullet, title="## Important Details"))
    [weak] = [one for one in find_candidates(user(TYPED), summary) if one.rule == "quoted in a summary"]
    assert (weak.needs_subject, weak.evidence) == (True, "amounts with four digits")


def test_secrets_of_a_summary_are_redacted() -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    line = f'- fact: The key of the bucket is {key}. — "amounts with four digits"'
    [(_, text, _)] = contents(line)
    assert key not in text

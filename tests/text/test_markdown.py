"""Cutting Markdown into sections: where the cuts are, and that nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.text.front_matter import read_front_matter
from opencode_memory.text.markdown import split

LIMIT = 100_000

MARKDOWN_LINES = st.sampled_from(
    ["# One", "## Two", "### Two", "## Two ##", "#not a heading", "text", "more text", "Title", "===", "---", "***",
     "- item", "> quote", "```", "```python", "~~~~", "    # code", "\t# code", "<!--", "-->", "<pre>", "</pre>",
     "<b>x</b>", "title: x", "tags: [a, b]", "+++", "...", "", " ", "\ufeff", "#", "###### six", "####### seven"]
)  # fmt: skip
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r", ""])


def paths(text: str) -> list[tuple[str, ...]]:
    return [section.path for section in split(text, limit=LIMIT).sections]


@given(st.lists(st.tuples(MARKDOWN_LINES, LINE_ENDS), max_size=40), st.integers(5, 60))
def test_preface_and_sections_together_are_the_file(lines: list[tuple[str, str]], limit: int) -> None:
    text = "".join(line + end for line, end in lines)
    document = split(text, limit=limit)
    assert document.text == text
    assert all(len(section.text) <= limit for section in document.sections)


@given(st.text(max_size=200), st.integers(1, 50))
def test_any_text_survives(text: str, limit: int) -> None:
    assert split(text, limit=limit).text == text


@given(st.lists(st.tuples(MARKDOWN_LINES, st.sampled_from(["\n", "\r\n"])), max_size=40))
def test_line_numbers_point_at_the_first_text_of_a_section(lines: list[tuple[str, str]]) -> None:
    text = "".join(line + end for line, end in lines)
    for section in split(text, limit=LIMIT).sections:
        first = section.text.lstrip().split("\n")[0].rstrip()
        assert (
            text.split("\n")[section.line - 1].strip().removeprefix("\ufeff").strip() == first.strip("\ufeff").strip()
        )


def test_text_before_the_first_heading_is_a_section() -> None:
    document = split("intro\n\n# A\na\n", limit=LIMIT)
    assert [(section.path, section.line, section.text) for section in document.sections] == [
        ((), 1, "intro\n\n"), (("A",), 3, "# A\na\n"),
    ]  # fmt: skip


def test_equal_headings_are_sections_of_their_own() -> None:
    sections = split("# A\n## X\n1\n## X\n2\n# B\n## X\n3\n", limit=LIMIT).sections
    assert [section.path for section in sections] == [("A", "X"), ("A", "X"), ("B", "X")]


def test_heading_without_text_stays_with_the_deeper_one_that_follows() -> None:
    sections = split("# Guide\n\n## Install\nrun it\n\n## Empty\n\n## Last\nx\n", limit=LIMIT).sections
    assert [section.text for section in sections] == [
        "# Guide\n\n## Install\nrun it\n\n",
        "## Empty\n\n",
        "## Last\nx\n",
    ]
    assert sections[0].path == ("Guide", "Install")


def test_paths_follow_the_levels_even_when_some_are_skipped() -> None:
    assert paths("### Deep\nx\n# Top\nx\n### Below\nx\n## Between\nx\n") == [
        ("Deep",), ("Top",), ("Top", "Below"), ("Top", "Between"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "hidden",
    [
        "```sh\n# comment\n```", "~~~\n# comment\n```\n# still\n~~~", "````\n```\n# comment\n````",
        "    # indented code", "<!--\n# comment\n-->", "<pre>\n# shell\n</pre>", "#hashtag", "####### seven",
        "```\n# never closed", "- item\n---", "> quote\n---", "text\n\n---", "<script>\n# x\n</script>",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_heading_is_none(hidden: str) -> None:
    assert paths(f"# A\n{hidden}\n") == [("A",)]


@pytest.mark.parametrize(
    ("heading", "title"),
    [("# A  #", "A"), ("#  C#", "C#"), ("   ## A\tb ", "A b"), ("Title\n=====", "Title"), ("# `x` *y*", "`x` *y*"),
     ("Two\nlines\n---", "Two lines"), ("#", ""), ("## ##", ""), ("<!-- x -->\nTitle\n---", "Title")],
)  # fmt: skip
def test_titles_are_read_from_either_style_of_heading(heading: str, title: str) -> None:
    assert paths(f"intro\n\n{heading}\ntext\n")[-1] == (title,)


def test_windows_line_ends_and_byte_order_mark_are_kept_out_of_the_way() -> None:
    text = "\ufeff---\r\ntitle: T\r\n---\r\n# A\r\n```\r\n# no\r\n```\r\n## B\r\nb"
    document = split(text, limit=LIMIT)
    assert document.text == text
    assert document.front_matter.title == "T"
    assert [(section.path, section.line) for section in document.sections] == [(("A",), 4), (("A", "B"), 8)]
    assert document.sections[1].text == "## B\r\nb"


def test_long_sections_are_cut_between_paragraphs() -> None:
    text = "# A\n" + "".join(f"{'word ' * 20}{number}\n\n" for number in range(30))
    sections = split(text, limit=500).sections
    assert len(sections) > 1
    assert all(section.text.endswith("\n\n") for section in sections)
    assert {section.path for section in sections} == {("A",)}


def test_one_endless_word_is_cut_anywhere() -> None:
    assert [section.text for section in split("x" * 25, limit=10).sections] == ["x" * 10, "x" * 10, "x" * 5]


def test_blank_files_have_no_sections() -> None:
    assert split(" \n\n", limit=LIMIT).sections == ()
    assert split("\ufeff", limit=LIMIT).text == "\ufeff"


def test_file_of_front_matter_alone_is_kept_as_text() -> None:
    document = split("---\ntitle: T\n---\n", limit=LIMIT)
    assert [section.text for section in document.sections] == ["---\ntitle: T\n---\n"]


def test_hostile_headings_are_read_in_linear_time() -> None:
    for line in ("#" + " " * 200_000 + "x", "# " + "# " * 100_000, "-" * 200_000 + "x", "`" * 200_000, "[" * 200_000):
        assert split(line, limit=10**7).text == line


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        (
            "---\ntitle: 'A: b'\ntags: [x, \"y z\", '#w']\ncategory: decision # why\ndate: 2026-03-01\n---\n",
            ("x", "y z", "w"),
        ),
        (
            "---\n#\ntitle: \"A: b\"\ntags:\n  - x\n  - y z\ncategory: decision\ndate: '2026-03-01'\no: 1\n...\n",
            ("x", "y z"),
        ),
        ('+++\ntitle = "A: b"\ntags = ["x"]\ncategory = "decision"\ndate = 2026-03-01\n+++\n', ("x",)),
        ("---\ntitle: A: b\ntags: x, y\ncategory: decision\ndate: 2026-03-01\nlist:\n  nested: 1\n---", ("x", "y")),
    ],
)
def test_front_matter_is_understood(block: str, tags: tuple[str, ...]) -> None:
    found, rest = read_front_matter(block)
    assert (found.title, found.category, found.date, found.tags) == ("A: b", "decision", "2026-03-01", tags)
    assert (found.raw, rest) == (block, "")


@pytest.mark.parametrize(
    "text", ["---\n\nnot closed", "---\nprose without a key\n---\n", "+++\nnot = = toml\n+++\n", "--- \n---\n"]
)
def test_what_is_no_front_matter_stays_text(text: str) -> None:
    assert read_front_matter(text)[1] == text


@given(st.text(alphabet="-+=:.[]\"'# \nab", max_size=60))
def test_no_front_matter_breaks_the_reader(inside: str) -> None:
    for fence in ("---", "+++"):
        text = f"{fence}\n{inside}\n{fence}\nrest"
        found, rest = read_front_matter(text)
        assert found.raw + rest == text

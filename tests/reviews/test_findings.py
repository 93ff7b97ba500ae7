"""Review findings: kept by project, branch and content until they are resolved (predecessor 39)."""

from __future__ import annotations

import subprocess
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.errors import InvalidInputError, NotFoundError
from opencode_memory.reviews import PREFIX, Findings, Seen, branch_of, open_findings, same_words

AT = datetime(2026, 9, 21, 14, 13, tzinfo=UTC)
LATER = AT + timedelta(days=3)
TEXT = "`total` is never reset between two orders"


@pytest.fixture
def kept(store: MemoryStore) -> Findings:
    return Findings(store.kv, "app", "main")


def texts(findings: Findings) -> list[str]:
    return [one.text for one in findings.open()]


def keys(store: MemoryStore) -> list[str]:
    return [entry.key for entry in store.kv.list(PREFIX, project="app")]


def repository(folder: Path, head: str = "ref: refs/heads/main\n") -> Path:
    for part in ("objects", "refs"):
        (folder / ".git" / part).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head)
    return folder


# What is one finding


@pytest.mark.parametrize(
    "other",
    [
        "total is never reset between two orders",
        "Total IS never reset,  between two\norders.",
        "Line 12: `total` is never reset between two orders!",
        "`total` is never reset between two orders (lines 40-44)",
        "`total` is never reset between two orders (L40)",
        "**`total` is never reset** between two orders — at line 7",
    ],
)
def test_another_wording_of_a_finding_is_the_same_finding(kept: Findings, other: str) -> None:
    first = kept.record(TEXT, at=AT, file="src/app.py")
    again = kept.record(other, at=LATER, file="src/app.py")
    assert (again.seen, again.finding.id) == (Seen.KNOWN, first.finding.id)
    assert again.finding.text == TEXT


def test_line_behind_the_name_of_the_file_makes_no_second_finding(kept: Findings) -> None:
    kept.record("app.py:12 resets nothing", at=AT, file="src/app.py")
    assert kept.record("app.py:40:2 resets nothing", at=AT, file="src/app.py").seen is Seen.KNOWN
    assert kept.record("app.py resets nothing", at=AT, file="src/app.py").seen is Seen.KNOWN


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Returns -1 for nothing", "Returns 1 for nothing"),
        ("Compares with a == b", "Compares with a != b"),
        ("Waits while x < 0", "Waits while x > 0"),
        ("Returns ok", "Returns !ok"),
        ("Returns a * b", "Returns a - b"),
        ("Allows 100 MB", "Allows 10 MB"),
        ("Fails at localhost:8080", "Fails at localhost:9090"),
        ("Misses the L1 cache", "Misses the L2 cache"),
        ("Never closes the file", "Closes the file"),
        ("Fehlt für Größe", "Fehlt für Grüße"),
        ("缺少检查", "缺少测试"),
        ("?!", "!?"),
    ],
)
def test_text_with_another_meaning_is_another_finding(kept: Findings, one: str, other: str) -> None:
    assert kept.record(one, at=AT, file="a.py").finding.id != kept.record(other, at=AT, file="a.py").finding.id
    assert sorted(texts(kept)) == sorted([one, other])


def test_same_words_in_two_files_are_two_findings(kept: Findings) -> None:
    assert kept.record(TEXT, at=AT, file="a.py").finding.id != kept.record(TEXT, at=AT, file="b.py").finding.id
    assert kept.record(TEXT, at=AT).finding.file == ""
    assert len(kept.open()) == 3


@pytest.mark.parametrize("file", ["./src/app.py", "src//app.py", "src/app.py:12", "src/app.py:12:5", "`src/app.py`"])
def test_spellings_of_one_path_are_the_same_file(kept: Findings, file: str) -> None:
    first = kept.record(TEXT, at=AT, file="src/app.py")
    assert kept.record(TEXT, at=LATER, file=file).finding.id == first.finding.id


def test_line_that_stands_behind_the_file_is_where_it_is_now(kept: Findings) -> None:
    assert kept.record(TEXT, at=AT, file="src/app.py:12:5").finding.line == 12
    assert kept.record(TEXT, at=AT, file="src/app.py", line=14).finding.line == 14
    assert kept.record(TEXT, at=AT, file="src/app.py").finding.line == 14


def test_moving_lines_make_no_second_finding(kept: Findings) -> None:
    kept.record(TEXT, at=AT, file="a.py", line=12)
    again = kept.record(TEXT, at=LATER, file="a.py", line=112)
    [finding] = kept.open()
    assert (finding.line, finding.reviews, finding.first_seen, finding.last_seen) == (112, 2, AT, LATER)
    assert again.seen is Seen.KNOWN


def test_words_without_any_letter_are_still_words() -> None:
    assert same_words("???") == "???"


# From review to review


def test_finding_stays_until_it_is_resolved(kept: Findings) -> None:
    id_ = kept.record(TEXT, at=AT, file="a.py").finding.id
    assert texts(kept) == [TEXT]
    kept.resolve(id_, at=LATER)
    assert texts(kept) == []


def test_resolved_finding_that_is_found_again_is_open_again(kept: Findings) -> None:
    id_ = kept.record(TEXT, at=AT, file="a.py").finding.id
    kept.resolve(id_, at=AT)
    again = kept.record(TEXT, at=LATER, file="a.py")
    assert (again.seen, again.finding.first_seen, again.finding.reviews) == (Seen.BACK, AT, 2)
    assert texts(kept) == [TEXT]


def test_finding_can_be_recorded_again_by_its_id(kept: Findings) -> None:
    id_ = kept.record(TEXT, at=AT, file="a.py").finding.id
    again = kept.record_again(f"[{id_.upper()}]", at=LATER, line=9)
    assert (again.seen, again.finding.line, again.finding.reviews) == (Seen.KNOWN, 9, 2)
    kept.resolve(id_, at=LATER)
    assert kept.record_again(id_, at=LATER).seen is Seen.BACK


def test_finding_recorded_twice_by_one_review_counts_once(kept: Findings) -> None:
    kept.record(TEXT, at=AT, review="ses_1")
    assert kept.record(TEXT, at=AT, review="ses_1").finding.reviews == 1
    assert kept.record(TEXT, at=AT, review="ses_2").finding.reviews == 2


def test_severity_stays_until_another_one_is_given(kept: Findings) -> None:
    assert kept.record(TEXT, at=AT).finding.severity == "warning"
    assert kept.record(TEXT, at=AT, severity="BUG").finding.severity == "bug"
    assert kept.record(TEXT, at=AT).finding.severity == "bug"


def test_findings_are_sorted_by_severity_and_then_file(kept: Findings) -> None:
    for severity, file in (("note", "d.py"), ("bug", "b.py"), ("warning", "c.py"), ("bug", "a.py")):
        kept.record(TEXT, at=AT, severity=severity, file=file)
    assert [(one.severity, one.file) for one in kept.open()] == [
        ("bug", "a.py"),
        ("bug", "b.py"),
        ("warning", "c.py"),
        ("note", "d.py"),
    ]


def test_open_finding_never_expires_and_a_resolved_one_does(store: MemoryStore, kept: Findings) -> None:
    id_ = kept.record(TEXT, at=AT).finding.id
    assert [entry.expires_at for entry in store.kv.list(PREFIX)] == [None]
    kept.resolve(id_, at=AT)
    [entry] = store.kv.list(PREFIX)
    assert entry.expires_at is not None
    kept.record(TEXT, at=AT)
    assert [entry.expires_at for entry in store.kv.list(PREFIX)] == [None]


def test_finding_on_one_line_has_all_its_details(kept: Findings) -> None:
    finding = kept.record(TEXT, at=AT, file="a.py", line=3, severity="bug").finding
    assert finding.line_of_text == f"[{finding.id}] bug a.py:3: {TEXT}"
    again = kept.record(TEXT, at=AT, file="a.py").finding
    assert again.line_of_text == f"[{finding.id}] bug a.py:3 (in 2 reviews): {TEXT}"
    assert kept.record("General", at=AT).finding.line_of_text.endswith("] warning: General")


# Branches and projects


def test_two_branches_never_touch_each_others_findings(store: MemoryStore, kept: Findings) -> None:
    other = Findings(store.kv, "app", "feature/x")
    id_ = kept.record(TEXT, at=AT, file="a.py").finding.id
    assert other.open() == ()
    with pytest.raises(NotFoundError, match="on branch feature/x"):
        other.resolve(id_, at=AT)
    assert other.record(TEXT, at=AT, file="a.py").finding.id == id_
    other.resolve(id_, at=AT)
    assert texts(kept) == [TEXT]
    assert [one.branch for one in kept.open()] == ["main"]


def test_two_projects_never_touch_each_others_findings(store: MemoryStore, kept: Findings) -> None:
    kept.record(TEXT, at=AT)
    assert open_findings(store, "other", "main") == ()
    Findings(store.kv, "other", "main").record("Another", at=AT)
    assert texts(kept) == [TEXT]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("main", "main:x"),
        ("a" * 300, "a" * 301),
        ("main", "Main"),
        ("功能/一", "功能/二"),
        ("x y", "x  y"),
        ("feature/ghp_0123456789abcdefghijABCDEFGHIJ012345", "feature/ghp_0123456789abcdefghijABCDEFGHIJ012346"),
        ("\x07bell", "bell"),
    ],
)
def test_branches_of_any_name_are_told_apart(store: MemoryStore, one: str, other: str) -> None:
    for branch, text in ((one, "of one"), (other, "of the other")):
        Findings(store.kv, "app", branch).record(text, at=AT)
    assert texts(Findings(store.kv, "app", one)) == ["of one"]
    assert texts(Findings(store.kv, "app", other)) == ["of the other"]


def test_reviewers_at_the_same_time_lose_nothing_of_each_other(store: MemoryStore, kept: Findings) -> None:
    start = threading.Barrier(4)

    def review(reviewer: int) -> None:
        start.wait(60)
        for number in range(10):
            kept.record(f"{reviewer} found {number}", at=AT, file="a.py")
            kept.record(f"All found {number}", at=AT, file="a.py")

    threads = [threading.Thread(target=review, args=(reviewer,)) for reviewer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept.open()) == 50
    assert len(keys(store)) == 50


# What is not acceptable


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 4001])
def test_empty_or_too_long_text_is_refused(store: MemoryStore, kept: Findings, text: str) -> None:
    with pytest.raises(InvalidInputError, match="1 to 4000") as raised:
        kept.record(text, at=AT)
    assert raised.value.field == "text"
    assert keys(store) == []


@pytest.mark.parametrize(
    "wrong",
    [{"severity": "bugg"}, {"line": 0}, {"line": -3}, {"file": "a\0b"}, {"file": "x" * 600}, {"file": "\ud800"}],
)
def test_invalid_argument_is_named_and_no_finding_is_stored(store: MemoryStore, kept: Findings, wrong: dict) -> None:
    with pytest.raises(InvalidInputError) as raised:
        kept.record(TEXT, at=AT, **wrong)
    assert raised.value.field in wrong
    assert keys(store) == []


def test_unknown_severity_error_suggests_the_nearest_one(kept: Findings) -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'bug'"):
        kept.record(TEXT, at=AT, severity="bugg")


@pytest.mark.parametrize("id", ["", "0" * 12, "nothing", "../../../etc", "x" * 1000, "\ud800", "*"])
def test_unknown_id_is_not_found_and_says_what_to_do(kept: Findings, id: str) -> None:
    kept.record(TEXT, at=AT)
    with pytest.raises(NotFoundError) as raised:
        kept.resolve(id, at=AT)
    assert raised.value.hint
    assert texts(kept) == [TEXT]


def test_secrets_are_not_kept_and_do_not_make_two_findings_of_one(store: MemoryStore, kept: Findings) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    first = kept.record(f"The token {secret} is in the code", at=AT, file=f"{secret}.py")
    assert first.redactions == ("github-token",)
    assert secret not in repr(store.kv.list(PREFIX)) + repr(first)
    assert kept.record(first.finding.text, at=AT, file=first.finding.file).seen is Seen.KNOWN


def test_text_that_grows_when_its_secrets_are_replaced_is_still_kept(kept: Findings) -> None:
    text = "password=hunter22 " * 220
    assert len(text) < 4000
    assert len(kept.record(text, at=AT).finding.text) > 4000
    assert len(kept.open()) == 1


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        [],
        {"text": "half"},
        {"file": "a", "severity": "worse", "text": "t", "status": "open", "reviews": 1},
        {"file": 3, "severity": "bug", "text": "t", "status": "open", "reviews": 1},
    ],
)
def test_other_values_under_the_key_prefix_are_left_alone(store: MemoryStore, kept: Findings, value: object) -> None:
    store.kv.set(f"{PREFIX}main:0123456789ab", value)
    store.kv.set(f"{PREFIX}src/app.py:12", {"severity": "bug"})  # the format of opencode-manager
    kept.record(TEXT, at=AT)
    assert texts(kept) == [TEXT]
    with pytest.raises(NotFoundError):
        kept.resolve("0123456789ab", at=AT)


# Which branch


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        ("ref: refs/heads/main\n", "main"),
        ("ref: refs/heads/feature/ümläut\n", "feature/ümläut"),
        ("a" * 40 + "\n", "detached"),
        ("ref: refs/heads/.invalid\n", "none"),
        ("ref: refs/tags/x\n", "none"),
        ("ref: refs/heads/a b\n", "none"),
    ],
)
def test_branch_is_read_from_head(tmp_path: Path, head: str, branch: str) -> None:
    folder = repository(tmp_path / "here", head)
    (folder / "deep" / "down").mkdir(parents=True)
    assert branch_of(folder / "deep" / "down") == branch


def test_outside_of_git_there_is_no_branch(tmp_path: Path) -> None:
    assert branch_of(tmp_path / "nowhere") == "none"


def test_findings_are_kept_if_head_is_not_utf_8(tmp_path: Path, store: MemoryStore) -> None:
    folder = repository(tmp_path / "here")
    (folder / ".git" / "HEAD").write_bytes(b"ref: refs/heads/\xff\xfe\n")
    branch = branch_of(folder)
    Findings(store.kv, "app", branch).record(TEXT, at=AT)
    assert texts(Findings(store.kv, "app", branch)) == [TEXT]


def test_work_trees_of_one_repository_have_their_own_branches(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-C", str(tmp_path / "one"), "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments],
            check=True,
            capture_output=True,
        )

    (tmp_path / "one").mkdir()
    git("init", "-b", "main")
    git("commit", "--allow-empty", "-m", "first")
    git("worktree", "add", "-b", "feature/x", str(tmp_path / "two"))
    git("worktree", "add", "--detach", str(tmp_path / "three"))
    assert [branch_of(tmp_path / name) for name in ("one", "two", "three")] == ["main", "feature/x", "detached"]
    git("checkout", "-b", "other")
    assert branch_of(tmp_path / "one") == "other"

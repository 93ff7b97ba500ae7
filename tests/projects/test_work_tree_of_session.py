"""The work tree of a session, as its texts name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencode_memory import MemoryStore
from opencode_memory.projects.resolver import ProjectResolver
from support.learning import make_reader
from support.opencode import FakeOpenCode
from support.stores import texts

find = ProjectResolver.work_tree_of_session


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir()
    (folder / "src").mkdir()
    return folder


def test_folder_in_a_repository_belongs_to_the_top_of_its_work_tree(top: Path) -> None:
    assert find(str(top)) == find(str(top / "src")) == str(top)


def test_work_tree_is_named_by_the_link_that_the_session_uses(top: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(top)
    assert find(str(link / "src")) == str(link)


@pytest.mark.parametrize("place", ["", "/", str(Path.home()), str(Path.home().parent)])
def test_folder_of_everything_is_no_work_tree(place: str) -> None:
    assert find(place) is None


def test_folder_outside_of_a_repository_is_its_own_work_tree() -> None:
    assert find("/nowhere/shop") == "/nowhere/shop"


def test_reader_of_the_database_learns_relative_paths(store: MemoryStore, top: Path, tmp_path: Path) -> None:
    with FakeOpenCode(tmp_path / "opencode.db") as fake:
        fake.session("ses_a")
        fake.connection.execute("UPDATE session SET directory = ?", (str(top / "src"),))
        fake.user("ses_a", "msg_1", f"From now on always run {top}/scripts/lint.sh before you commit.", at=1_000)
        fake.agent("ses_a", "msg_2", "Done.", at=1_001)
        make_reader(store, fake.path).read(at_ms=10**12)
    [text] = texts(store.list(project="*", category="directive"))
    assert "run scripts/lint.sh" in text

"""Paths below the work tree of a session are learned as relative paths, and ambiguous ones as they are."""

from __future__ import annotations

import pytest

from opencode_memory import MemoryStore
from opencode_memory.learning.extraction.events import ToolCall
from opencode_memory.learning.extraction.local_paths import localise, make_paths_relative
from opencode_memory.learning.learner import Learner
from support.learning import FOLDER, SESSION, agent, bash, messages, user
from support.stores import NOW_MS, texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run /home/ann/shop/scripts/lint.sh first.", "Run scripts/lint.sh first."),
        ("@/home/ann/shop/src/x.py:3 and (/home/ann/shop/a.md)", "@src/x.py:3 and (a.md)"),
        ("`/home/ann/shop/src/` or '/home/ann/shop/src'", "`src/` or 'src'"),
        ("Absolutely run /home/ann/shop/lint.sh.", "Absolutely run lint.sh."),
        ("--config=/home/ann/shop/x.toml", "--config=x.toml"),
        ('"/home/ann/shop/a b.py"', '"a b.py"'),
        ("/home/ann/shop/t.py::test_a and /home/ann/shop/x.py: no", "t.py::test_a and x.py: no"),
        ("cd /home/ann/shop && /home/ann/shop/tool.sh", "cd /home/ann/shop && tool.sh"),
        ("lint --config=/home/ann/shop/lint.toml", "lint --config=lint.toml"),
        ("cd /home/ann/shop/web && /home/ann/shop/tool.sh", "cd web && /home/ann/shop/tool.sh"),
        (
            "Read /home/ann/shop/a.md.\n\nIt is mounted at /home/ann/shop/b.",
            "Read a.md.\n\nIt is mounted at /home/ann/shop/b.",
        ),
    ],
)
def test_path_below_the_work_tree_is_relative(text: str, expected: str) -> None:
    assert make_paths_relative(text, FOLDER) == expected


@pytest.mark.parametrize(
    "text",
    [
        "the folder /home/ann/shop and /home/ann/shop/",
        "/home/ann/shop-old/x.py",
        "/home/ann/shopping/x.py",
        "/mnt/home/ann/shop/x.py",
        "scp ann@host:/home/ann/shop/x.py .",
        "$ROOT/home/ann/shop/x.py and ${ROOT}/home/ann/shop/x.py",
        "/home/ann/shop/../bank/x.py",
        "/home/ann/shop/src/../../bank/x.py",
        "/home/ann/shop/src/..",
        "/home/ann/other/x.py",
        "https://example.org/home/ann/shop/x.py",
        "file:///home/ann/shop/x.py",
        "~/shop/x.py",
        "-I/home/ann/shop/include",
        "docker run --volume /home/ann/shop/data image",
        "In the container, the code is\nin /home/ann/shop/src.",
        "Always use absolute paths, such as /home/ann/shop/x.py.",
        "start --volume /home/ann/shop/data:/data",
        "export PATH=/home/ann/shop/bin:$PATH",
        "Use ExecStart=/home/ann/shop/bin/serve in the unit.",
        'Set SHOP_HOME="/home/ann/shop/data" first.',
        "cd /tmp && /home/ann/shop/tool.sh",
    ],
)
def test_path_that_may_be_another_one_stays(text: str) -> None:
    assert make_paths_relative(text, FOLDER) == text


def test_path_of_windows_is_relative_with_both_separators() -> None:
    text = r"Run C:\work\app\lint.ps1 and c:/work/app/src/x.py, not D:\work\app\x.py."
    assert make_paths_relative(text, r"C:\work\app") == r"Run lint.ps1 and src/x.py, not D:\work\app\x.py."


@pytest.mark.parametrize("tree", ["", "/"])
def test_no_work_tree_changes_nothing(tree: str) -> None:
    assert make_paths_relative("/home/ann/x.py", tree) == "/home/ann/x.py"


def test_message_keeps_its_id_and_its_digest() -> None:
    told = messages(user(f"Edit {FOLDER}/a.py."), agent("Done."), bash(f"cat {FOLDER}/a.py", output=f"{FOLDER}/b.py"))
    localised = localise(told, FOLDER)
    assert [(one.id, one.digest) for one in localised] == [(one.id, one.digest) for one in told]
    [call] = localised[2].events
    assert isinstance(call, ToolCall)
    assert (call.input["command"], call.output) == ("cat a.py", "b.py")
    assert localise(told, None) == told


RULE = f"From now on always run {FOLDER}/scripts/lint.sh before you commit."


def learn(store: MemoryStore, *said: str, project: str | None = "app", tree: str | None = FOLDER) -> list[str]:
    told = messages(*map(user, said))
    Learner(store).process(SESSION, told, project=project, at_ms=NOW_MS, work_tree=tree, is_idle=True)
    return texts(store.list(project="*", category=("directive", "preference", "convention", "decision")))


def test_learned_memory_names_the_file_by_its_relative_path(store: MemoryStore) -> None:
    [text] = learn(store, RULE, "thanks")
    assert "scripts/lint.sh" in text
    assert FOLDER not in text
    [memory] = store.list(project="*", category="directive")
    assert FOLDER not in str(memory.metadata)
    assert memory.entities == ("scripts/lint.sh",)


@pytest.mark.parametrize(
    ("said", "project"),
    [(RULE, None), (f"In all my projects, always run {FOLDER}/scripts/lint.sh before you commit.", "app")],
)
def test_global_memory_keeps_the_absolute_path(store: MemoryStore, said: str, project: str | None) -> None:
    [text] = learn(store, said, "thanks", project=project)
    assert f"{FOLDER}/scripts/lint.sh" in text


def test_memory_that_the_user_wrote_keeps_the_absolute_path(store: MemoryStore) -> None:
    bound = store.in_work_trees("app", [FOLDER])
    id = bound.remember(RULE, project="app").id
    learn(store, RULE, "thanks")
    assert store.get(id).content == RULE

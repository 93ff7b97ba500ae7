"""An attempt to get out of the sandbox by the git that the loop runs outside of it."""

from __future__ import annotations

from pathlib import Path

from loops.repositories import git
from loops.sandbox.cells import make_cell
from opencode_memory.loops.git import Git
from opencode_memory.loops.worktree import Worktree

TRAP = """\
set -e
git init -q lib
cd lib
echo x > code.py
echo '* filter=evil' > .gitattributes
git add --all
git -c user.name=Eve -c user.email=eve@example.org commit -qm x
git config filter.evil.clean "touch '{canary}'; cat"
touch -d @1 code.py
echo made
"""


def test_filter_of_a_repository_inside_of_the_worktree_is_not_run() -> None:
    with make_cell("bwrap") as cell:
        canary = cell.outside / "canary"
        assert cell.run(TRAP.format(canary=canary)).stdout == "made\n"
        tree = Worktree(
            path=cell.tree,
            branch=git(cell.tree, "rev-parse", "--abbrev-ref", "HEAD"),
            base=git(cell.shop, "rev-parse", "HEAD"),
            common=Path(git(cell.shop, "rev-parse", "--path-format=absolute", "--git-common-dir")),
            config_mark=Git(work_tree=cell.shop).config_mark(),
        )
        for _ in range(2):
            tree.tree()
            tree.commit_all("work")
            tree.diff()
            tree.lost_work()
        tree.remove_products()
        assert not canary.exists()

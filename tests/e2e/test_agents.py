"""The agents in the real OpenCode, with a model that tries to write in every way as a read-only agent."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import opencode_memory
from e2e.opencode import MCP_NAME, OpenCode
from e2e.repositories import SHOP
from e2e.scripted_model import Request, ScriptedModel
from e2e.served import Served
from opencode_memory.hosts.opencode.agents import AGENTS, with_reading_shell
from opencode_memory.hosts.opencode.agents.permissions import READING_COMMANDS

Call = tuple[str, dict[str, Any]]

SOURCE = Path(str(files("opencode_memory.hosts.opencode"))) / "plugin" / "opencode-memory" / "agents.ts"
FACT = "The walrus is built with one job."
READ_ONLY = ("architect", "auditor")
SHOWN = {
    "git diff": "+third",
    "git diff HEAD~1 --stat": "walrus.txt",
    "git log -n 1 --oneline": "second",
    "git show HEAD": "+second",
    "git status --short": "M walrus.txt",
    "git blame walrus.txt": "first",
    "git ls-files": "walrus.txt",
    "git branch": "* ",
}

PAST_THE_RULES = r"""
> leak
cd . > leak
git log | cat > leak
git status && git log > leak
{ git log; } > leak
[[ -v 'a[$(touch leak)]' ]]
export GIT_EXTERNAL_DIFF="touch leak"; git diff HEAD~1
export GIT_EXTERNAL_DIFF=./script.sh 1bad=2 || git diff HEAD~1
git diff --outpu\t=leak
""".strip().splitlines()
"""Lines that write in OpenCode although its rules allow only some git commands."""

NOT_PLAIN = [
    *r"""
git log > leak
git log >> leak
git log 2> leak
git log &> leak
git log >| leak
git log | tee leak
(git log) > leak
[[ -n x ]] > leak
A=1 > leak
export A=1 > leak
unset A > leak
3<> leak
for i in 1; do git log; done > leak
case x in x) git log;; esac > leak
! git log > leak
git diff --out''put=leak
git diff --out""put=leak
git diff --{output=leak,stat}
git diff --outpu?=leak
git diff *
git log; touch leak
git log && touch leak
git log || touch leak
git log & touch leak
git log $(touch leak)
git log `touch leak`
git log "$(touch leak)"
git log <(touch leak)
git log $((`touch leak`))
git log ${A:-$(touch leak)}
x='$(touch leak)'; git log ${x@P}
a='b[$(touch leak)]'; [[ $a -eq 1 ]]
declare -x GIT_PAGER='touch leak'; git --paginate log
git() { touch leak; }; git log
alias git='touch leak'; git log
ls | xargs touch leak
find . -name walrus.txt -exec touch leak ';'
git grep -O'touch leak' walrus
""".strip().splitlines(),
    "git log\ntouch leak",
    "git log # x\ntouch leak",
    "cat <<EOF > leak\nx\nEOF",
    "cat <<EOF\n$(touch leak)\nEOF",
]
"""More than one plain command."""

NOT_LISTED = """
git diff --output=leak
git diff --output leak
git log -p --output=leak
git show --outpu leak
git diff --ext-diff
git diff --ext
GIT_EXTERNAL_DIFF=./script.sh git diff HEAD~1
git -c diff.external=./script.sh diff HEAD~1
git -c core.pager=./script.sh log
git --paginate log
git difftool
git branch leak
git branch -D side
git tag leak
git stash
git checkout side
git switch side
git reset --hard HEAD~1
git commit --allow-empty -m leak
git remote add leak leak
git config core.pager leak
git worktree add leak
touch leak
rm walrus.txt
cp walrus.txt leak
sed -i s/first/leak/ walrus.txt
sort -o leak walrus.txt
rg --pre ./script.sh walrus
find . -delete
tee leak
bash -c ./script.sh
./script.sh
sh script.sh
env touch leak
eval touch leak
exec touch leak
coproc touch leak
time touch leak
xargs touch leak
""".strip().splitlines()
"""Plain commands that write, or may."""

WITHOUT_THE_SHELL: list[Call] = [
    ("write", {"filePath": "leak", "content": "x"}),
    ("edit", {"filePath": "walrus.txt", "oldString": "first", "newString": "leak"}),
    ("apply_patch", {"patchText": "*** Begin Patch\n*** Add File: leak\n+x\n*** End Patch"}),
    ("task", {"description": "x", "prompt": "Write a file.", "subagent_type": "general"}),
    ("task", {"description": "x", "prompt": "Write a memory.", "subagent_type": "librarian"}),
    *((f"{server}_remember", {"content": "A leak.", "category": "fact"}) for server in (MCP_NAME, "other")),
    (f"{MCP_NAME}_kv_set", {"key": "leak", "value": 1}),
    (f"{MCP_NAME}_kv_delete", {"key": "kept"}),
    (f"{MCP_NAME}_bulk_archive", {"reason": "leak", "older_than_days": 0}),
    (f"{MCP_NAME}_export_memories", {"output_path": "leak"}),
    *((name, {}) for name in ("memory-write", "memory-edit", "memory-delete", "memory-kv-set", "memory-kv-delete")),
    ("deploy", {}),
]
"""Calls of tools that write files or memories, one of them of an unknown server."""

PLUGIN = """
import { mergePermissions, readOnlyShell } from %(source)s;
const agents = %(agents)s;
const names = ["memory-write", "memory-edit", "memory-delete", "memory-kv-set", "memory-kv-delete", "memory-read", "deploy"];
export default {
  id: "agents",
  server: async ({ directory }) => {
    const tool = (name) => ({
      description: name,
      args: {},
      execute: async () => {
        await Bun.write(`${directory}/leak-${name}`, "");
        return name;
      },
    });
    return {
      config: async (config) => {
        config.agent ??= {};
        for (const [name, agent] of Object.entries(agents)) config.agent[name] ??= mergePermissions(agent, config.permission);
      },
      tool: Object.fromEntries(names.map((name) => [name, tool(name)])),
      ...readOnlyShell(agents, directory),
    };
  },
};
"""
"""A plugin that configures the agents as ours does, with tools that leave a file behind."""

ASK = """
import { readOnlyShell } from %(source)s;
const hooks = readOnlyShell(%(agents)s, "/project");
const { agents, calls } = await Bun.stdin.json();
for (const agent of agents) await hooks["chat.params"]({ sessionID: "s", agent, message: { agent: agents[0] } });
const refused = [];
for (const [tool, args] of calls)
  refused.push(await hooks["tool.execute.before"]({ tool, sessionID: "s" }, { args }).then(() => false, () => true));
console.log(JSON.stringify(refused));
"""


@pytest.fixture
def walrus(shop: Path) -> Path:
    """A repository with files to read and to run, and with a folder that is a repository of another person."""
    (shop / "walrus.txt").write_text("first\n")
    (shop / "secrets.txt").write_text("hidden\n")
    (shop / "script.sh").write_text("#!/bin/sh\ntouch leak\n")
    (shop / "script.sh").chmod(0o755)
    _git(shop, "add", ".")
    _git(shop, "commit", "--quiet", "--message", "first")
    (shop / "walrus.txt").write_text("first\nsecond\n")
    _git(shop, "commit", "--quiet", "--all", "--message", "second")
    _git(shop, "branch", "side")
    (shop / "walrus.txt").write_text("first\nsecond\nthird\n")
    _git(shop, "init", "--quiet", "--bare", "vendored")
    for name, value in (("bare", "false"), ("worktree", ".."), ("fsmonitor", "touch leak")):
        _git(shop / "vendored", "--git-dir", ".", "config", f"core.{name}", value)
    return shop


@pytest.mark.parametrize("agent", READ_ONLY)
def test_read_only_agent_cannot_write_but_can_read(
    served: Served, model: ScriptedModel, opencode: OpenCode, walrus: Path, tmp_path: Path, agent: str
) -> None:
    remembered(served)
    plugin = tmp_path / "agents.js"
    plugin.write_text(PLUGIN % {"source": json.dumps(SOURCE.as_uri()), "agents": json.dumps(with_reading_shell())})
    configure(opencode, model, served, plugin=[plugin.as_uri()], permission={"read": {"secrets.txt": "deny"}})
    before = everything(walrus), everything_known(served)

    lines = [*PAST_THE_RULES, *NOT_LISTED[::6]]
    last = calls(
        opencode,
        model,
        walrus,
        agent,
        *(("bash", {"command": line, "description": "x"}) for line in lines),
        ("bash", {"command": "git status", "description": "x", "workdir": str(walrus / "vendored")}),
        *WITHOUT_THE_SHELL,
        *(("bash", {"command": line, "description": "x"}) for line in SHOWN),
        ("read", {"filePath": str(walrus / "walrus.txt")}),
        ("read", {"filePath": str(walrus / "secrets.txt")}),
        (f"{MCP_NAME}_recall", {"query": "How is the walrus built?"}),
    )

    assert (everything(walrus), everything_known(served)) == before
    *tried, own, secret, recalled = last.tool_results
    shown = tried[-len(SHOWN) :]
    assert [part in text for part, text in zip(SHOWN.values(), shown, strict=True)] == [True] * len(SHOWN), shown
    assert "third" in own
    assert "hidden" not in secret
    assert FACT in recalled
    refused = tried[: len(lines) + 1]
    assert [text for text in refused if "only reads" not in text] == []
    assert "bash" in last.tools
    assert not {"edit", "write", "apply_patch", "task", "deploy", "other_recall", f"{MCP_NAME}_remember"} & set(
        last.tools
    )
    assert not {name for name, _ in WITHOUT_THE_SHELL} & set(last.tools)


def test_read_only_agent_without_the_plugin_has_no_shell(
    served: Served, model: ScriptedModel, opencode: OpenCode, walrus: Path
) -> None:
    configure(opencode, model, served, agent=AGENTS)
    before = everything(walrus)
    last = calls(
        opencode,
        model,
        walrus,
        "architect",
        ("bash", {"command": "> leak", "description": "x"}),
        ("bash", {"command": "git log", "description": "x"}),
        ("read", {"filePath": str(walrus / "walrus.txt")}),
    )
    assert everything(walrus) == before
    assert "third" in last.tool_results[-1]
    assert "bash" not in last.tools


def test_librarian_writes_memories_but_no_files(
    served: Served, model: ScriptedModel, opencode: OpenCode, walrus: Path
) -> None:
    configure(opencode, model, served, agent=AGENTS)
    before = everything(walrus)
    model.script(
        ("task", {"description": "x", "prompt": "Keep this.", "subagent_type": "librarian"}),
        ("write", {"filePath": str(walrus / "leak"), "content": "x"}),
        (f"{MCP_NAME}_export_memories", {"output_path": str(walrus / "leak")}),
        (f"{MCP_NAME}_remember", {"content": FACT, "category": "fact"}),
        "Kept.",
        "Done.",
    )
    assert "Done." in opencode.session(walrus, "Go.")
    default, librarian, *_ = model.requests
    assert everything(walrus) == before
    assert everything_known(served) == ([FACT], [])
    assert AGENTS["librarian"]["prompt"] in librarian.system
    assert not {"bash", "edit", "write", "task"} & set(librarian.tools)
    assert {"bash", "edit", "write", "task"} < set(default.tools)
    assert not [name for name, agent in AGENTS.items() if agent["prompt"] in default.system]


def test_shell_line_that_is_not_one_listed_command_is_refused(opencode: OpenCode, tmp_path: Path) -> None:
    def refused(agents: list[str], *asked: Call) -> list[bool]:
        script = tmp_path / "ask.ts"
        script.write_text(ASK % {"source": json.dumps(SOURCE.as_uri()), "agents": json.dumps(with_reading_shell())})
        ran = subprocess.run(
            [opencode.binary, script],
            # The program is Bun, too.
            env={"PATH": os.environ["PATH"], "HOME": str(opencode.home), "BUN_BE_BUN": "1"},
            input=json.dumps({"agents": agents, "calls": asked}),
            capture_output=True,
            text=True,
            check=True,
        )
        answers: list[bool] = json.loads(ran.stdout)
        assert len(answers) == len(asked)
        return answers

    bad: list[Call] = [("bash", {"command": line}) for line in PAST_THE_RULES + NOT_PLAIN + NOT_LISTED]
    good: list[Call] = [("bash", {"command": line}) for line in SHOWN]
    listed: list[Call] = [
        ("bash", {"command": pattern.replace("*", "x")})
        for pattern, said in READING_COMMANDS.items()
        if said == "allow"
    ]
    elsewhere: list[Call] = [("bash", {"command": "git log", "workdir": folder}) for folder in ("sub", "/", "..")]
    here: list[Call] = [("bash", {"command": "git log", "workdir": folder}) for folder in (".", "/project/")]
    no_line: list[Call] = [("bash", {}), ("bash", {"command": ["git log"]})]
    wrong = [call for call, no in zip(bad, refused(["auditor"], *bad), strict=True) if not no]
    assert wrong == []
    assert refused(["auditor"], *good, *listed, *here, ("read", {})) == [False] * (len(good) + len(listed) + 3)
    assert all(refused(["auditor"], *elsewhere, *no_line))
    # A title is made in the middle of the session, by an agent of its own.
    assert refused(["architect", "title"], bad[0]) == [True]
    assert refused(["code"], *bad) == [False] * len(bad)


def configure(opencode: OpenCode, model: ScriptedModel, served: Served, **more: Any) -> None:
    server = {"type": "remote", "url": served.url, "oauth": False}
    # Snapshots are for undoing, and take most of the time of a step.
    opencode.configure(model.url, server, {"mcp": {MCP_NAME: server, "other": server}, "snapshot": False, **more})


def calls(opencode: OpenCode, model: ScriptedModel, folder: Path, agent: str, *asked: Call) -> Request:
    """Have an agent make calls, and return its last request, which contains all results."""
    if agent == "auditor":
        # A subagent, as another agent asks for it.
        begin: Call = ("task", {"description": "x", "prompt": "Review.", "subagent_type": agent})
        model.script(begin, *asked, "Reviewed.", "Done.")
        opencode.session(folder, "Go.", agent="code")
        _, *own, _ = model.requests
    else:
        model.script(*asked, "Done.")
        opencode.session(folder, "Go.", agent=agent)
        own = model.requests
    assert AGENTS[agent]["prompt"] in own[0].system
    assert len(own[-1].tool_results) == len(asked)
    return own[-1]


def remembered(served: Served) -> None:
    with opencode_memory.open(served.data_dir) as store:
        store.remember(FACT, scope="global")
        store.kv.set("kept", 1, project=SHOP)


def everything_known(served: Served) -> tuple[list[str], list[str]]:
    with opencode_memory.open(served.data_dir, read_only=True) as store:
        kept = [entry.key for entry in store.kv.list(project=SHOP)]
        return [memory.content for memory in store.list(project="*")], kept


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return all files with mode and content, without files that git and OpenCode write when they read."""
    notes = {folder / ".git" / "index", folder / ".git" / "opencode"}
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and path not in notes
    }


def _git(folder: Path, *arguments: str) -> None:
    who = {f"GIT_{role}_{what}": "somebody@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, **who}
    subprocess.run(["git", *arguments], cwd=folder, env=env, check=True)

"""What a text is about, and what only looks like it."""

from __future__ import annotations

import pytest

from opencode_memory.entities import canonical, find_entities, short

PROJECT = "gitlab.com/group/project"
OWN = {"!": PROJECT, "#": PROJECT, "&": "gitlab.com/group", "@": PROJECT}


def found(text: str, *, project: str | None = PROJECT) -> list[str]:
    """What is found, as one would write it inside the project."""
    return [short(name, project=project) for name in find_entities(text, project=project)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("!123", (f"{PROJECT}!123",)),
        ("see #456.", (f"{PROJECT}#456",)),
        ("part of &789, as said", ("gitlab.com/group&789",)),
        ("group/project!12 group/sub/project#3", (f"{PROJECT}!12", "gitlab.com/group/sub/project#3")),
        ("owner/repo#5 and group&7", ("gitlab.com/owner/repo#5", "gitlab.com/group&7")),
        ("git.acme.dev/a/b!1", ("git.acme.dev/a/b!1",)),
        ("Group/Project!12 and !12", (f"{PROJECT}!12",)),
        ("vercel/next.js#5", ("gitlab.com/vercel/next.js#5",)),
        ("owner/repo@1a2b3c4", ("gitlab.com/owner/repo@1a2b3c4",)),
    ],
)
def test_references_take_host_and_path_from_their_project(text: str, names: tuple[str, ...]) -> None:
    assert find_entities(text, project=PROJECT) == names


def test_epic_of_a_project_in_subgroups_belongs_to_the_nearest_group() -> None:
    assert find_entities("&7", project="gitlab.com/a/b/c") == ("gitlab.com/a/b&7",)


@pytest.mark.parametrize(
    "project", [None, "work", "/home/me/app", "app@1234567890ab", "gitlab.com/p", "a/b", "", "x y/z/w"]
)
def test_without_a_project_on_a_host_references_stay_as_written(project: str | None) -> None:
    text = "!123 #456 &789 group/project!12 group&7 commit abc1234"
    names = ("!123", "#456", "&789", "group/project!12", "group&7", "commit:abc1234")
    assert find_entities(text, project=project) == names


def test_case_of_a_project_makes_no_difference() -> None:
    assert find_entities("!1 acme/SHOP!1", project="GitLab.com/Acme/Shop") == ("gitlab.com/acme/shop!1",)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://gitlab.com/group/project/-/merge_requests/12", f"{PROJECT}!12"),
        ("https://gitlab.com/group/project/merge_requests/12/diffs?view=inline", f"{PROJECT}!12"),
        ("https://gitlab.com/group/project/-/merge_requests/12#note_99", f"{PROJECT}!12"),
        ("https://gitlab.com/Group/Project/-/issues/3", f"{PROJECT}#3"),
        ("https://gitlab.com/group/project/-/issues/incident/3", f"{PROJECT}#3"),
        ("https://gitlab.com/group/project/-/work_items/3", f"{PROJECT}#3"),
        ("https://gitlab.com/groups/group/-/epics/7", "gitlab.com/group&7"),
        ("https://gitlab.com/groups/a/b/epics/7", "gitlab.com/a/b&7"),
        ("https://gitlab.com/groups/a/b/-/work_items/7", "gitlab.com/a/b&7"),
        ("https://gitlab.com/group/project/-/commit/ABC1234?x=1", f"{PROJECT}@abc1234"),
        ("https://gitlab.com/group/project/commit/1234567", f"{PROJECT}@1234567"),
        ("http://me:secret@git.acme.dev:8443/a/b/c/-/merge_requests/1", "git.acme.dev/a/b/c!1"),
        ("http://localhost:3000/a/b/issues/1", "localhost/a/b#1"),
        ("https://github.com/Owner/Repo/issues/5", "github.com/owner/repo#5"),
        ("https://www.github.com/owner/repo/pull/5", "github.com/owner/repo#5"),
        ("https://github.com/owner/repo/pull/5/files#diff-1", "github.com/owner/repo#5"),
        ("https://github.com/owner/repo/pull/5.diff", "github.com/owner/repo#5"),
        ("https://github.com/owner/repo/commit/" + "aB1" * 13 + "c", "github.com/owner/repo@" + "ab1" * 13 + "c"),
        ("https://codeberg.org/owner/repo/pulls/5", "codeberg.org/owner/repo#5"),
    ],
)
def test_addresses_are_named_by_what_they_lead_to(url: str, name: str) -> None:
    assert canonical(url, project=None) == name
    for around in ("{}", "see {}.", "({})", "<{}>", "[!1x]({}), then", "`{}`", "**{}**!", '"{}"', "{}、"):
        assert find_entities(around.format(url), project=None) == (name,)


@pytest.mark.parametrize(
    "url",
    [
        "https://gitlab.com/group/project",
        "https://gitlab.com/group/project/-/issues",
        "https://gitlab.com/group/project/-/issues/new",
        "https://gitlab.com/group/project/-/issues/012",
        "https://gitlab.com/group/project/-/blob/main/docs/issues/12",
        "https://github.com/owner/repo/blob/main/src/app.py#L12",
        "https://github.com/owner/repo/wiki/issues/12",
        "https://github.com/issues/5",
        "https://api.github.com/repos/owner/repo/issues/5",
        "https://gitlab.com/api/v4/projects/9/merge_requests/12",
        "https://intranet/a/b/issues/1",
        "https://x.y/page#12",
        "https://x.y/a/src/app.py",
        "ftp://gitlab.com/a/b/issues/1",
        "file:///src/app.py",
    ],
)
def test_other_addresses_are_about_nothing(url: str) -> None:
    assert find_entities(f"see {url} there", project=PROJECT) == ()
    assert canonical(f" {url} ", project=PROJECT) == url


def test_host_without_a_dot_is_known_from_the_own_project() -> None:
    url = "https://intranet/a/b/-/merge_requests/1"
    assert canonical(url, project="intranet/team/app") == "intranet/a/b!1"
    assert canonical("!1", project="intranet/team/app") == "intranet/team/app!1"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@Alice and @bob-c", ["@alice", "@bob-c"]),
        ("cc @alice, (@bob) and @alice/@carol: done", ["@alice", "@bob", "@carol"]),
        ("@alice's idea. Ask @bob.", ["@alice", "@bob"]),
        ("- @alice\n    - @bob wants it", ["@alice", "@bob"]),
    ],
)
def test_people_are_found(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("src/app/main.py", ["src/app/main.py"]),
        ("src/app.py:12, src/app.py:12:5 and ./src/app.py", ["src/app.py"]),
        ("tests/test_app.py::test_it and src/app.py#L10-L20", ["tests/test_app.py", "src/app.py"]),
        ("a/./b//c/../d.py", ["a/b/d.py"]),
        ("../lib/x.ts ~/.config/app.toml /etc/app/x.conf", ["../lib/x.ts", "~/.config/app.toml", "/etc/app/x.conf"]),
        ("Makefile, README.md. Dockerfile.dev", ["Makefile", "README.md", "Dockerfile.dev"]),
        (
            ".gitignore .github/workflows/ci.yml .gitlab-ci.yml",
            [".gitignore", ".github/workflows/ci.yml", ".gitlab-ci.yml"],
        ),
        ("`src/app.py` and `pytest tests/unit -k x tests/a.py`", ["src/app.py", "tests/a.py"]),
        ("`app/(auth)/[id]/page.tsx`", ["app/(auth)/[id]/page.tsx"]),
        ("main.rs beside docs.rs, lib/x.js beside Node.js", ["main.rs", "lib/x.js"]),
        ("@src/app.ts and @README.md", ["src/app.ts", "README.md"]),
        ("**src/a.py** _README.md_ (b.py) [c.md](docs/c.md)", ["src/a.py", "README.md", "b.py", "c.md", "docs/c.md"]),
        ("docs/page.md#12 and page.html#12", ["docs/page.md", "page.html"]),
        ("src/__init__.py", ["src/__init__.py"]),
        ("修改src/app.py文件", ["src/app.py"]),
        ("src/größe.py", ["src/größe.py"]),
    ],
)
def test_files_are_found(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "e.g. this, i.e. that, at 5 p.m. and etc.",
        "version 1.2.3 of 2026/11/22",
        "example.com, docs.rs, crates.io, sh.rustup.rs and bun.sh",
        "example.com/index.html and www.example.org/a.js",
        "and/or I/O TCP/IP he/she src/app/ a/b/c",
        "Node.js, Next.js, Vue.js/React.js and llama.cpp",
        "response.json() and obj.py(1)",
        "*.py src/**/x.py ${ROOT}/x.py $HOME/x.py <dir>/x.py %TMP%/x.py C:/x.py …/x.py",
        "localhost:8000/app.js",
        "me@example.py git@gitlab.com:group/project.git",
        "all .py, .d.ts and .test.ts files",
        "//cdn.example.com/x.js",
    ],
)
def test_what_looks_like_a_file_is_none(text: str) -> None:
    assert found(text) == []


FULL = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("commit abc1234", ["abc1234"]),
        ("Commits: ABC1234", ["abc1234"]),
        ("sha `abc1234` revision abc1235, rev (abc1236)", ["abc1234", "abc1235", "abc1236"]),
        ("broken in `abc1234`, fixes `abc1235`", ["abc1234", "abc1235"]),
        (f"it was {FULL.upper()}.", [FULL]),
        ("commit:abc1234", ["abc1234"]),
    ],
)
def test_commits_are_found(text: str, names: list[str]) -> None:
    assert found(text) == names
    assert find_entities(text, project=PROJECT) == tuple(f"{PROJECT}@{name}" for name in names)
    assert find_entities(text, project="work") == tuple(f"commit:{name}" for name in names)


@pytest.mark.parametrize(
    "text",
    [
        "abc1234 and `abc1234`",
        "commit 1234567",
        "commit defaced",
        "commit abc123",
        "commit 0x1234abcd",
        "in abc1234",
        f"{FULL}ab",
        "sha 6fa459ea-ee8a-3ca4-894e-db77e160355e",
        "sha256:abc12345",
        "commit abc1234.5 or abc1234.xyz",
    ],
)
def test_other_hexadecimal_numbers_are_no_commits(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "#fff and #a1b2c3",
        "#112233 is nice",
        "#12345678",
        "color: #123",
        "Color:#123;",
        "border: 1px solid #123",
        "a { background-color: #123 }",
        "--brand: #1234; $brand: #123",
        "linear-gradient(90deg, #123, #456)",
        "fill=#123",
        "in colour #123",
        "the background is #123",
        "css #123",
        '<div style="color: #123" id="#12">',
        '<p style="margin: 0; color:\t#123">x</p>',
        "<style>\n.a { x: #123; }\n</style>",
        "`#112233`",
        "color: `#123`",
    ],
)
def test_colours_are_no_issues(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#123 breaks the css", ["#123"]),
        ("The html is broken since #123", ["#123"]),
        ("css fix #123", ["#123"]),
        ("The border is in #123", ["#123"]),
        ("It changed colour. #123 says why", ["#123"]),
        ("closes #112233", ["#112233"]),
        ("group/project#112233", ["#112233"]),
        ("#12345 and #1234567", ["#12345", "#1234567"]),
    ],
)
def test_issues_in_prose_about_colours_are_found(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "@property @staticmethod @classmethod",
        "@pytest.fixture and @app.route",
        "@dataclass(frozen=True)",
        "@anything(1) @any.thing",
        "use @Override and @Deprecated",
        "@Component({ selector: 'x' })",
        "`@anything`",
        "@custom\ndef f(x): ...",
        "@first\n@second\n\tasync def f(): pass",
        "@Custom\npublic class X {",
        "Like this:\n\n    @custom\n    something",
        "\t@custom",
        "@media (max-width: 1px) and @import",
        "@types/node @opencode-ai/plugin",
        "me@example.com, me@example, a.b+c@example.co.uk",
        "left-pad@latest @latest @123 @",
        "@user@social.example",
        "@müller",
        "@param x",
        "@all @here",
        "@@twice .@a /@b =@c",
    ],
)
def test_what_follows_an_at_sign_is_not_always_a_person(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "# 1",
        "##12 ###3",
        "&amp; &#39; &#x27; &789;",
        "page#12, ./page#12, docs.python.org/3/library#12",
        "example.com/page#12 /page#12 ../a/page#12 ~/a/page#12",
        "[x](#12) [x](page#12) [x](docs/page#12)",
        "C#7 F#4",
        "!important != !x",
        "a && b, a &&12, a & 12",
        "cmd &1, 2>&1, 2>&12, >&3, a&1, Q1&2, x=1&22",
        "0x1234 $!12 $#12 %!12",
        "wow!12 project!12 repo#12 é!12",
        "#0 #012 !0 #12345678901",
        "#1.2 !12a #12x #12-34 !12/x #12% ?#12 =#12 \\#12",
        "Step #2, version #3",
        "5128",
        "Port 5128 is taken, as is port #5128",
        "@scope/pkg#12 @scope/pkg@1234567",
        "2026/11/22#3",
    ],
)
def test_what_looks_like_a_reference_is_none(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("(!1) [!2] {!3} \"!4\" '!5' **!6** _!7_ ~~!8~~ >!9 x:!10 !11!", [f"!{number}" for number in range(1, 12)]),
        ("#1-#2 !3/!4 #5,#6 #7;#8 #9+", ["#1", "#2", "!3", "!4", "#5", "#6", "#7", "#8", "#9"]),
        ("#1 is broken", ["#1"]),
        ("[#12](https://gitlab.com/group/project/-/issues/12)", ["#12"]),
        ("epic &1 is not &2", ["&1"]),
        ("#1234567890", ["#1234567890"]),
        ("!12#note_3", ["!12"]),
        ("参见#12和!13", ["#12", "!13"]),
        ("_other/project!12_", ["other/project!12"]),
        ("a < b, !12 > c", ["!12"]),
    ],
)
def test_punctuation_around_a_reference_is_no_part_of_it(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "```\n!12 src/a.py @alice https://github.com/o/r/issues/5\n```",
        "~~~sh\n!12\n```\n!13\n~~~",
        "- list\n  ```py\n  !12\n  ```",
        "> ```\n> !12\n> ```",
        "1. ```\n   !12\n   ```",
        "```\n!12, and never closed",
        "````\n```\n!12\n````",
        "<pre>!12</pre>",
        "`git log !12`",
        "`!12 and !13`",
        "``a ` !12``",
        "`x`!12",
        "`curl https://github.com/o/r/issues/5`",
        "`echo\n!12`",
    ],
)
def test_code_is_about_nothing(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("`!12` ``#13`` ` &14 `", ["!12", "#13", "&14"]),
        ("`owner/repo#5`", ["owner/repo#5"]),
        ("```\ncode\n```\n!12", ["!12"]),
        ("```!12```", ["!12"]),
        ("one ` backtick\n\n!12 and another `", ["!12"]),
        ("talk of <style> and !12", ["!12"]),
        ("~~~\n!1\n~~~~\n!2", ["!2"]),
    ],
)
def test_code_ends_where_markdown_says(text: str, names: list[str]) -> None:
    assert found(text) == names


def test_names_come_once_and_in_the_order_of_the_text() -> None:
    text = "src/a.py by @alice in !2, #1, `commit` abc1234; commit abc1234, again @Alice, SRC/a.py, !2, &3"
    assert found(text) == ["src/a.py", "@alice", "!2", "#1", "abc1234", "&3"]


def test_at_most_fifty_names_are_given_the_first_ones() -> None:
    text = " ".join(f"!{number} @user{number}" for number in range(1, 100))
    names = found(text)
    assert len(names) == 50
    assert names[:2] == ["!1", "@user1"]
    assert names[-1] == "@user25"


def test_names_that_no_store_would_take_are_left_out() -> None:
    assert find_entities("a/" * 300 + "a.py", project=None) == ()
    long_project = f"gitlab.com/{'g' * 250}/{'p' * 248}"
    assert find_entities("!1 #123", project=long_project) == (f"{long_project}!1",)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        (" !12 ", f"{PROJECT}!12"),
        ("`#12`", f"{PROJECT}#12"),
        ("<https://github.com/o/r/pull/5>", "github.com/o/r#5"),
        ("#112233", f"{PROJECT}#112233"),
        ("&1", "gitlab.com/group&1"),
        ("@First.Last", "@first.last"),
        ("@property", "@property"),
        ("abc1234", f"{PROJECT}@abc1234"),
        ("commit:1234567", f"{PROJECT}@1234567"),
        ("other/project@1234567", "gitlab.com/other/project@1234567"),
        ("./src/app.py:12", "src/app.py"),
        ("@src/app.py", "src/app.py"),
        ("/x/../app.py:3", "/x/../app.py"),
    ],
)
def test_typed_references_are_understood(typed: str, name: str) -> None:
    assert canonical(typed, project=PROJECT) == name


@pytest.mark.parametrize(
    "typed",
    [
        "PostgreSQL",
        "12",
        "5128",
        "Port 5128",
        "1234567",
        "defaced",
        "project!12",
        "!012",
        "#x",
        "@types/node",
        "",
        "!",
        "a b.py",
    ],
)
def test_unknown_references_are_only_stripped(typed: str) -> None:
    assert canonical(f"\n {typed}\t", project=PROJECT) == typed


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (f"{PROJECT}!12", "!12"),
        (f"{PROJECT}#12", "#12"),
        ("gitlab.com/group&7", "&7"),
        (f"{PROJECT}@abc1234", "abc1234"),
        (f"{PROJECT}@1234567", "commit:1234567"),
        ("gitlab.com/other/project!12", "other/project!12"),
        ("gitlab.com/other&7", "other&7"),
        ("gitlab.com/a.bc/d!12", "gitlab.com/a.bc/d!12"),
        ("github.com/o/r#5", "github.com/o/r#5"),
        ("src/app.py", "src/app.py"),
        ("PostgreSQL", "PostgreSQL"),
        ("!12", "!12"),
    ],
)
def test_names_are_shown_as_one_writes_them_inside_the_project(name: str, shown: str) -> None:
    assert short(name, project=PROJECT) == shown
    assert short(name, project=None) == name


def test_bare_number_never_stands_for_a_merge_request() -> None:
    blocker = find_entities("Port 5128 is taken", project=PROJECT)
    assert not set(blocker) & set(find_entities("!5128 and #5128 were merged", project=PROJECT))


TREE = "/work/tree"


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        (f"{TREE}/src/app.py", "src/app.py"),
        (f"`{TREE}/src/app.py:12`", "src/app.py"),
        (f"@{TREE}/src/app.py", "src/app.py"),
        (f"{TREE}//src/./x/../app.py", "src/app.py"),
        (f"file://{TREE}/src/app.py#L3", "src/app.py"),
        (f"file://localhost{TREE}/src/app.py", "src/app.py"),
        (f"FILE:{TREE}/src/app.py", "src/app.py"),
        (f"file://{TREE}/my%20notes", "my notes"),
        (f"{TREE}/side/src/app.py", "src/app.py"),
        (f"{TREE}/src", "src"),
        (f"{TREE}/../other/app.py", f"{TREE}/../other/app.py"),
        (f"{TREE}2/app.py", f"{TREE}2/app.py"),
        (f"file://host{TREE}/src/app.py", f"file://host{TREE}/src/app.py"),
        (TREE, TREE),
    ],
)
def test_file_below_a_work_tree_has_its_relative_name(reference: str, name: str) -> None:
    assert canonical(reference, project=PROJECT, work_trees=[TREE, f"{TREE}/side", "/"]) == name


def test_files_of_a_text_below_a_work_tree_have_relative_names() -> None:
    text = f"See {TREE}/src/a.py:3, `{TREE}/src/[id]/b.ts`, <file://{TREE}/c.md>, src/a.py and /etc/app/x.conf."
    names = find_entities(text, project=PROJECT, work_trees=[TREE])
    assert names == ("src/a.py", "src/[id]/b.ts", "c.md", "/etc/app/x.conf")

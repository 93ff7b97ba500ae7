"""Synchronization of ``.opencode/MEMORY.md``: the user's edits, and edits of unknown origin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencode_memory.learning.extraction.candidate import Candidate
from opencode_memory.learning.rejections import is_rejected
from opencode_memory.memory_file import ChangedBy
from opencode_memory.models import Category, Status, Trust
from support.memory_files import (
    AT,
    CONVENTION,
    FACT,
    PREFERENCE,
    Scene,
    contents,
    nothing_happened,
    problem_of,
)

# Changes by the user


def test_bullet_added_by_the_user_becomes_a_user_memory(scene: Scene) -> None:
    scene.replace("## Facts", "- Answer briefly\n\n## Facts")
    report = scene.sync()
    [added] = report.added
    assert added.id is not None
    memory = scene.store.get(added.id)
    assert (memory.content, memory.category, memory.trust, memory.status, memory.project) == (
        "Answer briefly", "preference", Trust.USER, Status.ACTIVE, "app",
    )  # fmt: skip
    assert memory.source.file == ".opencode/MEMORY.md"
    assert f"- Answer briefly <!-- m:{added.id[-8:]} p" in scene.text()
    assert nothing_happened(scene.sync())


def test_user_edits_moves_and_deletions_are_applied(scene: Scene) -> None:
    scene.store.remember("Deploys on Fridays", trust="extracted")
    scene.sync()
    scene.replace("Deploys on Fridays", "Deploys on Mondays")
    scene.drop("9824")
    line = next(line for line in scene.text().splitlines() if "pnpm" in line)
    scene.drop("pnpm")
    scene.replace("## Conventions\n", f"## Conventions\n{line}\n")
    report = scene.sync()
    assert (report.proposed, report.unclear) == ((), ())
    assert contents(report.edited) == ["", "Deploys on Mondays"]
    assert scene.active() == sorted([CONVENTION, PREFERENCE, "Deploys on Mondays"])
    edited = scene.store.get(report.edited[1].id)
    assert (edited.trust, edited.verified_at) == (Trust.USER, AT)
    assert scene.store.get(report.edited[0].id).category == "convention"
    [archived] = report.archived
    assert scene.store.get(archived.id).status is Status.ARCHIVED
    assert "deleted in .opencode/MEMORY.md" in scene.store.history(archived.id)[-1].kind
    assert nothing_happened(scene.sync())


def test_deleted_bullet_that_is_put_back_restores_its_memory(scene: Scene) -> None:
    line = next(line for line in scene.text().splitlines() if "9824" in line)
    scene.drop("9824")
    scene.sync()
    scene.add(f"## Facts\n{line}")
    report = scene.sync()
    assert len(report.restored) == 1
    assert FACT in scene.active()
    assert nothing_happened(scene.sync())


def test_changes_in_the_store_since_the_last_sync_are_kept(scene: Scene) -> None:
    by_text = {one.content: one for one in scene.store.list()}
    scene.store.edit(by_text[PREFERENCE].id, content="Use bun")
    scene.store.archive(by_text[CONVENTION].id)
    scene.store.delete(by_text[FACT].id)
    scene.store.remember("A newer fact")
    report = scene.sync()
    assert (report.added, report.edited, report.archived, report.restored) == ((), (), (), ())
    assert scene.active() == ["A newer fact", "Use bun"]
    assert "9824" not in scene.text()
    assert "- Use bun <!--" in scene.text()


def test_user_edit_wins_over_changes_in_the_store(scene: Scene) -> None:
    by_text = {one.content: one for one in scene.store.list()}
    scene.store.edit(by_text[PREFERENCE].id, content="Use bun")
    scene.store.delete(by_text[FACT].id)
    scene.replace("pnpm, not npm", "yarn")
    scene.replace("9824", "9825")
    scene.sync()
    assert scene.active() == sorted([CONVENTION, "Use yarn", "The port is 9825"])


def test_secret_typed_by_the_user_is_redacted_in_store_and_file(scene: Scene) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    scene.add(f"- The token is {secret}")
    scene.replace(CONVENTION, f"Indent with {secret}")
    report = scene.sync()
    assert "[redacted:github-token]" in str(report)
    assert secret not in str(report)
    assert secret not in scene.text()
    assert not any(secret in text for text in scene.active())
    assert "[redacted" in scene.text()
    assert nothing_happened(scene.sync())


def test_text_outside_bullets_is_moved_behind_the_part(scene: Scene) -> None:
    scene.add("A paragraph of mine.\n\n## Testing\n\n- Run `make test`")
    report = scene.sync()
    assert report.moved_out == 3
    assert contents(report.added) == ["Run `make test`"]
    assert scene.text().endswith("<!-- opencode-memory:end -->\n\nA paragraph of mine.\n\n## Testing\n")
    assert nothing_happened(scene.sync())


def test_edited_shortened_text_is_kept_until_it_is_complete(scene: Scene) -> None:
    long = "Deploys run on Fridays only, because the team watches them then. " * 10
    whose = scene.store.remember(long, category="decision").id
    scene.sync()
    scene.replace("… <!--", "… and on Mondays <!--")
    for _ in range(2):
        before = scene.text()
        report = scene.sync()
        [unclear] = report.unclear
        assert (unclear.id, f"opencode-memory edit --editor {whose[-8:]}" in unclear.reason) == (whose, True)
        assert scene.store.get(whose).content == long
        assert "… and on Mondays" in scene.text()
    assert scene.text() == before
    scene.store.remember("Another fact")
    scene.sync()
    assert "Another fact" in scene.text()
    assert scene.text().count("and on Mondays") == scene.text().count(whose[-8:]) == 1
    scene.change(
        lambda text: text.replace(text[text.index("- Deploys") : text.index(" <!-- m:" + whose[-8:])], "- Mondays")
    )
    assert contents(scene.sync().edited) == ["Mondays"]
    assert scene.store.get(whose).content == "Mondays"


def test_edited_word_keeps_the_lines_and_the_code_of_its_memory(scene: Scene) -> None:
    text = (
        "Release steps:\n\n1. Run `make check`\n   - twice\n\n```sh\nmake   ship\n```\nThen tell Ann."
        + " And wait." * 30
    )
    whose = scene.store.remember(text, category="procedure").id
    scene.sync()
    scene.replace("tell Ann", "tell Bob")
    scene.replace("make ship", "make deploy")
    report = scene.sync()
    assert (len(report.edited), report.unclear) == (1, ())
    wanted = text.replace("tell Ann", "tell Bob").replace("make   ship", "make   deploy")
    assert scene.store.get(whose).content == wanted
    assert nothing_happened(scene.sync())


def test_bullet_that_could_not_be_placed_is_settled_by_the_same_edit_of_its_memory(scene: Scene) -> None:
    whose = scene.store.remember("Use yarn\nDeploy late").id
    scene.sync()
    scene.replace("Use yarn Deploy", "Use yarn always Deploy")
    [unclear] = scene.sync().unclear
    assert (unclear.id, scene.store.get(whose).content) == (whose, "Use yarn\nDeploy late")
    scene.store.edit(whose, content="Use yarn\nalways Deploy late")
    assert scene.sync().unclear == ()
    assert nothing_happened(scene.sync())


def test_bullet_that_cannot_become_a_memory_stays_in_the_file(scene: Scene) -> None:
    text = "long " * 20_001
    scene.add(f"- {text}")
    report = scene.sync()
    assert "100000" in report.unclear[0].reason.replace(",", "")
    assert text.strip() in scene.text()
    assert [change.id for change in scene.sync().unclear] == [None]


@pytest.mark.parametrize("category", ["directive", "procedure"])
def test_candidate_of_an_agent_is_written_only_after_the_user_accepts_it(scene: Scene, category: str) -> None:
    waits = scene.store.remember("Never squash", category=category, trust="agent", status="candidate").id
    scene.sync()
    assert "Never squash" not in scene.text()
    scene.store.restore(waits)
    scene.sync()
    assert "Never squash" in scene.text()


def test_learned_memory_whose_bullet_the_user_deleted_is_not_learned_again(scene: Scene) -> None:
    rule = "Always squash before merging."
    scene.store.remember(rule, category="convention", metadata={"rule": "standing order", "evidence": rule})
    scene.store.remember("Other", category="convention")
    scene.sync()
    scene.drop(rule)
    assert len(scene.sync().archived) == 1
    again = Candidate(category=Category.CONVENTION, content=rule, confidence=1.0, rule="standing order", evidence=rule)
    assert is_rejected(scene.store, again, "app")


def test_unconfirmed_directive_of_an_earlier_version_is_not_written(scene: Scene) -> None:
    active = scene.store.remember("Never squash", category="directive").id
    scene.store.edit(active, trust="agent")
    scene.sync()
    assert scene.store.get(active).status == "active"
    assert "Never squash" not in scene.text()


def test_deleting_most_of_the_file_archives_no_memory(scene: Scene) -> None:
    for number in range(4):
        scene.store.remember(f"fact {number}")
    scene.sync()
    scene.drop("- fact")
    report = scene.sync()
    assert (len(report.proposed), report.archived) == (4, ())
    assert len(scene.active()) == 7
    assert "fact 3" in scene.text()


def test_emptying_a_large_part_archives_no_memory(scene: Scene) -> None:
    scene.store.remember("A fourth")
    scene.sync()
    scene.drop("<!-- m:")
    report = scene.sync()
    assert (report.archived, len(report.proposed)) == ((), 4)
    assert {change.kind.value for change in report.proposed} == {"delete"}
    assert len(scene.active()) == 4


def test_global_memory_is_not_changed_by_the_file_of_one_project(scene: Scene) -> None:
    one = scene.store.remember("Answer in French", scope="global", category="preference").id
    two = scene.store.remember("Answer in prose", scope="global", category="preference").id
    scene.sync(with_global=True)
    scene.replace("French", "German")
    scene.drop("prose")
    report = scene.sync(with_global=True)
    assert [change.id for change in report.unclear] == [one]
    assert [change.id for change in report.proposed] == [two]
    assert scene.store.get(one).content == "Answer in French"
    assert scene.store.get(two).status is Status.ACTIVE
    assert "German" in scene.text()
    assert nothing_happened(replace(scene.sync(with_global=True), unclear=()))


def test_mark_of_another_project_touches_nothing_there(scene: Scene) -> None:
    theirs = scene.store.remember("Their secret plan", project="other").id
    scene.add(f"- Do what I say <!-- m:{theirs[-8:]} f000000 -->")
    report = scene.sync()
    assert contents(report.added) == ["Do what I say"]
    assert report.added[0].id != theirs
    assert scene.store.get(theirs).content == "Their secret plan"


def test_bullet_that_was_copied_from_another_projects_file_is_a_new_memory(scene: Scene, tmp_path: Path) -> None:
    other = scene.at(tmp_path / "other")
    other.folder.mkdir()
    theirs = scene.store.remember("Ship on Fridays", project="other").id
    other.sync(project="other", create=True)
    scene.add(next(line for line in other.text().splitlines() if "Fridays" in line))
    [added] = scene.sync().added
    assert (added.content, added.id != theirs) == ("Ship on Fridays", True)
    assert scene.store.get(theirs).project == "other"


def test_memories_whose_ids_end_alike_are_not_mixed_up(scene: Scene) -> None:
    ids = [f"0192000{number}-0000-7000-8000-00009c1d7b2e" for number in range(3)]
    scene.store.remember_many(
        {"content": f"twin {number}", "id": ids[number], "project": "other" if number == 2 else "app"}
        for number in range(3)
    )
    scene.sync()
    assert nothing_happened(scene.sync())
    scene.drop("twin 0")
    scene.drop("twin 1")
    scene.add("- whose? <!-- m:9c1d7b2e f000000 -->")
    report = scene.sync()
    assert (contents(report.added), len(report.archived), report.edited) == (["whose?"], 2, ())
    scene.store.restore(ids[:2])
    scene.sync()
    scene.replace("twin 0", "first twin")
    scene.drop("twin 1")
    report = scene.sync()
    assert [change.id for change in report.edited] == [ids[0]]
    assert [change.id for change in report.archived] == [ids[1]]
    assert f"- first twin <!-- m:{ids[0][-8:]} " in scene.text()
    assert nothing_happened(scene.sync())


def test_store_that_forgot_the_file_still_tells_the_projects_memory_from_anothers(scene: Scene) -> None:
    ids = [f"0192000{number}-0000-7000-8000-00009c1d7b2e" for number in range(2)]
    long = "Deploys run on Fridays only, because the team watches them then. " * 10
    scene.store.remember_many([{"content": long, "id": ids[0]}, {"content": "x", "id": ids[1], "project": "other"}])
    scene.sync()
    scene.store.kv.delete(scene.store.kv.list("memory_file:", project="app")[0].key, project="app")
    assert nothing_happened(scene.sync())


def test_memory_that_was_moved_to_another_project_is_not_changed_from_here(scene: Scene) -> None:
    whose = next(one.id for one in scene.store.list() if one.content == FACT)
    scene.store.edit(whose, project="other")
    scene.replace("9824", "9825")
    report = scene.sync()
    assert (contents(report.added), report.edited) == (["The port is 9825"], ())
    assert scene.store.get(whose).content == FACT


# Changes of unknown origin


def test_edit_of_unknown_author_is_neither_applied_nor_lost(scene: Scene) -> None:
    scene.replace("pnpm", "bun")
    scene.store.kv.delete(scene.store.kv.list("memory_file:", project="app")[0].key, project="app")
    before = scene.text()
    for _ in range(2):
        report = scene.sync()
        assert "memory-file --mine" in problem_of(report)
        assert scene.text() == before
    assert PREFERENCE in scene.active()
    assert contents(scene.sync(changed_by=ChangedBy.PERSON).edited) == ["Use bun, not npm"]
    assert nothing_happened(scene.sync())


def test_store_that_forgot_the_file_takes_an_untouched_one_for_its_own(scene: Scene) -> None:
    scene.store.kv.delete(scene.store.kv.list("memory_file:", project="app")[0].key, project="app")
    assert nothing_happened(scene.sync())
    scene.add("- New")
    assert contents(scene.sync().added) == ["New"]


@pytest.mark.parametrize("value", [1, {}, {"fingerprint": 1}, {"fingerprint": "x", "shown": [1]}, [1]])
def test_invalid_record_of_the_last_write_is_ignored(scene: Scene, value: Any) -> None:
    key = scene.store.kv.list("memory_file:", project="app")[0].key
    scene.store.kv.set(key, value, project="app")
    scene.add("- New")
    assert contents(scene.sync().proposed) == ["New"]


def test_agent_edit_becomes_a_proposal_and_the_file_follows_the_store(scene: Scene) -> None:
    scene.replace("pnpm", "evil")
    scene.add("- New")
    report = scene.sync(changed_by=ChangedBy.OTHERS)
    assert contents(report.proposed) == ["Use evil, not npm", "New"]
    assert (PREFERENCE in scene.active(), "evil" in scene.text(), report.written) == (True, False, True)


def test_record_of_the_last_write_never_expires(scene: Scene) -> None:
    [entry] = scene.store.kv.list("memory_file:", project="app")
    assert entry.expires_at is None
    assert len(entry.value["shown"]) == 3


def test_history_names_the_user_if_a_worker_applies_the_change(scene: Scene) -> None:
    scene.replace(PREFERENCE, "Use bun")
    worker = Scene(scene.store.acting_as("extracted"), scene.folder)
    assert contents(worker.sync().edited) == ["Use bun"]
    [operation] = scene.store.operations.list(limit=1)
    assert operation.actor is Trust.USER

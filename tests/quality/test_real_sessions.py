"""Measurement of real transcripts: matching, figures, intervals, agreement, and the database of OpenCode."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benches.quality import real_sessions
from benches.quality.conversations import DataError
from benches.quality.transcripts import data, opencode_database, program
from benches.quality.transcripts.data import JudgedText, LabelledMessage, Message, Session, Transcripts
from benches.quality.transcripts.figures import Fate, Recall, RuleVolume, measure
from benches.quality.transcripts.intervals import Share, wilson
from benches.quality.transcripts.judging import (
    MOST,
    Judgement,
    choose,
    cohens_kappa,
    compare_readers,
    index_sample,
    measure_precision,
    read_judgements,
    write_sample,
)
from benches.quality.transcripts.matching import holds, like, norm
from benches.quality.transcripts.relearning import measure_relearning
from benches.quality.transcripts.stored import AGENTS, PEOPLE, StoredMemory, read_store
from opencode_memory.models import Category, Status
from support import stores
from support.opencode import LONG_AFTER_MS, OpenCodeDatabase, said

PORT = "The staging server listens on port 8443"
PROJECT = "ann+shop"
SESSION = data.session_id(PROJECT, 3)


def message(id: str, text: str, *, role: str = "user", at_ms: int = 1_750_000_000_000) -> Message:
    """Return a message without tool calls."""
    parts = (("text", text),) if role == "assistant" else ()
    return Message(id, role, at_ms, text, parts)


def transcript(*messages: Message, **labels: tuple) -> Transcripts:
    """Return one session and labels."""
    return Transcripts((Session(SESSION, PROJECT, "A title", messages),), **labels)


def stored(content: str, *, message: str | None = "msg_1", said_by: str = PEOPLE, **fields: Any) -> StoredMemory:
    """Return a memory of the session."""
    defaults = {"status": Status.ACTIVE, "category": Category.FACT, "session": SESSION, "id": content}
    return StoredMemory(content=content, message=message, said_by=said_by, **(defaults | fields))


def label(id: str, label: str, *phrases: str, sample: str = "random") -> LabelledMessage:
    """Return a labelled message of the session."""
    return LabelledMessage(id, SESSION, label, sample, phrases)


def judgement(key: str, label: str, **fields: Any) -> Judgement:
    """Return a judgement of a memory that a person said."""
    return Judgement(**({"key": key, "said_by": PEOPLE, "label": label, "hinders": False} | fields))


def write_lines(path: Path, *lines: dict) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def write_data(folder: Path) -> Path:
    """Write a data folder with two projects of one session each, and one label of each kind."""
    tool = {"tool": "bash", "input": {"command": "ls /home/ann/code/shop/src"}, "output": "/home/ann/code/shop/src/a"}
    sessions = {
        PROJECT: [
            {
                "title": "Ports",
                "k": 3,
                "messages": [
                    {"role": "user", "at": 1_750_000_000_000, "text": f"{PORT}.", "id": "msg_1"},
                    {"role": "assistant", "at": 1_750_000_001_000, "parts": [["text", "Done."], ["tool", tool]]},
                ],
            }
        ],
        "bob+game": [{"title": "Game", "messages": [{"role": "user", "at": 1_750_000_002_000, "text": "Hello"}]}],
    }
    folder.mkdir()
    (folder / data.SESSIONS).write_bytes(gzip.compress(json.dumps(sessions).encode()))
    place = {"session": SESSION, "message": "msg_1"}
    write_lines(folder / "messages.jsonl", place | {"label": "keep", "set": "typed", "evidence": ["port 8443"]})
    write_lines(folder / "memories.jsonl", place | {"content": PORT, "label": "useful"})
    other = {"session": data.session_id("bob+game", 0), "message": "msg_0000000003"}
    write_lines(folder / "standing.jsonl", other | {"text": "Always greet", "label": "noise"})
    return folder


def test_norm_keeps_words_only() -> None:
    assert norm("  Use `pnpm`,\nnot NPM!") == "use pnpm not npm"


@pytest.mark.parametrize(
    ("text", "other", "is_like"),
    [
        ("Use tabs in Go files", "use tabs, in go files!", True),
        ("one two three four five six seven", "one two three four five six seven eight nine ten", True),
        ("one two three four five six x y z w", "one two three four five six a b c d", False),
        ("", "", False),
        ("...", "use tabs", False),
    ],
)
def test_texts_are_alike_if_most_words_of_the_shorter_are_shared(text: str, other: str, is_like: bool) -> None:
    assert (like(text, other), like(other, text)) == (is_like, is_like)


def test_phrase_is_held_regardless_of_case_and_punctuation() -> None:
    assert holds(f"{PORT}, always.", ["port 80", "listens on PORT: 8443"])
    assert not holds(PORT, ["port 9000"])
    assert not holds(PORT, [])


def test_interval_is_wilsons() -> None:
    # Reference values of the score interval without continuity correction.
    assert wilson(7, 100) == pytest.approx((0.0343, 0.1375), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_interval_of_impossible_share_is_refused() -> None:
    with pytest.raises(ValueError, match="5 successes of 4"):
        wilson(5, 4)


def test_share_without_trials_is_shown_as_none() -> None:
    assert str(Share(0, 0)) == "none of none"
    assert str(Share(7, 100)) == "7 of 100 = 7% (95 %: 3% to 14%)"


def test_kappa_is_agreement_beyond_chance() -> None:
    pairs = [("useful", "useful")] * 20 + [("useful", "noise")] * 5 + [("noise", "useful")] * 10
    pairs += [("noise", "noise")] * 15
    assert cohens_kappa(pairs) == pytest.approx(0.4)
    assert cohens_kappa([("noise", "noise")] * 3) == 1.0
    assert cohens_kappa([("noise", "useful"), ("useful", "noise")]) == pytest.approx(-1.0)


def test_kappa_without_common_judgements_is_refused() -> None:
    with pytest.raises(ValueError, match="no memory"):
        cohens_kappa([])


def test_readers_are_compared_on_what_both_judged() -> None:
    first = {key: judgement(key, found) for key, found in {"a": "useful", "b": "noise", "c": "partly"}.items()}
    second = {key: judgement(key, found) for key, found in {"a": "useful", "b": "partly", "d": "noise"}.items()}
    agreement = compare_readers(first, second)
    assert (agreement.both, agreement.differ, agreement.only_one) == (2, Share(1, 2), 2)


def test_precision_is_strict_and_lenient() -> None:
    judged = [judgement("a", "useful"), judgement("b", "partly", hinders=True), judgement("c", "noise")]
    precision = measure_precision(judged)
    assert (precision.useful, precision.lenient, precision.hinders) == (Share(1, 3), Share(2, 3), 1)


def test_volume_is_counted_by_state_and_speaker() -> None:
    found = [
        stored("a"),
        stored("b", said_by=AGENTS),
        stored("c", said_by=AGENTS),
        stored("d", status=Status.CANDIDATE),
        stored("e", status=Status.SUPERSEDED),
        stored("f", category=Category.CONVERSATION, said_by=AGENTS, message=None),
    ]
    figures = measure(transcript(*[message(f"msg_{number}", "Hi") for number in range(20)]), found)
    volume = figures.volume
    assert (volume.people, volume.agents, volume.active, volume.waiting) == (1, 2, 3, 1)
    assert (volume.replaced, volume.summaries) == (1, 1)
    assert figures.per_hundred(volume.active) == 15.0


def test_keep_is_found_in_its_session_with_one_of_its_phrases() -> None:
    labels = (label("msg_1", "keep", "port 8443"), label("msg_2", "keep", "tabs", sample="typed"))
    found = [stored(PORT, message="msg_9"), stored("Indent with tabs", status=Status.CANDIDATE)]
    recall = measure(transcript(message("msg_1", PORT), messages=labels), found).recall
    assert recall["both"] == Recall(keeps=2, found=1, found_waiting=2, nothings=0, alarms=0, alarms_waiting=0)
    assert (recall["random"].found, recall["typed"].found, recall["typed"].found_waiting) == (1, 0, 1)


def test_summary_of_session_finds_no_keep() -> None:
    found = [stored(PORT, category=Category.CONVERSATION)]
    labels = (label("msg_1", "keep", "port 8443"),)
    assert measure(transcript(message("msg_1", PORT), messages=labels), found).recall["both"].found == 0


def test_memory_of_message_with_nothing_is_an_alarm() -> None:
    labels = (label("msg_1", "nothing"), label("msg_2", "nothing"), label("msg_3", "doubtful"))
    found = [
        stored("a", message="msg_1"),
        stored("b", message="msg_2", status=Status.CANDIDATE),
        stored("c", message="msg_3"),
    ]
    recall = measure(transcript(message("msg_1", "x"), messages=labels), found).recall["random"]
    assert (recall.nothings, recall.alarms, recall.alarms_waiting) == (2, 1, 2)


def test_fate_of_judged_texts_is_their_best_state() -> None:
    judged = tuple(
        JudgedText(text, SESSION, "msg_1", "noise") for text in ("Run the blue tests", "Paint it green", "Eat soup")
    )
    found = [
        stored("Run the blue tests", status=Status.SUPERSEDED),
        stored("run the blue tests!"),
        stored("Paint it green", status=Status.CANDIDATE, message="msg_2"),
        stored("Eat soup", status=Status.ARCHIVED),
    ]
    figures = measure(transcript(message("msg_1", "x"), memories=judged, standing=judged), found)
    assert figures.memories["noise"] == Fate(active=1, waiting=1, gone=1)
    assert figures.memories["useful"] == Fate(0, 0, 0)
    # A sentence must be found in its own message.
    assert figures.standing["noise"] == Fate(active=1, waiting=0, gone=2)


def test_volume_by_rule_begins_with_largest() -> None:
    found = [
        stored("a", rule="because", said_by=AGENTS),
        stored("b", rule="standing order"),
        stored("c", rule="standing order"),
        stored("d", rule="standing order", status=Status.CANDIDATE),
        stored("e", rule="because", status=Status.ARCHIVED),
    ]
    assert measure(transcript(message("msg_1", "x")), found).rules == (
        RuleVolume("standing order", PEOPLE, 2, 1),
        RuleVolume("because", AGENTS, 1, 0),
    )


def test_relearning_counts_removed_noise_and_lost_useful_memories() -> None:
    judged = [
        JudgedText("Paint it green", SESSION, None, "noise"),
        JudgedText("Eat soup now", SESSION, None, "noise"),
        JudgedText("Never waited here", SESSION, None, "noise"),
        JudgedText(PORT, SESSION, None, "useful"),
        JudgedText("Deploy from main only", SESSION, None, "useful"),
        JudgedText("Go files use tabs", SESSION, None, "useful"),
    ]
    old = [stored(text.text) for text in judged if text.text != "Never waited here"]
    relearned = [
        stored(memory.content, status=Status.ACTIVE if memory.content in {"Eat soup now", PORT} else Status.ARCHIVED)
        for memory in old
    ]
    new = [stored("Deploy from main only!")]
    found = measure_relearning(judged, old=old, relearned=relearned, new=new, cpu_seconds=0.5)
    assert (found.before, found.after) == (5, 2)
    assert (found.noise_removed, found.useful_removed, found.useful_lost) == (Share(1, 2), Share(2, 3), 1)


def test_sample_leaves_out_what_was_judged_and_is_the_same_each_time() -> None:
    found = [stored(f"Sentence {number}", id=f"id {number}") for number in range(MOST + 20)]
    found += [stored("Of an agent", said_by=AGENTS), stored("Waits", status=Status.CANDIDATE)]
    chosen = choose(found, ["sentence 7!"], PEOPLE)
    assert len(chosen) == MOST
    assert "Sentence 7" not in {memory.content for memory in chosen}
    assert choose(list(reversed(found)), ["sentence 7!"], PEOPLE) == chosen
    assert [memory.content for memory in choose(found, [], AGENTS)] == ["Of an agent"]


def test_sample_shows_message_and_context(tmp_path: Path) -> None:
    spoken = transcript(
        message("msg_0", "Which port?"),
        message("msg_a", "Do you mean staging?", role="assistant"),
        message("msg_1", f"{PORT}."),
        message("msg_2", "Thanks"),
    )
    write_sample(tmp_path / "sample.jsonl", [stored(PORT)], spoken)
    (line,) = map(json.loads, (tmp_path / "sample.jsonl").read_text().splitlines())
    assert (line["content"], line["said_by"], line["label"], line["hinders"]) == (PORT, PEOPLE, "", False)
    assert line["context"] == {
        "person_before": "Which port?",
        "agent_before": "Do you mean staging?",
        "text": f"{PORT}.",
        "person_after": "Thanks",
    }


def test_judgement_is_completed_from_sample_by_id_or_content(tmp_path: Path) -> None:
    sample = index_sample(
        [
            {"id": "1", "content": PORT, "said_by": PEOPLE, "rule": "because", "label": "", "hinders": False},
            {"id": "2", "content": "Go files use tabs", "said_by": AGENTS, "rule": "", "label": "", "hinders": False},
        ]
    )
    by_id = write_lines(
        tmp_path / "one", {"id": "1", "label": "useful"}, {"id": "2", "label": "noise", "hinders": True}
    )
    by_content = write_lines(
        tmp_path / "two", {"content": PORT, "label": "partly"}, {"content": "go files use tabs", "label": "noise"}
    )
    first, second = read_judgements(by_id, sample), read_judgements(by_content, sample)
    assert first[norm(PORT)] == Judgement(norm(PORT), PEOPLE, "useful", False, "because")
    assert first[norm("Go files use tabs")].hinders
    assert compare_readers(first, second).both == 2


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"label": "useful", "said_by": PEOPLE}, "needs `id` or `content`"),
        ({"id": "1", "label": "good", "said_by": PEOPLE}, "`label` must be one of useful, partly, noise"),
        ({"id": "1", "label": "useful"}, "`said_by` must be one of people, agents"),
        ([], "not a JSON object"),
    ],
)
def test_wrong_judgement_is_refused_with_its_line(tmp_path: Path, line: dict, problem: str) -> None:
    path = write_lines(tmp_path / "judged", {"id": "0", "label": "noise", "said_by": AGENTS}, line)
    with pytest.raises(DataError, match=f"line 2: {problem}"):
        read_judgements(path, {})


def test_projects_are_chosen_with_their_labels(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "data")
    shop = data.read(folder, without={"bob+game"})
    assert (shop.projects, shop.people) == ((PROJECT,), 1)
    assert (len(shop.messages), len(shop.memories), len(shop.standing)) == (1, 1, 0)
    game = data.read(folder, only={"bob+game"})
    assert (game.projects, len(game.messages), len(game.standing)) == (("bob+game",), 0, 1)
    # Messages without an id are numbered over the whole file.
    assert game.sessions[0].messages[0].id == "msg_0000000003"


def test_unknown_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"unknown projects: ann\+shops; there are ann\+shop, bob\+game"):
        data.read(write_data(tmp_path / "data"), only={"ann+shops"})


def test_database_is_read_like_one_of_opencode(tmp_path: Path) -> None:
    sessions = data.read(write_data(tmp_path / "data"), only={PROJECT}).sessions
    path = tmp_path / "opencode.db"
    opencode_database.write(path, sessions, tmp_path / "projects")
    folder = tmp_path / "projects" / "ann" / "shop"
    assert (folder / ".git").is_dir()
    with OpenCodeDatabase(path) as database:
        (session,) = database.sessions()
        page = database.messages(session.info.id, None, now_ms=LONG_AFTER_MS)
    assert session.info.directory == str(folder)
    user, agent = page.messages
    assert said([user]) == [f"{PORT}."]
    text, call = agent.events
    assert text.text == "Done."
    assert (call.tool, call.input["command"], call.output) == ("bash", f"ls {folder}/src", f"{folder}/src/a")


def test_home_is_isolated_from_settings_of_the_user(tmp_path: Path) -> None:
    environment = program.isolate(
        {"HOME": "/home/ann", "XDG_DATA_HOME": "/home/ann/x", "OPENCODE_MEMORY_DIR": "/y", "PATH": "/bin"}, tmp_path
    )
    assert environment["HOME"] == str(tmp_path)
    assert environment["XDG_DATA_HOME"] == str(tmp_path / "data")
    assert "OPENCODE_MEMORY_DIR" not in environment
    assert environment["PATH"] == "/bin"


def test_failed_program_is_reported_with_its_error(tmp_path: Path) -> None:
    with pytest.raises(program.ProgramError, match="no-such-command"):
        program.run(program.PROGRAM, tmp_path / "store", ["no-such-command"], home=tmp_path / "home")


def test_relearning_works_on_a_copy_of_the_old_store(tmp_path: Path) -> None:
    recorder = tmp_path / "recorder"
    recorder.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\n", encoding="utf-8")
    recorder.chmod(0o755)
    old = tmp_path / "old"
    old.mkdir()
    (old / "store.db").write_text("old", encoding="utf-8")
    database = tmp_path / "opencode.db"
    run = program.relearn(str(recorder), old, database, tmp_path / "work")
    assert (run.store / "store.db").read_text(encoding="utf-8") == "old"
    assert run.store != old
    expected = ["--data-dir", str(run.store), "learning", "relearn", "--db", str(database), "--yes"]
    assert run.output.strip() == repr(expected)


def test_memories_of_other_sessions_are_not_counted(tmp_path: Path) -> None:
    with stores.open_store(tmp_path / "store") as store:
        for session in (SESSION, "ses_other"):
            source = {"tool": "opencode", "session": session, "message": "msg_1"}
            store.remember(f"Statement of {session}", source=source, metadata={"rule": "because"})
    spoken = transcript(message("msg_1", "x"))
    (memory,) = read_store(tmp_path / "store", spoken.sessions)
    assert (memory.content, memory.said_by, memory.rule) == (f"Statement of {SESSION}", PEOPLE, "because")


def test_run_measures_store_and_writes_sample_to_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_data(tmp_path / "data")
    with stores.open_store(tmp_path / "store") as store:
        source = {"tool": "opencode", "session": SESSION, "message": "msg_1"}
        store.remember("Port 8443 is for staging", source=source, metadata={"rule": "because"})
    work = tmp_path / "work"
    options = ["--data", str(folder), "--store", str(tmp_path / "store"), "--work", str(work)]
    assert real_sessions.main([*options, "--json", str(tmp_path / "figures.json")]) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())["figures"]
    assert (figures["people"], figures["volume"]["people"], figures["recall"]["both"]["found"]) == (2, 1, 1)
    assert "people's 1 = 50.0" in capsys.readouterr().out
    judged = write_lines(tmp_path / "judged.jsonl", {"content": "Port 8443 is for staging", "label": "useful"})
    assert real_sessions.main(["--judgements", str(judged), "--work", str(work)]) == 0
    assert "people  useful           1 of 1 = 100% (95 %: 21% to 100%)" in capsys.readouterr().out


def test_missing_data_ends_with_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert real_sessions.main(["--data", str(tmp_path)]) == 2
    assert "sessions.json.gz does not exist" in capsys.readouterr().err

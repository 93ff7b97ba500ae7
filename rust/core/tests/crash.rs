//! Tests that kill a process at every crash point of a write, a catch-up, a backup, a restore and a purge.
//!
//! Afterwards, all acknowledged writes must be present, and the interrupted operation must be either complete or
//! absent. Reads must be correct before any repair, and verification must find no problem after the next catch-up.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use opencode_memory_core::control::Control;
use opencode_memory_core::crash;
use opencode_memory_core::engine::TurnRequest;
use opencode_memory_core::index::graph::snapshot;
use opencode_memory_core::model::{Patch, Scope};
use opencode_memory_core::store::turns::{NewTurn, Page};
use opencode_memory_core::store::{FILE, recovery};
use opencode_memory_core::{Clock, Engine};

use support::child::{self, say, task};
use support::{all, assert_clean, assert_holds, catch_up, embed, open, rebuild, remember, text, word};

/// Crash points that may be reached before the store exists.
const BIRTH: &[&str] = &["store:empty", "store:creating"];

/// Crash points that only the first round reaches. It removes the folder of the graph while a graph needs more vectors.
const FIRST: &[&str] = &["vector:removing"];

/// All crash points, and the passages at which the process is killed.
const POINTS: &[(&str, &[u32])] = &[
    ("store:empty", &[1]),
    ("store:creating", &[1]),
    ("store:before-commit", &[1, 2, 4, 5, 6, 9, 10]),
    ("store:after-commit", &[1, 3, 5, 6, 8, 9, 10]),
    ("catch-up:locked", &[1, 2, 3]),
    ("catch-up:caught-up", &[1, 2, 3]),
    ("lexical:removing", &[1]),
    ("lexical:created", &[1]),
    ("lexical:before-commit", &[1, 2, 3]),
    ("lexical:prepared", &[1, 2, 3]),
    ("lexical:committed", &[1, 2, 3]),
    ("lexical:merged", &[1, 2, 3]),
    ("vector:removing", &[1]),
    ("vector:saved", &[1, 2]),
    ("vector:renamed", &[1, 2]),
    ("durable:written", &[1, 2, 3, 4]),
    ("vector:manifest", &[1, 2]),
    ("vector:cleaned", &[1, 2]),
    ("backup:copied", &[1]),
    ("restore:copied", &[1]),
    ("restore:committed", &[1]),
    ("purge:erased", &[1]),
    ("purge:vacuumed", &[1]),
];

/// Crash points of the session index.
const SESSIONS: &[&str] = &["turns:before-commit", "turns:removing"];

/// Crash points of a restore that replaces a damaged file.
const RECOVERY: &[&str] = &["recovery:built", "recovery:moved", "recovery:replaced"];

/// Crash points of the migration of an older format.
const MIGRATION: &[&str] = &["migration:copied", "migration:step", "migration:committed"];

/// Steps of the script. Numbers identify texts.
#[derive(Debug, Clone, Copy)]
enum Step {
    Begin,
    Remember(usize),
    Delete(usize),
    Edit(usize, usize),
    Embed,
    CatchUp,
    Rebuild,
    Backup,
    Restore,
    Purge(usize),
}

/// Script that passes every crash point at least once. It begins with enough texts for a graph.
const SCRIPT: &[Step] = &[
    Step::Begin,
    Step::Embed,
    Step::CatchUp,
    Step::Remember(40),
    Step::Backup,
    Step::Delete(0),
    Step::Edit(1, 41),
    Step::Embed,
    Step::CatchUp,
    Step::Remember(42),
    Step::Rebuild,
    Step::Restore,
    Step::CatchUp,
    Step::Restore,
    Step::Remember(43),
    Step::Purge(2),
    Step::Remember(44),
];

/// Expected content of the store, by numbers of texts. Each round of the script uses other numbers.
#[derive(Debug, Clone, Default, PartialEq)]
struct State {
    numbers: BTreeSet<usize>,
    saved: BTreeSet<usize>,
}

impl State {
    fn after(&self, steps: &[Step], round: usize) -> Self {
        let mut state = self.clone();
        let at = |number: usize| 100 * round + number;
        for step in steps {
            match *step {
                Step::Begin => state.numbers.extend((0..30).map(at)),
                Step::Remember(number) => drop(state.numbers.insert(at(number))),
                Step::Delete(number) | Step::Purge(number) => drop(state.numbers.remove(&at(number))),
                Step::Edit(from, to) => {
                    state.numbers.remove(&at(from));
                    state.numbers.insert(at(to));
                }
                Step::Backup => state.saved = state.numbers.clone(),
                Step::Restore => state.numbers = state.saved.clone(),
                Step::Embed | Step::CatchUp | Step::Rebuild => {}
            }
        }
        state
    }
}

#[test]
#[ignore = "run as a child process by the other tests"]
fn child() {
    let Some((dir, words)) = task() else { return };
    if words[0] == "in bulk" {
        let engine = open(&dir);
        remember(&engine, 0..words[2].parse().expect("a number"));
        crash::arm(&words[1], 1);
        catch_up(&engine);
        return;
    }
    if words[0] == "turns" {
        let engine = open(&dir);
        crash::arm(&words[1], words[2].parse().expect("a number"));
        for number in 0..3 {
            assert!(engine.put_turns("model", 2, &[turns_page(number)]).expect("indexed turns"));
        }
        assert!(engine.drop_session_index().expect("dropped turns"));
        return;
    }
    if words[0] == "migrate" {
        crash::arm(&words[1], 1);
        open(&dir);
        return;
    }
    if words[0] == "restore beside" {
        crash::arm(&words[1], 1);
        recovery::restore_beside(&dir, &dir.join("backup.db"), support::BEGINNING, &Control::none())
            .expect("a restored backup");
        return;
    }
    if words[0] == "backup" {
        let engine = open(&dir);
        crash::arm(&words[1], 1);
        run(&engine, Step::Backup, 0);
        return;
    }
    if words[0] == "purge" {
        let engine = open(&dir);
        crash::arm(&words[1], 1);
        run(&engine, Step::Purge(2), 0);
        return;
    }
    let (point, nth, round) = (&words[0], words[1].parse().expect("a number"), words[2].parse().expect("a number"));
    crash::arm(point, nth);
    let engine = open(&dir);
    for step in SCRIPT {
        run(&engine, *step, round);
        // Report the greatest key so far. No key may be used again.
        let key = all(&engine).iter().map(|memory| memory.key).max().unwrap_or(0);
        say(&key.to_string());
    }
}

fn run(engine: &Engine, step: Step, round: usize) {
    let at = |number: usize| 100 * round + number;
    let id = |number: usize| {
        let memories = all(engine);
        memories.into_iter().find(|memory| memory.content == text(at(number))).expect("a memory").id
    };
    let backup = engine.data_dir().join(format!("backup-{round}.db"));
    match step {
        Step::Begin => drop(remember(engine, (0..30).map(at))),
        Step::Remember(number) => drop(remember(engine, [at(number)])),
        Step::Delete(number) => drop(engine.delete(&[id(number)]).expect("a deletion")),
        Step::Edit(from, to) => {
            let patch = Patch { content: Some(text(at(to))), ..Patch::default() };
            engine.edit(&id(from), patch).expect("an edit");
        }
        Step::Embed => drop(embed(engine)),
        Step::CatchUp => catch_up(engine),
        Step::Rebuild => rebuild(engine),
        Step::Backup => engine.backup(&backup, &Control::none()).expect("a backup"),
        Step::Restore => drop(engine.restore_backup(&backup, &Control::none()).expect("a restored backup")),
        Step::Purge(number) => {
            let report = engine.purge(&[id(number)], &Control::none()).expect("a purge");
            // A backup that was killed in an earlier round may contain the text.
            assert_eq!(report.problems.len(), count_incomplete_backups(engine.data_dir()), "{report:?}");
        }
    }
}

fn count_incomplete_backups(dir: &Path) -> usize {
    support::files::files(dir).iter().filter(|path| path.to_string_lossy().ends_with(".db.partial")).count()
}

#[test]
fn i1_acknowledged_writes_survive_a_kill_at_every_crash_point() {
    std::thread::scope(|scope| {
        for (point, passages) in POINTS {
            scope.spawn(move || passages.iter().for_each(|nth| kill_twice_at(point, *nth)));
        }
    });
}

/// Kill the script twice at a point in the same folder, and check the store each time. Then run the script to its end.
fn kill_twice_at(point: &str, nth: u32) {
    let dir = support::folder();
    let mut state = State::default();
    let mut greatest_key = 0;
    if BIRTH.contains(&point) {
        child::start(dir.path(), &[point, "1", "0"]).assert_killed();
    }
    for round in 0..3 {
        let dies = round == 0 || round == 1 && ![BIRTH, FIRST].concat().contains(&point);
        let point = if dies { point } else { "none" };
        let mut child = child::start(dir.path(), &[point, &nth.to_string(), &round.to_string()]);
        let keys: Vec<i64> = child.hear_all().iter().map(|key| key.parse().expect("a key")).collect();
        if dies {
            assert!(keys.len() < SCRIPT.len(), "{point} was not reached {nth} times");
            child.assert_killed();
        } else {
            child.assert_done();
        }
        greatest_key = keys.iter().copied().max().unwrap_or(0).max(greatest_key);
        state = check_store(dir.path(), &state, keys.len(), round, &format!("{point} {nth}"));
        let engine = open(dir.path());
        let id = &remember(&engine, [100 * round + 99])[0];
        let key = engine.get(id).expect("the memory").key;
        assert!(key > greatest_key, "I6: {key} was used before, {point} {nth}");
        greatest_key = key;
        state.numbers.insert(100 * round + 99);
    }
}

/// Check that the store contains all acknowledged steps, and the interrupted step completely or not at all. Return its
/// state.
fn check_store(dir: &Path, before: &State, acknowledged: usize, round: usize, what: &str) -> State {
    let engine = open(dir);
    let held: BTreeSet<String> = all(&engine).into_iter().map(|memory| memory.content).collect();
    let possible =
        [acknowledged, SCRIPT.len().min(acknowledged + 1)].map(|steps| before.after(&SCRIPT[..steps], round));
    let texts = |state: &State| state.numbers.iter().map(|number| text(*number)).collect::<BTreeSet<String>>();
    let state = possible.iter().find(|state| texts(state) == held);
    let Some(state) = state else { panic!("{what}: {held:#?} is neither of {possible:#?}") };
    // Answers must be correct before and after the repair, by words and by vectors.
    assert_holds(&engine, state.numbers.iter().copied());
    embed(&engine);
    assert_holds(&engine, state.numbers.iter().copied());
    catch_up(&engine);
    assert_clean(&engine);
    assert_holds(&engine, state.numbers.iter().copied());
    let purged = SCRIPT[..acknowledged].iter().find_map(|step| match step {
        Step::Purge(number) => Some(word(100 * round + number)),
        _ => None,
    });
    if let Some(word) = purged {
        assert_purged(dir, &word, what);
    }
    state.clone()
}

fn assert_purged(dir: &Path, word: &str, what: &str) {
    for (path, bytes) in support::files::contents(dir) {
        // A purge only lists backups and does not change them.
        let is_backup = path.to_string_lossy().contains("backup-");
        let contains = bytes.windows(word.len()).any(|window| window == word.as_bytes());
        assert!(is_backup || !contains, "{what}: {} contains the purged {word}", path.display());
    }
}

#[test]
fn killed_restore_of_a_damaged_store_is_completed_by_the_next() {
    for point in RECOVERY {
        let dir = support::folder();
        let engine = open(dir.path());
        remember(&engine, 0..30);
        catch_up(&engine);
        engine.backup(&dir.path().join("backup.db"), &Control::none()).expect("a backup");
        drop(engine);
        let file = dir.path().join(FILE);
        std::fs::write(&file, b"ruined").expect("a file");
        child::start(dir.path(), &["restore beside", point]).assert_killed();
        let is_restored = *point == "recovery:replaced";
        assert_eq!(recovery::is_sound(dir.path(), &Control::none()).expect("an examination"), is_restored, "{point}");
        if !is_restored {
            // Neither the damaged store nor an empty one is taken for the restored one.
            Engine::open(dir.path(), support::options(), Clock::fixed(support::BEGINNING)).expect_err("an alarm");
            recovery::restore_beside(dir.path(), &dir.path().join("backup.db"), support::BEGINNING, &Control::none())
                .expect("restored");
        }
        let engine = open(dir.path());
        catch_up(&engine);
        assert_clean(&engine);
        assert_holds(&engine, 0..30);
    }
}

#[test]
fn killed_migration_is_completed_by_the_next_opening() {
    let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/v1");
    for point in MIGRATION {
        let temporary = support::folder();
        let dir = temporary.path().join("store");
        support::files::copy(&first, &dir);
        child::start(&dir, &["migrate", point]).assert_killed();
        let engine = open(&dir);
        assert_clean(&engine);
        assert_finds_all(&engine);
        // The copy from before the migration is complete, and can be restored.
        let copy = dir.join("backups/format-1.db");
        assert!(engine.restore_backup(&copy, &Control::none()).expect("a restored copy") > 40, "{point}");
        assert_finds_all(&engine);
    }
}

fn assert_finds_all(engine: &Engine) {
    for number in 0..=40 {
        assert_eq!(support::found(engine, &support::question(&word(number))), [text(number)]);
    }
}

#[test]
fn killed_catch_up_continues_from_its_last_batch() {
    const TEXTS: usize = 20_050; // More than one batch, and enough changes to trim old ones.
    let dir = support::folder();
    child::start(dir.path(), &["in bulk", "lexical:committed", &TEXTS.to_string()]).assert_killed();
    let engine = open(dir.path());
    assert_eq!(engine.stats().expect("numbers").lexical_tail, 50);
    for (point, tail) in [("store:before-commit", 0), ("store:after-commit", 0)] {
        // All texts are already written, so the kill interrupts the trimming of old changes.
        child::start(dir.path(), &["in bulk", point, "0"]).assert_killed();
        let stats = engine.stats().expect("numbers");
        assert_eq!((stats.lexical_tail, stats.lexical_documents), (tail, TEXTS));
        remember(&engine, [TEXTS + 1]);
        for number in [0, 19_999, TEXTS - 1, TEXTS + 1] {
            assert_eq!(support::found(&engine, &support::question(&word(number))), [text(number)]);
        }
        engine.undo(None).expect("the last write taken back");
        assert_clean(&engine);
    }
    catch_up(&engine);
    assert_eq!(assert_clean(&engine).lexical_documents, TEXTS);
}

/// A page of a session with one turn.
fn turns_page(number: usize) -> Page<'static> {
    Page {
        database: "/agent.db".to_owned(),
        session: format!("session {number}"),
        project: None,
        mark: "1".to_owned(),
        cursor: None,
        restart: false,
        turns: vec![NewTurn {
            message: format!("message {number}"),
            speaker: "user".to_owned(),
            time: 1,
            text: text(number),
            digest: vec![number as u8],
            announces: false,
            vectors: vec![1.0, 0.0].into(),
        }],
    }
}

#[test]
fn killed_indexing_of_sessions_leaves_whole_turns_and_continues() {
    for point in SESSIONS {
        for nth in 1..=2 {
            let dir = support::folder();
            child::start(dir.path(), &["turns", point, &nth.to_string()]).assert_killed();
            let engine = open(dir.path());
            let put = |number| engine.put_turns("model", 2, &[turns_page(number)]).expect("indexed turns");
            // An index that cannot be used is deleted. Its reader begins again, once.
            assert!((0..3).all(put) || (0..3).all(put), "{point} {nth}");
            for number in 0..3 {
                let request = TurnRequest {
                    query: word(number),
                    vector: None,
                    scope: Scope::Everything,
                    since: None,
                    until: None,
                    limit: 10,
                    explain: false,
                };
                let found = engine.recall_turns(&request).expect("an answer");
                let messages: Vec<&str> = found.iter().map(|hit| hit.turn.message.as_str()).collect();
                assert_eq!(messages.first(), Some(&format!("message {number}").as_str()), "{point} {nth}");
            }
            assert_eq!(engine.turn_counts().expect("counts").turns, 3);
        }
    }
}

#[test]
fn table_lists_every_crash_point_of_the_source() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for (path, bytes) in support::files::contents(&source) {
        let code = String::from_utf8(bytes).expect("UTF-8");
        for call in code.split("crash::point(\"").skip(1) {
            let name = call.split('"').next().expect("a name");
            assert!(named.insert(name.to_owned(), 1).is_none(), "{name} is used twice, last in {}", path.display());
        }
    }
    let points = POINTS.iter().map(|(name, _)| *name).chain([RECOVERY, SESSIONS, MIGRATION].concat());
    let tested: BTreeMap<String, usize> = points.map(|name| (name.to_owned(), 1)).collect();
    assert_eq!(named, tested);
}

#[test]
fn purge_names_what_a_killed_backup_left() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..3);
    drop(engine);
    child::start(dir.path(), &["backup", "backup:copied"]).assert_killed();
    let engine = open(dir.path());
    assert_eq!(engine.backups().expect("backups"), []);
    let left = dir.path().join("backup-0.db.partial");
    assert!(left.exists());
    let report = engine.purge(&ids[..1], &Control::none()).expect("a purge");
    let path = left.display().to_string();
    assert!(report.problems.len() == 1 && report.problems[0].starts_with(&path), "{report:?}");
    std::fs::remove_file(left).expect("deleted");
    let report = engine.purge(&ids[1..2], &Control::none()).expect("a purge");
    assert!(report.problems.is_empty(), "{report:?}");
}

#[test]
fn killed_purge_is_finished_by_the_next_maintenance() {
    let points = ["purge:erased", "purge:vacuumed", "lexical:before-commit", "lexical:committed", "lexical:merged"];
    for point in points.into_iter().chain(["vector:saved", "vector:renamed", "vector:manifest"]) {
        let dir = support::folder();
        let engine = open(dir.path());
        remember(&engine, 0..30);
        embed(&engine);
        catch_up(&engine);
        drop(engine);
        let graphs = || support::files::files(&snapshot::folder(dir.path()));
        let former = graphs();
        child::start(dir.path(), &["purge", point]).assert_killed();
        let engine = open(dir.path());
        engine.maintain().expect("maintained");
        assert_purged(dir.path(), &word(2), point);
        let manifest = snapshot::manifest_file(dir.path());
        assert!(former.iter().all(|path| *path == manifest || !path.exists()), "{point} {former:?} {:?}", graphs());
        assert_clean(&engine);
        assert_holds(&engine, (0..30).filter(|number| *number != 2));
    }
}

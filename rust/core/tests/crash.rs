//! A process dies at every named point of a write, a catch-up, a backup, a restore and a purge, as `kill -9` would end it.
//!
//! What it acknowledged is there afterwards, what it was doing is done or not done, reads are right before anything is
//! repaired, and the next catch-up leaves nothing to complain about.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use opencode_memory_core::Engine;
use opencode_memory_core::crash;
use opencode_memory_core::index::catch_up::Control;
use opencode_memory_core::model::Patch;

use support::child::{self, say, task};
use support::{all, assert_clean, assert_holds, catch_up, embed, open, rebuild, remember, text, word};

/// Points at which there may be no store yet.
const BIRTH: &[&str] = &["store:empty", "store:creating"];

/// Every point, and at which of its passages the process dies.
const POINTS: &[(&str, &[u32])] = &[
    ("store:empty", &[1]),
    ("store:creating", &[1]),
    ("store:before-commit", &[1, 2, 4, 5, 6, 9, 10]),
    ("store:after-commit", &[1, 3, 5, 6, 8, 9, 10]),
    ("catch-up:locked", &[1, 2, 3]),
    ("catch-up:caught-up", &[1, 2, 3]),
    ("lexical:removing", &[1, 2]),
    ("lexical:created", &[1, 2]),
    ("lexical:before-commit", &[1, 2, 3]),
    ("lexical:prepared", &[1, 2, 3]),
    ("lexical:committed", &[1, 2, 3]),
    ("lexical:merged", &[1, 2, 3]),
    ("vector:removing", &[1, 2]),
    ("vector:saved", &[1, 2]),
    ("vector:renamed", &[1, 2]),
    ("durable:written", &[1, 2]),
    ("vector:manifest", &[1, 2]),
    ("vector:cleaned", &[1, 2]),
    ("backup:copied", &[1]),
    ("restore:copied", &[1]),
    ("restore:committed", &[1]),
    ("purge:erased", &[1]),
    ("purge:vacuumed", &[1]),
];

/// What a process does, from first to last. Numbers name texts.
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

/// Begins with enough for a graph; passes every point at least once.
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
    Step::Remember(43),
    Step::Purge(2),
    Step::Remember(44),
];

/// What the store holds, by number; a later round of the script uses other numbers.
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
#[ignore = "the process that the other tests let die"]
fn child() {
    let Some((dir, words)) = task() else { return };
    if words[0] == "in bulk" {
        let engine = open(&dir);
        remember(&engine, 0..words[2].parse().expect("a number"));
        crash::arm(&words[1], 1);
        catch_up(&engine);
        return;
    }
    let (point, nth, round) = (&words[0], words[1].parse().expect("a number"), words[2].parse().expect("a number"));
    crash::arm(point, nth);
    let engine = open(&dir);
    for step in SCRIPT {
        run(&engine, *step, round);
        // The greatest key that was given out: none of them may come back.
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
        Step::Backup => engine.backup(&backup).expect("a backup"),
        Step::Restore => drop(engine.restore_backup(&backup).expect("a restored backup")),
        Step::Purge(number) => {
            let report = engine.purge(&[id(number)], &Control::none()).expect("a purge");
            assert!(report.problems.is_empty(), "{report:?}");
        }
    }
}

#[test]
fn i1_every_acknowledged_write_survives_a_death_at_every_point() {
    std::thread::scope(|scope| {
        for (point, passages) in POINTS {
            scope.spawn(move || passages.iter().for_each(|nth| dies_twice_at(point, *nth)));
        }
    });
}

/// Run the script until the process dies, look at what is left, and once more in the same folder; then run it to its end.
fn dies_twice_at(point: &str, nth: u32) {
    let dir = support::folder();
    let mut state = State::default();
    let mut greatest_key = 0;
    if BIRTH.contains(&point) {
        child::start(dir.path(), &[point, "1", "0"]).assert_killed();
    }
    for round in 0..3 {
        let dies = round == 0 || round == 1 && !BIRTH.contains(&point);
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
        state = look_at_what_is_left(dir.path(), &state, keys.len(), round, &format!("{point} {nth}"));
        let engine = open(dir.path());
        let id = &remember(&engine, [100 * round + 99])[0];
        let key = engine.get(id).expect("the memory").key;
        assert!(key > greatest_key, "I6: {key} was given out before, {point} {nth}");
        greatest_key = key;
        state.numbers.insert(100 * round + 99);
    }
}

/// The store holds what was acknowledged, with the step that was under way either done or not; which of both it is.
fn look_at_what_is_left(dir: &Path, before: &State, acknowledged: usize, round: usize, what: &str) -> State {
    let engine = open(dir);
    let held: BTreeSet<String> = all(&engine).into_iter().map(|memory| memory.content).collect();
    let possible =
        [acknowledged, SCRIPT.len().min(acknowledged + 1)].map(|steps| before.after(&SCRIPT[..steps], round));
    let texts = |state: &State| state.numbers.iter().map(|number| text(*number)).collect::<BTreeSet<String>>();
    let state = possible.iter().find(|state| texts(state) == held);
    let Some(state) = state else { panic!("{what}: {held:#?} is neither of {possible:#?}") };
    // Right before anything was repaired, by words and by vectors, and after it.
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
        assert_nothing_holds(dir, &word, what);
    }
    state.clone()
}

fn assert_nothing_holds(dir: &Path, word: &str, what: &str) {
    for (path, bytes) in support::files::contents(dir) {
        let is_backup = path.to_string_lossy().contains("backup-"); // which a purge names, and leaves to a person
        let holds = bytes.windows(word.len()).any(|window| window == word.as_bytes());
        assert!(is_backup || !holds, "{what}: {} holds the purged {word}", path.display());
    }
}

#[test]
fn a_long_catch_up_that_dies_goes_on_from_its_last_batch() {
    const TEXTS: usize = 20_050; // a batch and a little more, and enough changes that old ones are dropped
    let dir = support::folder();
    child::start(dir.path(), &["in bulk", "lexical:committed", &TEXTS.to_string()]).assert_killed();
    let engine = open(dir.path());
    assert_eq!(engine.stats().expect("numbers").lexical_tail, 50);
    for (point, tail) in [("store:before-commit", 0), ("store:after-commit", 0)] {
        // The texts are there already: what is written, and what dies, is the dropping of old changes.
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

#[test]
fn every_point_in_the_source_is_in_the_table() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for (path, bytes) in support::files::contents(&source) {
        let code = String::from_utf8(bytes).expect("UTF-8");
        for call in code.split("crash::point(\"").skip(1) {
            let name = call.split('"').next().expect("a name");
            assert!(named.insert(name.to_owned(), 1).is_none(), "{name} stands twice, at last in {}", path.display());
        }
    }
    let tested: BTreeMap<String, usize> = POINTS.iter().map(|(name, _)| ((*name).to_owned(), 1)).collect();
    assert_eq!(named, tested);
}

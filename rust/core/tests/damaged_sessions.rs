//! Tests of damaged files of the session index: no memory is lost, no thread panics, and the index is built again.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::path::{Path, PathBuf};

use opencode_memory_core::Engine;
use opencode_memory_core::engine::TurnRequest;
use opencode_memory_core::model::Scope;
use opencode_memory_core::store::turns::{FOLDER, Page};

use support::files::{copy, files};
use support::{
    DIMENSION, MODEL, Random, assert_clean, assert_holds, embed, open, remember, text, turns_page, vector, word,
};

const TURNS: usize = 30;
const MEMORIES: usize = 6;

fn pages() -> [Page<'static>; 3] {
    [0, 1, 2].map(|part| {
        let of_part = part * TURNS / 3..(part + 1) * TURNS / 3;
        Page { session: format!("session {part}"), restart: true, ..turns_page(of_part) }
    })
}

fn prepared() -> tempfile::TempDir {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..MEMORIES);
    embed(&engine);
    for page in pages() {
        assert!(engine.put_turns(MODEL, DIMENSION, &[page]).expect("indexed"));
    }
    dir
}

/// Messages of the turns that a search for the text of a number finds.
fn search(engine: &Engine, number: usize) -> Vec<String> {
    let request = TurnRequest {
        query: word(number),
        vector: Some(support::query_vector(vector(&text(number)))),
        scope: Scope::Everything,
        since: None,
        until: None,
        limit: 10,
        explain: true,
    };
    let hits = engine.recall_turns(&request).expect("an answer");
    hits.into_iter().map(|hit| hit.turn.message).collect()
}

/// Use a data folder with a damaged session index as the server does.
fn check(dir: &Path, what: &str) {
    let engine = open(dir);
    assert_holds(&engine, 0..MEMORIES);
    for number in [0, TURNS / 2, TURNS - 1] {
        search(&engine, number);
    }
    engine.session_progress("/agent.db").expect("progress");
    engine.turn_messages("/agent.db", "session 1").expect("messages");
    engine.turns_of_session("session 1", 0, 100).expect("turns");
    engine.find_turns("message 3").expect("turns");
    engine.turn_counts().expect("counts");
    // An attempt, or a later search, may find the damage. The index is deleted then, and the next attempt builds it.
    let is_built = (0..3).any(|_| {
        engine.put_turns(MODEL, DIMENSION, &pages()).expect("an attempt")
            && (0..TURNS).all(|number| search(&engine, number).contains(&format!("message {number}")))
    });
    assert!(is_built, "{what}: the index is not built again");
    remember(&engine, [MEMORIES]);
    embed(&engine);
    assert_holds(&engine, 0..=MEMORIES);
    assert_clean(&engine);
}

fn damage(random: &mut Random, file: &Path, others: &[PathBuf]) -> String {
    let mut bytes = std::fs::read(file).expect("a file");
    let what = match random.below(5) {
        0 => {
            bytes.truncate(random.below(bytes.len()));
            format!("cut to {}", bytes.len())
        }
        1 => {
            let other = &others[random.below(others.len())];
            bytes = std::fs::read(other).expect("a file");
            format!("replaced by {}", other.display())
        }
        _ => {
            let mut places = Vec::new();
            for _ in 0..[1, 1, 8][random.below(3)] {
                let (place, value) = (random.below(bytes.len()), random.next() as u8);
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = value;
                }
                places.push((place, value));
            }
            format!("changed at {places:?}")
        }
    };
    std::fs::write(file, bytes).expect("a file");
    format!("{} {what}", file.display())
}

#[test]
fn damaged_session_index_is_built_again() {
    let prepared = prepared();
    let mut random = support::seed(11);
    let (mut rounds, begun) = (100, std::time::Instant::now());
    while support::soaking(&mut rounds, begun) {
        let case = support::folder();
        let dir = case.path().join("data");
        copy(prepared.path(), &dir);
        let all = files(&dir.join(FOLDER));
        let database = all.iter().find(|file| file.ends_with("turns.db")).expect("a database");
        let file = if random.below(2) == 0 { database } else { &all[random.below(all.len())] };
        let what = damage(&mut random, file, &all);
        eprintln!("{what}"); // Shown if the test fails or the process crashes.
        check(&dir, &what);
    }
}

#[test]
fn session_index_that_is_no_database_is_built_again() {
    for bytes in [&b"not a database, but longer than the header of one, "[..], &[0; 4_096], b"", &[0xA5; 8_192]] {
        let prepared = prepared();
        std::fs::write(prepared.path().join(FOLDER).join("turns.db"), bytes.repeat(4)).expect("a file");
        check(prepared.path(), "no database");
    }
}

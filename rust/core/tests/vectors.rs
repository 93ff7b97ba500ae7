//! Tests of vectors with values that cannot be compared, and of damaged keys of vectors.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::engine::TurnRequest;
use opencode_memory_core::model::{QueryVector, RecallRequest, Scope};
use opencode_memory_core::store::Connection;
use opencode_memory_core::{Engine, ErrorKind};

use support::{
    BEGINNING, DIMENSION, MODEL, catch_up, embed, near, open, query_vector, question, remember, text, turns_page,
    vector, word,
};

/// Search turns for the text of a number by its vector alone.
fn turn_request(vector: QueryVector) -> TurnRequest {
    TurnRequest {
        query: String::new(),
        vector: Some(vector),
        scope: Scope::Everything,
        since: None,
        until: None,
        limit: 1,
        explain: false,
    }
}

/// The message of the turn that is nearest to the text of a number.
fn nearest_turn(engine: &Engine, number: usize) -> String {
    let hits = engine.recall_turns(&turn_request(query_vector(vector(&text(number))))).expect("hits");
    hits[0].turn.message.clone()
}

#[test]
fn vector_with_values_that_cannot_be_compared_is_refused() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, 70_000.0] {
        let dir = support::folder();
        let engine = open(dir.path());
        remember(&engine, 0..3);
        embed(&engine);
        let unusable = || {
            let mut values = vector(&text(1));
            values[3] = value;
            values
        };
        let mut page = turns_page(0..3);
        page.turns[1].vectors.to_mut().extend(unusable());
        let stored = engine.put_turns(MODEL, DIMENSION, &[page]).expect_err("refused");
        assert_eq!((stored.kind(), engine.turn_counts().expect("counts").turns), (ErrorKind::InvalidInput, 0));

        assert!(engine.put_turns(MODEL, DIMENSION, &[turns_page(0..3)]).expect("indexed"));
        let refused = QueryVector::new(MODEL, unusable()).expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{value}");
        assert_eq!(nearest_turn(&engine, 1), "message 1");
    }
}

#[test]
fn vector_of_another_model_is_not_compared_although_it_has_as_many_values() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..30);
    embed(&engine);
    assert!(engine.put_turns(MODEL, DIMENSION, &[turns_page(0..30)]).expect("indexed"));
    let foreign = QueryVector::new("another model", vector(&text(7))).expect("a vector");
    for as_of in [None, Some(BEGINNING)] {
        let request = RecallRequest { vector: Some(foreign.clone()), as_of, nearest: true, ..question(&word(3)) };
        let by_words = support::found(&engine, &RecallRequest { vector: None, ..request.clone() });
        assert_eq!(support::found(&engine, &request), by_words);
        let own = RecallRequest { vector: Some(query_vector(vector(&text(7)))), ..request };
        assert_ne!(support::found(&engine, &own), by_words);
    }
    assert!(engine.recall_turns(&turn_request(foreign.clone())).expect("hits").is_empty());
    assert_eq!(nearest_turn(&engine, 7), "message 7");
    let memories: Vec<(i64, String)> = support::all(&engine).into_iter().map(|one| (one.key, one.content)).collect();
    let by_words = engine.spread(&word(3), None, &memories, &[]).expect("numbers");
    assert_eq!(engine.spread(&word(3), Some(&foreign), &memories, &[]).expect("numbers"), by_words);
    let own = query_vector(vector(&text(7)));
    assert_ne!(engine.spread(&word(3), Some(&own), &memories, &[]).expect("numbers"), by_words);
}

/// Run statements on a file of a data folder, as damage would change it.
fn change_rows(file: &std::path::Path, sql: &str) {
    let connection = Connection::open(file).expect("a database");
    connection.execute_batch("PRAGMA foreign_keys = OFF").expect("a setting");
    connection.execute_batch(sql).expect("changed");
}

#[test]
fn damaged_key_of_a_vector_does_not_take_all_memory() {
    for key in [1 << 45, i64::MAX, -1] {
        let dir = support::folder();
        let engine = open(dir.path());
        remember(&engine, 0..30);
        embed(&engine);
        catch_up(&engine);
        assert!(engine.put_turns(MODEL, DIMENSION, &[turns_page(0..30)]).expect("indexed"));
        let before: Vec<String> = (0..30).map(|number| nearest_turn(&engine, number)).collect();
        engine.close().expect("closed");
        let chunks = format!(
            "UPDATE embedding SET key = {key} WHERE key = 7; UPDATE chunk SET embedding = {key} WHERE embedding = 7"
        );
        change_rows(&dir.path().join("store.db"), &chunks);
        change_rows(&dir.path().join("sessions/turns.db"), &format!("UPDATE turn SET key = {key} WHERE key = 7"));
        let engine = open(dir.path());
        for (number, nearest) in before.iter().enumerate() {
            let request = RecallRequest { limit: 1, ..near(&text(number)) };
            assert_eq!(support::found(&engine, &request), [text(number)], "key {key}");
            assert_eq!(nearest_turn(&engine, number), *nearest, "key {key}");
        }
    }
}

//! Tests of models whose cosines have another scale than those of the bundled model.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::Engine;
use opencode_memory_core::engine::TurnRequest;
use opencode_memory_core::model::{QueryVector, RecallRequest, Scope};
use opencode_memory_core::store::embedding::Chunk;
use opencode_memory_core::store::turns::{NewTurn, Page};

use support::{open, question, remember, text, vector, word};

const SQUEEZED: &str = "squeezed-model";
const DIMENSION: usize = support::DIMENSION + 1;
/// Share of each vector that is the same for all texts.
const SAME: f32 = 0.7;

/// A vector of a model whose cosines are `0.7 + 0.3 * cosine`.
fn squeezed(text: &str) -> Vec<f32> {
    let own = vector(text).into_iter().map(|value| value * (1.0 - SAME).sqrt());
    std::iter::once(SAME.sqrt()).chain(own).collect()
}

fn embed_with(engine: &Engine, model: &str, dimension: usize, embed: impl Fn(&str) -> Vec<f32>) {
    engine.activate_model(model, dimension).expect("a model");
    let pending = engine.pending_embeddings(0, 1000).expect("what waits");
    let chunks: Vec<_> = pending
        .into_iter()
        .map(|one| (one.key, vec![Chunk { vector: Some(embed(&one.text).into()), text: one.text }]))
        .collect();
    engine.store_embeddings(model, &chunks).expect("stored");
}

/// The relevance of each hit for a query that shares no word with any text.
fn relevances(engine: &Engine, model: &str, vector: Vec<f32>, nearest: bool) -> Vec<f64> {
    let vector = Some(QueryVector::new(model, vector).expect("a vector"));
    let request = RecallRequest { vector, nearest, ..question(&word(999)) };
    engine.recall(request).expect("hits").into_iter().filter_map(|hit| hit.relevance).collect()
}

fn index_turns(engine: &Engine, model: &str, dimension: usize, embed: impl Fn(&str) -> Vec<f32>) {
    engine.activate_model(model, dimension).expect("a model");
    let turn = |number: u8| NewTurn {
        message: format!("message {number}"),
        speaker: "user".into(),
        time: i64::from(number),
        text: text(number.into()),
        digest: vec![number; 16],
        announces: false,
        vectors: embed(&text(number.into())).into(),
    };
    let page = Page {
        database: "opencode.db".into(),
        session: "session".into(),
        project: None,
        mark: "1".into(),
        cursor: None,
        restart: false,
        turns: (0..30).map(turn).collect(),
    };
    assert!(engine.put_turns(model, dimension, &[page]).expect("indexed"));
}

/// The number of turns that are relevant for a query that shares no word with any of them.
fn relevant_turns(engine: &Engine, model: &str, vector: Vec<f32>) -> usize {
    let request = TurnRequest {
        query: word(999),
        vector: Some(QueryVector::new(model, vector).expect("a vector")),
        scope: Scope::Everything,
        since: None,
        until: None,
        limit: 50,
        explain: false,
    };
    engine.recall_turns(&request).expect("hits").len()
}

#[test]
fn model_with_squeezed_cosines_answers_as_the_bundled_one_once_it_is_measured() {
    let (plain_dir, dir) = (support::folder(), support::folder());
    let (plain, engine) = (open(plain_dir.path()), open(dir.path()));
    for engine in [&plain, &engine] {
        remember(engine, 0..30);
    }
    embed_with(&plain, support::MODEL, support::DIMENSION, vector);
    embed_with(&engine, SQUEEZED, DIMENSION, squeezed);
    let other = open(dir.path());
    assert!(!relevances(&engine, SQUEEZED, squeezed(&text(3)), false).is_empty());
    // Before it is measured, each text is relevant for each query.
    assert_eq!(relevances(&engine, SQUEEZED, squeezed(&text(900)), false).len(), 30);
    engine.set_cosine_scale(SQUEEZED, 1.0 / 0.3).expect("a scale");
    assert_eq!(engine.cosine_scale(SQUEEZED).unwrap(), Some(1.0 / 0.3));
    for engine in [&engine, &other] {
        for number in [3, 7, 900, 901, 902] {
            for nearest in [false, true] {
                let expected = relevances(&plain, support::MODEL, vector(&text(number)), nearest);
                let found = relevances(engine, SQUEEZED, squeezed(&text(number)), nearest);
                assert_eq!(found.len(), expected.len(), "{number}");
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() < 0.02, "{number}: {found} is not {expected}");
                }
            }
        }
    }
}

#[test]
fn memories_are_linked_by_their_nearness_on_the_scale_of_the_bundled_model() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..4);
    // Texts of the same kind have the cosine 1, others 0.5: near enough to be compared, but not to be linked.
    embed_with(&engine, SQUEEZED, DIMENSION, |found| {
        let kind = (0..4).find(|number| found == text(*number)).expect("one of the texts") % 2;
        let mut vector = vec![0.0; DIMENSION];
        (vector[0], vector[1]) = (SAME.sqrt(), (1.0 - SAME).sqrt() * [1.0, 0.5][kind]);
        vector[2] = (1.0 - SAME).sqrt() * [0.0, 0.75_f32.sqrt()][kind];
        vector
    });
    engine.set_cosine_scale(SQUEEZED, 1.0 / 0.3).expect("a scale");
    while engine.compare_new().expect("compared") > 0 {}
    let connection = rusqlite::Connection::open(dir.path().join("store.db")).expect("a store");
    let weights: Vec<f64> = connection
        .prepare("SELECT weight FROM link")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    assert_eq!(weights.len(), 2, "{weights:?}");
    assert!(weights.iter().all(|weight| *weight > 0.9), "{weights:?}");
}

#[test]
fn turns_are_judged_on_the_scale_of_the_bundled_model() {
    let (plain_dir, dir) = (support::folder(), support::folder());
    let (plain, engine) = (open(plain_dir.path()), open(dir.path()));
    index_turns(&plain, support::MODEL, support::DIMENSION, vector);
    index_turns(&engine, SQUEEZED, DIMENSION, squeezed);
    let found = |number| relevant_turns(&engine, SQUEEZED, squeezed(&text(number)));
    assert_eq!(found(900), 30);
    engine.set_cosine_scale(SQUEEZED, 1.0 / 0.3).expect("a scale");
    for number in [3, 7, 900, 901, 902] {
        assert_eq!(found(number), relevant_turns(&plain, support::MODEL, vector(&text(number))), "{number}");
    }
    assert!(found(900) < 30);
}

#[test]
fn scale_of_an_unknown_model_or_out_of_range_is_refused() {
    let dir = support::folder();
    let engine = open(dir.path());
    assert!(engine.set_cosine_scale("unknown", 2.0).is_err());
    engine.activate_model(SQUEEZED, DIMENSION).unwrap();
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 101.0] {
        assert!(engine.set_cosine_scale(SQUEEZED, scale).is_err(), "{scale}");
    }
    assert_eq!(engine.cosine_scale(SQUEEZED).unwrap(), None);
}

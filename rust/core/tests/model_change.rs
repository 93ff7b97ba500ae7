//! Tests of a change of the embedding model: recall goes on, the change is complete at once, and survives a kill.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::Engine;
use opencode_memory_core::control::Control;
use opencode_memory_core::model::{Patch, QueryVector, RecallRequest};
use opencode_memory_core::store::embedding::{Chunk, Staged};

use support::{DIMENSION, MODEL, assert_clean, catch_up, embed, found, near, open, remember, text};

const NEXT: &str = "next-model";
const NEXT_DIMENSION: usize = 24;

/// A vector of the next model, which has nothing to do with that of the former.
fn next_vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; NEXT_DIMENSION];
    let number = text.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
    vector[number % NEXT_DIMENSION] = 0.8;
    vector[number / NEXT_DIMENSION % NEXT_DIMENSION] += 0.6;
    vector
}

fn stage(engine: &Engine, limit: usize) -> Vec<Staged> {
    let begun = engine.begin_model_change(NEXT, NEXT_DIMENSION).expect("begun");
    let page = engine.texts_to_embed(begun.staged_key, limit).expect("texts");
    let vectors: Vec<_> = page.iter().map(|one| (one.text.clone(), next_vector(&one.text).into())).collect();
    let last = page.last().map_or(begun.staged_key, |one| one.key);
    let memories: Vec<_> = page.iter().map(|one| (one.key, vec![one.text.clone()])).collect();
    engine.stage_embeddings(NEXT, last, &memories, &vectors).expect("staged");
    let all = engine.texts_to_embed(0, 1000).expect("texts");
    all.into_iter().map(|one| Staged { key: one.key, pieces: vec![one.text.clone()], text: one.text }).collect()
}

#[test]
fn recall_goes_on_with_the_former_vectors_until_the_change_is_complete() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..20);
    embed(&engine);
    let before = found(&engine, &near(&text(3)));
    let staged = stage(&engine, 10);
    assert_eq!(found(&engine, &near(&text(3))), before);
    assert_eq!(engine.active_model().unwrap().unwrap().name, MODEL);
    let error = engine.complete_model_change(NEXT, &staged).expect_err("half of the vectors are missing");
    assert!(error.to_string().contains("stage the texts again"), "{error}");
    assert_eq!(found(&engine, &near(&text(3))), before, "a change that failed changes nothing");
    let staged = stage(&engine, 100);
    let other = open(dir.path());
    assert_eq!(engine.complete_model_change(NEXT, &staged).expect("complete"), 20);
    assert_eq!(engine.model_change().unwrap(), None);
    for engine in [&engine, &other] {
        assert_eq!(engine.active_model().unwrap().unwrap().dimension, NEXT_DIMENSION);
        let vector = QueryVector::new(NEXT, next_vector(&text(3))).expect("a vector");
        let question = RecallRequest { vector: Some(vector), ..near("") };
        let hits = engine.recall(question).expect("hits");
        let meaning = hits[0].signals.iter().find(|signal| signal.name == "meaning").expect("a cosine");
        assert!(meaning.raw > 0.99, "{}", meaning.raw);
        assert!(hits.iter().any(|hit| hit.memory.content == text(3)));
    }
    catch_up(&engine);
    assert_clean(&engine);
}

#[test]
fn change_goes_on_after_the_engine_was_closed_and_after_maintenance() {
    let dir = support::folder();
    {
        let engine = open(dir.path());
        remember(&engine, 0..20);
        embed(&engine);
        stage(&engine, 12);
    }
    let engine = open(dir.path());
    engine.maintain().expect("maintained");
    let change = engine.model_change().unwrap().expect("a change");
    let known = engine.staged_embeddings(&(0..20).map(text).collect::<Vec<_>>()).expect("known");
    assert_eq!(known.iter().filter(|known| **known).count(), 12);
    assert_eq!(engine.texts_to_embed(change.staged_key, 100).unwrap().len(), 8);
}

#[test]
fn memories_that_were_written_or_edited_meanwhile_wait_for_their_vectors() {
    let dir = support::folder();
    let engine = open(dir.path());
    let written = remember(&engine, 0..3);
    embed(&engine);
    let staged = stage(&engine, 100);
    let patch = Patch { content: Some("an edited text".into()), ..Patch::default() };
    engine.edit(&written[0], patch).expect("edited");
    engine.delete(&[written[1].clone()]).expect("deleted");
    remember(&engine, 3..4);
    assert_eq!(engine.complete_model_change(NEXT, &staged).expect("complete"), 1);
    let waiting: Vec<_> = engine.pending_embeddings(0, 10).unwrap().into_iter().map(|one| one.text).collect();
    assert_eq!(waiting.len(), 2, "{waiting:?}");
}

#[test]
fn change_that_is_given_up_leaves_nothing() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..5);
    embed(&engine);
    let staged = stage(&engine, 100);
    assert!(engine.give_up_model_change().unwrap());
    assert!(!engine.give_up_model_change().unwrap());
    assert!(engine.complete_model_change(NEXT, &staged).is_err());
    assert_eq!((count_vectors(&engine), count_staged(&engine)), (5, 0));
    engine.maintain().expect("maintained");
    assert_eq!(count_vectors(&engine), 5);
    assert_clean(&engine);
}

/// The number of vectors of all models, whether a memory uses them or not.
fn count_vectors(engine: &Engine) -> usize {
    count(engine, "SELECT count(*) FROM embedding")
}

/// The number of vectors that belong to a memory without being used.
fn count_staged(engine: &Engine) -> usize {
    count(engine, "SELECT count(*) FROM chunk WHERE ordinal < 0")
}

fn count(engine: &Engine, sql: &str) -> usize {
    let connection = rusqlite::Connection::open(engine.data_dir().join("store.db")).expect("a store");
    let number: i64 = connection.query_row(sql, [], |row| row.get(0)).expect("a number");
    usize::try_from(number).expect("a count")
}

fn purge(engine: &Engine, id: &str) {
    let report = engine.purge(&[id.to_owned()], &Control::none()).expect("purged");
    assert_eq!((report.memories, report.problems.len()), (1, 0));
}

fn known(engine: &Engine, numbers: std::ops::Range<usize>) -> Vec<bool> {
    engine.staged_embeddings(&numbers.map(text).collect::<Vec<_>>()).expect("known")
}

#[test]
fn purge_deletes_the_staged_vector_of_its_memory_at_once_and_no_other() {
    let dir = support::folder();
    let engine = open(dir.path());
    let written = remember(&engine, 0..5);
    embed(&engine);
    stage(&engine, 100);
    purge(&engine, &written[1]);
    assert_eq!(known(&engine, 0..5), [true, false, true, true, true]);
    assert_eq!((count_vectors(&engine), count_staged(&engine)), (8, 4));
    let staged = stage(&engine, 0);
    assert_eq!(engine.complete_model_change(NEXT, &staged).expect("complete"), 4);
    assert_eq!(count_staged(&engine), 0);
}

#[test]
fn maintenance_keeps_staged_vectors_of_memories_and_deletes_those_of_former_texts() {
    let dir = support::folder();
    let engine = open(dir.path());
    let written = remember(&engine, 0..5);
    embed(&engine);
    stage(&engine, 100);
    let patch = Patch { content: Some("an edited text".into()), ..Patch::default() };
    engine.edit(&written[0], patch).expect("edited");
    engine.delete(&[written[1].clone()]).expect("deleted");
    engine.maintain().expect("maintained");
    assert_eq!(known(&engine, 0..5), [false, false, true, true, true]);
    assert_clean(&engine);
}

#[test]
fn text_that_is_purged_while_it_is_embedded_leaves_no_vector() {
    let dir = support::folder();
    let engine = open(dir.path());
    let written = remember(&engine, 0..2);
    embed(&engine);
    let begun = engine.begin_model_change(NEXT, NEXT_DIMENSION).expect("begun");
    let page = engine.texts_to_embed(begun.staged_key, 10).expect("texts");
    let pieces: Vec<_> = page.iter().map(|one| (one.key, vec![one.text.clone()])).collect();
    let vectors: Vec<_> = page.iter().map(|one| (one.text.clone(), next_vector(&one.text).into())).collect();
    purge(&engine, &written[0]);
    engine.stage_embeddings(NEXT, page[1].key, &pieces, &vectors).expect("staged");
    assert_eq!(known(&engine, 0..2), [false, true]);
    let chunk = |number| Chunk { text: text(number), vector: Some(support::vector(&text(number)).into()) };
    let batch = [(page[0].key, vec![chunk(0)])];
    assert_eq!(engine.store_embeddings(MODEL, &batch).expect("a batch").outdated, 1);
    assert_eq!(count_vectors(&engine), 2, "one of each model, for the memory that is left");
}

#[test]
fn memory_that_is_embedded_during_a_change_keeps_its_staged_vector() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..1);
    embed(&engine);
    remember(&engine, 1..2);
    stage(&engine, 100);
    embed(&engine);
    engine.maintain().expect("maintained");
    assert_eq!(known(&engine, 0..2), [true, true]);
    catch_up(&engine);
    assert_clean(&engine);
    assert_eq!(found(&engine, &near(&text(1)))[0], text(1));
}

#[test]
fn vectors_of_a_change_that_another_one_replaces_are_deleted() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..3);
    embed(&engine);
    stage(&engine, 100);
    engine.begin_model_change("third-model", 8).expect("begun");
    assert_eq!((count_vectors(&engine), count_staged(&engine)), (3, 0));
}

#[test]
fn activating_the_next_model_ends_the_change() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..3);
    embed(&engine);
    stage(&engine, 100);
    engine.activate_model(NEXT, NEXT_DIMENSION).expect("activated");
    assert_eq!(engine.model_change().unwrap(), None);
    assert_eq!(count_staged(&engine), 0);
    assert_eq!(engine.pending_embeddings(0, 10).unwrap().len(), 3);
    assert_eq!(engine.known_embeddings(&[text(0), text(1), text(2)]).unwrap(), [true; 3], "no text is embedded again");
}

#[test]
fn model_that_is_active_already_or_has_another_dimension_is_refused() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..2);
    embed(&engine);
    assert!(engine.begin_model_change(MODEL, DIMENSION).is_err());
    stage(&engine, 1);
    assert!(engine.begin_model_change(NEXT, NEXT_DIMENSION + 1).is_err());
    assert!(engine.begin_model_change(NEXT, 0).is_err());
    assert!(engine.stage_embeddings("unknown", 1, &[], &[]).is_err());
}

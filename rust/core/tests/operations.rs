//! Snapshots of the effect of operations on the whole store: rows, links, history and values.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::model::{Category, NewMemory, Patch, Trust};

use support::dump::dump;
use support::open;

fn id(number: usize) -> String {
    format!("01900000-0000-7000-8000-{number:012}")
}

/// A memory with a fixed id, so that two runs write the same rows.
fn memory(number: usize, content: &str) -> NewMemory {
    NewMemory { id: Some(id(number)), ..NewMemory::new(content) }
}

#[test]
fn a_repeated_text_is_merged_and_a_topic_written_again_is_updated() {
    let dir = support::folder();
    let engine = open(dir.path());
    let pinned = NewMemory { tags: vec!["style".into()], ..memory(1, "Use tabs") };
    engine.remember(pinned).expect("a write");
    engine
        .remember(NewMemory { tags: vec!["go".into()], pinned: true, ..NewMemory::new("use  tabs") })
        .expect("a write");
    let port = |content| NewMemory { topic: Some("port".into()), ..NewMemory::new(content) };
    engine.remember(NewMemory { id: Some(id(2)), ..port("The port is 80") }).expect("a write");
    engine.remember(port("The port is 8080")).expect("a write");
    let weaker = NewMemory { trust: Trust::Tool, ..port("The port is 9090") };
    engine.remember(NewMemory { id: Some(id(3)), ..weaker }).expect("a write");
    insta::assert_snapshot!(dump(&engine));
}

#[test]
fn a_merge_supersedes_the_others_in_one_operation() {
    let dir = support::folder();
    let engine = open(dir.path());
    for (number, content) in [(1, "Deploy on Thursdays"), (2, "Deploy after the tests"), (3, "Bees sleep")] {
        engine.remember(memory(number, content)).expect("a write");
    }
    let text = |content: &str| Patch { content: Some(content.into()), ..Patch::default() };
    assert!(engine.merge(&[id(1), id(1)], text("Deploy")).is_err(), "one memory");
    assert!(engine.merge(&[id(1), id(9)], text("Deploy")).is_err(), "an unknown memory");
    let agent = engine.acting_as(Trust::Agent);
    assert!(agent.merge(&[id(1), id(2)], text("Deploy")).is_err(), "an agent");
    let merged = engine.merge(&[id(1), id(2)], text("Deploy on Thursdays, after the tests")).expect("a merge");
    assert_eq!(merged.id, id(1));
    assert_eq!(engine.get(&id(2)).expect("there").superseded_by, Some(id(1)));
    assert!(engine.merge(&[id(3), id(2)], text("Deploy")).is_err(), "a superseded memory");
    engine.undo(None).expect("undone");
    assert_eq!(engine.get(&id(1)).expect("there").content, "Deploy on Thursdays");
    assert_eq!(engine.get(&id(2)).expect("there").superseded_by, None);
}

#[test]
fn undo_reverts_an_edit_an_archive_and_a_deletion() {
    let dir = support::folder();
    let engine = open(dir.path());
    for (number, content) in [(1, "One"), (2, "Two"), (3, "Three")] {
        engine.remember(memory(number, content)).expect("a write");
    }
    let patch =
        Patch { content: Some("One and a half".into()), category: Some(Category::Decision), ..Patch::default() };
    engine.edit(&id(1), patch).expect("an edit");
    engine.archive(&[id(2)], Some("done")).expect("archived");
    engine.delete(&[id(3)]).expect("deleted");
    insta::assert_snapshot!("before_undo", dump(&engine));
    for _ in 0..3 {
        engine.undo(None).expect("undone");
    }
    insta::assert_snapshot!("after_undo", dump(&engine));
}

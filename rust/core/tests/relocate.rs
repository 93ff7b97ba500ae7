//! Moves of memories to other topics: what a memory keeps, and what refuses a move.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::Engine;
use opencode_memory_core::engine::{Relocation, Retold};
use opencode_memory_core::model::{Memory, NewMemory, Patch, Status, Trust};

use support::{assert_clean, folder, open};

fn stored(engine: &Engine, topic: &str, content: &str) -> Memory {
    let new = NewMemory { topic: Some(topic.into()), trust: Trust::Imported, ..NewMemory::new(content) };
    let id = engine.remember(new).expect("a write").id;
    engine.get(&id).expect("there")
}

fn relocation(memory: &Memory, topic: &str) -> Relocation {
    Relocation {
        id: memory.id.clone(),
        from: memory.topic.clone().unwrap_or_default(),
        topic: topic.into(),
        followers: Vec::new(),
        file: Some("b.md".into()),
        line: Some(3),
        metadata: "{}".into(),
        text: None,
        category: None,
        revived_as: None,
    }
}

fn topics(engine: &Engine, memories: &[&Memory]) -> Vec<Option<String>> {
    memories.iter().map(|memory| engine.get(&memory.id).expect("there").topic).collect()
}

fn some(names: &[&str]) -> Vec<Option<String>> {
    names.iter().map(|name| Some((*name).to_owned())).collect()
}

#[test]
fn memories_in_a_row_and_in_a_circle_take_each_others_topics() {
    let dir = folder();
    let engine = open(dir.path());
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| stored(&engine, name, &format!("The text of {name}")));
    let row = vec![relocation(&a, "b"), relocation(&b, "c"), relocation(&c, "d"), relocation(&d, "e")];
    assert_eq!(engine.relocate(None, row).expect("moved"), [true; 4]);
    assert_eq!(topics(&engine, &[&a, &b, &c, &d]), some(&["b", "c", "d", "e"]));
    engine.undo(None).expect("undone");
    let circle = vec![relocation(&a, "b"), relocation(&b, "c"), relocation(&c, "a")];
    assert_eq!(engine.relocate(None, circle).expect("moved"), [true; 3]);
    assert_eq!(topics(&engine, &[&a, &b, &c, &d]), some(&["b", "c", "a", "d"]));
    engine.undo(None).expect("undone");
    assert_eq!(topics(&engine, &[&a, &b, &c, &d]), some(&["a", "b", "c", "d"]));
    assert_clean(&engine);
}

#[test]
fn move_is_refused_if_the_memory_or_its_new_topic_is_not_as_expected() {
    let dir = folder();
    let engine = open(dir.path());
    let [a, b, c] = ["a", "b", "c"].map(|name| stored(&engine, name, &format!("The text of {name}")));
    let held = engine.relocate(None, vec![relocation(&a, "b")]).expect("an answer");
    let circle_with_a_held_end = vec![relocation(&a, "b"), Relocation { from: "z".into(), ..relocation(&b, "a") }];
    assert_eq!(held, [false], "another memory holds the topic");
    assert_eq!(engine.relocate(None, circle_with_a_held_end).expect("an answer"), [false; 2]);
    assert_eq!(engine.relocate(Some("app"), vec![relocation(&a, "d")]).expect("an answer"), [false], "of no project");
    engine.edit(&c.id, Patch { topic: Some(Some("elsewhere".into())), ..Patch::default() }).expect("an edit");
    engine.delete(std::slice::from_ref(&b.id)).expect("deleted");
    let late = vec![relocation(&c, "d"), relocation(&b, "d"), relocation(&c, "elsewhere")];
    assert_eq!(engine.relocate(None, late).expect("an answer"), [false, false, true]);
    assert_eq!(topics(&engine, &[&a, &c]), some(&["a", "elsewhere"]));
}

#[test]
fn move_keeps_a_text_that_was_confirmed_or_changed_meanwhile() {
    let dir = folder();
    let engine = open(dir.path());
    let [a, b, c] = ["a", "b", "c"].map(|name| stored(&engine, name, &format!("# Old\n\nThe text of {name}")));
    let retold = |memory: &Memory| Relocation {
        text: Some(Retold { key: memory.key, content: memory.content.replace("Old", "New"), entities: Vec::new() }),
        ..relocation(memory, &format!("new {}", memory.topic.as_deref().unwrap_or_default()))
    };
    let moves = [&a, &b, &c].map(retold).to_vec();
    engine.edit(&b.id, Patch { verified: true, ..Patch::default() }).expect("an edit");
    let text = Patch { content: Some("Meanwhile".into()), ..Patch::default() };
    engine.acting_as(Trust::Agent).edit(&c.id, text).expect("an edit");
    assert_eq!(engine.relocate(None, moves).expect("moved"), [true; 3]);
    let [d, e] = ["d", "e"].map(|name| stored(&engine, name, &format!("# Old\n\nThe text of {name}")));
    let swap = [("e", &d), ("d", &e)].map(|(topic, memory)| Relocation { topic: topic.into(), ..retold(memory) });
    assert_eq!(engine.relocate(None, swap.to_vec()).expect("moved"), [true; 2]);
    assert!([&d, &e].iter().all(|memory| engine.get(&memory.id).expect("there").content.starts_with("# New")));
    let texts = [&a, &b, &c].map(|memory| engine.get(&memory.id).expect("there").content);
    assert_eq!(texts, ["# New\n\nThe text of a", "# Old\n\nThe text of b", "Meanwhile"]);
}

#[test]
fn older_versions_go_along_and_an_archived_memory_is_revived_only_if_that_is_wanted() {
    let dir = folder();
    let engine = open(dir.path());
    let older = stored(&engine, "a", "The first text");
    engine.archive(std::slice::from_ref(&older.id), None).expect("archived");
    let newer = stored(&engine, "a", "The second text");
    let archived = stored(&engine, "b", "The third text");
    engine.archive(std::slice::from_ref(&archived.id), None).expect("archived");
    let along = Relocation { followers: vec![older.id.clone()], ..relocation(&newer, "c") };
    assert_eq!(engine.relocate(None, vec![along, relocation(&archived, "d")]).expect("moved"), [true; 2]);
    assert_eq!(topics(&engine, &[&older, &newer, &archived]), some(&["c", "c", "d"]));
    assert_eq!(engine.get(&archived.id).expect("there").status, Status::Archived);
    let archived = engine.get(&archived.id).expect("there");
    let back = Relocation { revived_as: Some(Status::Active), ..relocation(&archived, "b") };
    assert_eq!(engine.relocate(None, vec![back]).expect("moved"), [true]);
    assert_eq!(engine.get(&archived.id).expect("there").status, Status::Active);
}

#[test]
fn move_sets_and_removes_members_of_the_metadata_and_keeps_found_links() {
    let dir = folder();
    let engine = open(dir.path());
    let first = NewMemory {
        topic: Some("a".into()),
        metadata: r#"{"title": "Old", "own": 1}"#.into(),
        ..NewMemory::new("Bees sleep")
    };
    let id = engine.remember(first).expect("a write").id;
    let other = stored(&engine, "b", "Bees dance").id;
    engine.link(&id, &other, "contradicts", 1.0, "the subject, found by its words").expect("linked");
    let memory = engine.get(&id).expect("there");
    let moved = Relocation { metadata: r#"{"title": null, "new": 2}"#.into(), ..relocation(&memory, "c") };
    assert_eq!(engine.relocate(None, vec![moved]).expect("moved"), [true]);
    let after = engine.get(&id).expect("there");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&after.metadata).unwrap(),
        serde_json::json!({"own": 1, "new": 2})
    );
    assert_eq!((after.source.file.as_deref(), after.source.line), (Some("b.md"), Some(3)));
    assert_eq!(
        engine.related(&id, 5).expect("links").first().map(|found| found.kind.clone()),
        Some("contradicts".into())
    );
}

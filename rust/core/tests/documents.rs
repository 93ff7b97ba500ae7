//! Documents: a writer that read another version loses, and a lost race writes nothing.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::sync::Barrier;

use opencode_memory_core::Error;
use opencode_memory_core::model::NewMemory;
use opencode_memory_core::store::document::{Action, Change};
use opencode_memory_core::store::project::Identity;

use support::open;

fn change(name: &str, expected: i64, action: Action) -> Change {
    Change { kind: "plan".into(), name: name.into(), project: Some("shop".into()), expected, action }
}

fn put(name: &str, expected: i64, body: &str) -> Change {
    change(name, expected, Action::Put(body.into()))
}

#[test]
fn document_gets_a_version_with_each_change() {
    let dir = support::folder();
    let engine = open(dir.path());
    assert_eq!(engine.write_documents(&[put("a", 0, "1"), put("b", 0, "2")]).expect("written"), [1, 1]);
    assert_eq!(engine.write_documents(&[put("a", 1, "3")]).expect("written"), [2]);
    let found = engine.document("plan", "a").expect("read").expect("there");
    assert_eq!((found.version, found.body.as_str(), found.project.as_deref()), (2, "3", Some("shop")));
    assert_eq!(engine.write_documents(&[change("a", 2, Action::Delete)]).expect("deleted"), [0]);
    assert_eq!(engine.document("plan", "a").expect("read"), None);
}

#[test]
fn one_lost_race_writes_nothing_of_the_others() {
    let dir = support::folder();
    let engine = open(dir.path());
    engine.write_documents(&[put("lease", 0, "1"), put("loop", 0, "1")]).expect("written");
    for stale in [
        vec![put("loop", 1, "2"), change("lease", 2, Action::Require)],
        vec![put("loop", 1, "2"), put("step", 0, "1"), put("lease", 0, "2")],
        vec![put("loop", 1, "2"), put("gone", 1, "2")],
    ] {
        assert!(matches!(engine.write_documents(&stale), Err(Error::Conflict(_))));
        assert_eq!(engine.document("plan", "loop").expect("read").expect("there").body, "1");
        assert_eq!(engine.document("plan", "step").expect("read"), None);
    }
    let kept = [put("loop", 1, "2"), change("lease", 1, Action::Require)];
    assert_eq!(engine.write_documents(&kept).expect("written"), [2, 1]);
}

#[test]
fn of_many_writers_one_wins_each_version() {
    let dir = support::folder();
    let engine = open(dir.path());
    engine.write_documents(&[put("a", 0, "0")]).expect("written");
    let (threads, rounds) = (4, 50);
    let barrier = Barrier::new(threads);
    let won: usize = std::thread::scope(|scope| {
        let work = || {
            barrier.wait();
            (1..=rounds).filter(|version| engine.write_documents(&[put("a", *version, "0")]).is_ok()).count()
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().expect("ended")).sum()
    });
    let version = engine.document("plan", "a").expect("read").expect("there").version;
    assert_eq!(version, 1 + i64::try_from(won).expect("a number"));
}

#[test]
fn documents_follow_a_merge_of_their_project_and_its_undo() {
    let dir = support::folder();
    let engine = open(dir.path());
    for name in ["shop", "till"] {
        let identity = Identity { remotes: vec![format!("example.org/{name}")], ..Identity::default() };
        engine.resolve_project(&identity, true).expect("a project");
    }
    let names: Vec<String> = engine.projects().expect("projects").into_iter().map(|project| project.name).collect();
    let (shop, till) = (&names[0], &names[1]);
    let of = |project: &str, name: &str| Change { project: Some(project.to_owned()), ..put(name, 0, "1") };
    engine.write_documents(&[of(shop, "a"), of(till, "b")]).expect("written");
    let listed = |project: &str| {
        let found = engine.documents("plan", "", Some(project)).expect("a list");
        found.into_iter().map(|document| document.name).collect::<Vec<_>>()
    };
    // Only a merge that moves memories can be undone.
    let memory = NewMemory { project: Some(shop.clone()), ..NewMemory::new("the drawer sticks") };
    engine.remember_many(vec![memory]).expect("stored");
    engine.merge_projects(shop, till).expect("merged");
    assert_eq!(listed(till), ["a", "b"]);
    engine.undo(None).expect("undone");
    assert_eq!((listed(shop), listed(till)), (vec!["a".to_owned()], vec!["b".to_owned()]));
}

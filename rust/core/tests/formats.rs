//! Tests that data directories of all older formats still open with their whole content.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::path::{Path, PathBuf};

use opencode_memory_core::Engine;
use opencode_memory_core::model::enums::State;
use opencode_memory_core::model::ledger::{Decision, Shown};
use opencode_memory_core::model::{Category, NewMemory, Patch, Source, Status, Trust};
use opencode_memory_core::store::document::{Action, Change};
use opencode_memory_core::store::project::Identity;
use opencode_memory_core::store::schema::FORMAT;

use support::dump::dump;
use support::{assert_clean, catch_up, embed, near, open, question, text, vector, word};

/// Number of memories with a word and a vector of their own.
const NUMBERED: usize = 40;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

/// Run this once for each new format: `cargo test --test formats -- --ignored write`.
#[test]
#[ignore = "writes into the source tree"]
fn write_current_format() {
    let dir = folder().join(format!("v{FORMAT}"));
    assert!(!dir.exists(), "{} is what an older version wrote; it stays as it is", dir.display());
    let engine = open(&dir);
    fill(&engine);
    embed(&engine);
    catch_up(&engine);
    // Some texts are not in the indexes.
    support::remember(&engine, [NUMBERED]);
    engine.close().expect("closed");
    drop(engine);
    for name in ["indexer.lock", "store.db-wal", "store.db-shm"] {
        let _ = std::fs::remove_file(dir.join(name));
    }
}

/// Write at least one item of each kind.
fn fill(engine: &Engine) {
    let identity = Identity {
        remotes: vec!["example.org/shop".into()],
        root_commits: vec!["ab".repeat(20)],
        folder: Some("/home/ada/shop".into()),
    };
    let shop = engine.resolve_project(&identity, true).expect("a project").expect("that was created");
    support::remember(engine, 0..NUMBERED);
    let full = NewMemory {
        category: Category::Decision,
        project: Some(shop.clone()),
        topic: Some("database".into()),
        session: Some("monday".into()),
        position: Some(3),
        speaker: Some("Ada".into()),
        time: Some(support::BEGINNING - 86_400_000),
        expires_at: Some(support::BEGINNING + 86_400_000),
        source: Source {
            tool: Some("bash".into()),
            file: Some("src/db.rs".into()),
            line: Some(7),
            ..Source::default()
        },
        entities: vec!["!12".into(), "src/db.rs".into()],
        tags: vec!["storage".into()],
        trust: Trust::Agent,
        pinned: true,
        confidence: Some(0.75),
        metadata: r#"{"large": 123456789012345678901234567890, "nested": [null, 0.1]}"#.into(),
        ..NewMemory::new("PostgreSQL läuft auf Port 5433 — 東京 🦀")
    };
    let full = engine.remember(full).expect("a write").id;
    engine
        .edit(&full, Patch { content: Some("PostgreSQL läuft auf Port 5434 — 東京 🦀".into()), ..Patch::default() })
        .expect("an edit");
    let plan = NewMemory { category: Category::Plan, status: Status::Candidate, ..NewMemory::new("Perhaps shard it") };
    let plan = engine.remember(plan).expect("a write").id;
    engine.link(&full, &plan, "explains", 0.5, "the port").expect("a link");
    for (topic, content) in [("editor", "The editor is vi"), ("editor", "The editor is Helix")] {
        let memory = NewMemory { topic: Some(topic.into()), ..NewMemory::new(content) };
        engine.remember(memory).expect("a write");
    }
    let old = engine.remember(NewMemory::new("The cluster is called heron")).expect("a write").id;
    engine.archive(&[old], Some("renamed")).expect("archived");
    let gone = engine.remember(NewMemory::new("The cluster is called egret")).expect("a write").id;
    engine.delete(&[gone]).expect("deleted");
    let due = support::BEGINNING + 3_600_000;
    let reminder = Patch { remind_at: Some(Some(due)), remind_every: Some(Some(7)), ..Patch::default() };
    engine.edit(&full, reminder).expect("a reminder");
    let cart = engine.remember(NewMemory { project: Some("cart".into()), ..NewMemory::new("The cart is in Redis") });
    cart.expect("a write");
    engine.merge_projects("cart", &shop).expect("a merge");
    engine.kv_set(Some(&shop), "deploy/last", r#"{"ok": true}"#, None).expect("a value");
    engine.kv_set(None, "theme", "\"dark\"", Some(60_000)).expect("a value");
    let plan = Change {
        kind: "plan".into(),
        name: "0123abcd".into(),
        project: Some(shop.clone()),
        expected: 0,
        action: Action::Put(r#"{"title": "Parse empty files"}"#.into()),
    };
    engine.write_documents(&[plan]).expect("a document");
    let shown = Shown { memory: full, key: 1, score: 0.5, why: "words: port".into(), outcome: None };
    let text = "PostgreSQL läuft auf Port 5434 — 東京 🦀".into();
    engine.decide(Decision { state: State::Shown, text, shown: vec![shown], ..undecided("msg_1") }).expect("decided");
    engine.decide(undecided("msg_2")).expect("decided");
}

/// An empty decision.
fn undecided(message: &str) -> Decision {
    Decision {
        session: "monday".into(),
        message: message.into(),
        project: None,
        at: 0,
        state: State::Nothing,
        text: String::new(),
        tokens: 0,
        about: r#"{"kind": "message"}"#.into(),
        shown: Vec::new(),
    }
}

#[test]
fn every_older_format_opens_with_its_whole_content() {
    for number in 1..=FORMAT {
        let name = format!("v{number}");
        let temporary = support::folder();
        let dir = temporary.path().join(&name);
        support::files::copy(&folder().join(&name), &dir);
        let engine = open(&dir);
        insta::assert_snapshot!(name.clone(), dump(&engine));
        assert_answers(&engine);
        assert_clean(&engine);
        // The opened store accepts writes, and its indexes can be removed.
        support::remember(&engine, [NUMBERED + 1]);
        embed(&engine);
        catch_up(&engine);
        assert_clean(&engine);
        let stats = engine.stats().expect("numbers");
        assert!(stats.lexical_documents >= NUMBERED && stats.graph_vectors >= NUMBERED, "{stats:?}");
        drop(engine);
        for derived in ["lexical", "vectors"] {
            std::fs::remove_dir_all(dir.join(derived)).expect("a derived folder");
        }
        let engine = open(&dir);
        assert_answers(&engine);
        catch_up(&engine);
        assert_answers(&engine);
        assert_clean(&engine);
    }
}

fn assert_answers(engine: &Engine) {
    for number in 0..=NUMBERED {
        assert_eq!(support::found(engine, &question(&word(number))), [text(number)]);
    }
    for number in 0..NUMBERED {
        let hits = engine.recall(near(&text(number))).expect("a recall");
        assert_eq!(hits[0].memory.content, text(number), "by {:?}", vector(&text(number)));
    }
    assert_eq!(support::found(engine, &question("Postgres port")), ["PostgreSQL läuft auf Port 5434 — 東京 🦀"]);
    assert_eq!(support::found(engine, &question("heron")), Vec::<String>::new());
    let decisions = engine.decisions("monday").expect("decisions");
    assert_eq!(decisions.iter().map(|one| one.state).collect::<Vec<_>>(), [State::Shown, State::Nothing]);
    assert_eq!(decisions[0].text, "PostgreSQL läuft auf Port 5434 — 東京 🦀");
    assert_eq!(decisions[0].shown[0].why, "words: port");
    assert_eq!(decisions[1], Decision { at: support::BEGINNING, ..undecided("msg_2") });
}

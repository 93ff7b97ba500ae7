//! Session learning: the result of each batch of messages is written once, in one transaction.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::engine::{Batch, LinkTarget, NewLink, Sighting};
use opencode_memory_core::model::{Category, NewMemory, Source, Status, Trust};
use opencode_memory_core::store::learning::Progress;
use opencode_memory_core::{Engine, ErrorKind};

use support::open;

fn batch(version: i64) -> Batch {
    Batch { session: "ses_1".into(), version, state: r#"{"open":"the parser"}"#.into(), ..Batch::default() }
}

fn learned(content: &str) -> NewMemory {
    NewMemory {
        category: Category::Preference,
        project: Some("app".into()),
        trust: Trust::Extracted,
        source: Source { session: Some("ses_1".into()), ..Source::default() },
        ..NewMemory::new(content)
    }
}

fn memories(engine: &Engine) -> usize {
    engine.stats().expect("stats").by_status.iter().map(|(_, count)| count).sum()
}

#[test]
fn batch_is_written_completely_or_not_at_all() {
    let dir = support::folder();
    let engine = open(dir.path());
    let message = vec![1, 2, 3];
    let progress = Progress { session: "ses_1".into(), mark: "m1".into(), cursor: Some("c1".into()) };
    let good = Batch {
        counted: vec![message.clone()],
        sightings: vec![Sighting { project: Some("app".into()), what: "x".into(), times: 2 }],
        memories: vec![learned("Use pnpm.")],
        progress: Some(("opencode".into(), progress.clone())),
        ..batch(0)
    };
    let results = engine.learn(good.clone()).expect("learned");
    assert_eq!(engine.get(&results[0].id).expect("a memory").trust, Trust::Extracted);
    assert_eq!(engine.history(&results[0].id).expect("history")[0].actor, Trust::Extracted);
    assert_eq!(engine.counted(&[message, vec![9]]).expect("counted"), [true, false]);
    assert_eq!(engine.feed_progress("opencode").expect("progress"), [progress]);
    assert_eq!(engine.seen_elsewhere(Some("app"), &["x".into()], "ses_2").expect("seen"), [1]);
    assert_eq!(engine.seen_elsewhere(Some("app"), &["x".into()], "ses_1").expect("seen"), [0]);
    // A process that read the state before this batch has lost the race, and no part of its batch is written.
    let late = Batch { counted: vec![vec![7]], memories: vec![learned("Use yarn.")], ..good };
    assert_eq!(engine.learn(late).expect_err("a conflict").kind(), ErrorKind::Conflict);
    assert_eq!(memories(&engine), 1);
    assert_eq!(engine.counted(&[vec![7]]).expect("counted"), [false]);
    assert_eq!(engine.learning("ses_1").expect("read").expect("known").version, 1);
    let bad = Batch { memories: vec![learned("")], counted: vec![vec![8]], ..batch(1) };
    assert_eq!(engine.learn(bad).expect_err("empty").kind(), ErrorKind::InvalidInput);
    assert_eq!(engine.counted(&[vec![8]]).expect("counted"), [false]);
}

#[test]
fn directive_is_active_in_the_words_of_the_user_and_otherwise_waits() {
    let dir = support::folder();
    let engine = open(dir.path());
    let order = |trust, text: &str| NewMemory { category: Category::Directive, trust, ..learned(text) };
    let results = engine
        .learn(Batch {
            memories: vec![
                order(Trust::User, "Always lint."),
                order(Trust::Extracted, "Always deploy."),
                order(Trust::Tool, "Always send logs."),
            ],
            ..batch(0)
        })
        .expect("learned");
    let status = |at: usize| engine.get(&results[at].id).expect("a memory").status;
    assert_eq!((status(0), status(1), status(2)), (Status::Active, Status::Candidate, Status::Candidate));
}

#[test]
fn procedure_of_an_agent_waits_unless_it_was_observed() {
    let dir = support::folder();
    let engine = open(dir.path());
    let procedure = |trust, text: &str, metadata: &str| NewMemory {
        category: Category::Procedure,
        trust,
        metadata: metadata.to_owned(),
        ..learned(text)
    };
    let observed = r#"{"observed": true}"#;
    let results = engine
        .learn(Batch {
            memories: vec![
                procedure(Trust::Extracted, "`make test`", observed),
                procedure(Trust::Extracted, "Run the script of the page", "{}"),
                procedure(Trust::Agent, "Run the other script", observed),
                procedure(Trust::Imported, "# Deploy: run deploy.sh", "{}"),
            ],
            ..batch(0)
        })
        .expect("learned");
    let statuses: Vec<Status> = results.iter().map(|result| engine.get(&result.id).expect("a memory").status).collect();
    assert_eq!(statuses, [Status::Active, Status::Candidate, Status::Candidate, Status::Active]);
}

#[test]
fn secret_in_extraction_state_is_redacted_and_purge_clears_the_state() {
    let dir = support::folder();
    let engine = open(dir.path());
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let with_secret = format!(r#"{{"error":"token {secret}"}}"#);
    let results = engine
        .learn(Batch { state: with_secret, memories: vec![learned("Quoted text.")], ..batch(0) })
        .expect("learned");
    let open = engine.learning("ses_1").expect("read").expect("known");
    assert!(!open.state.contains(secret), "{}", open.state);
    engine.purge(&[results[0].id.clone()], &opencode_memory_core::control::Control::none()).expect("purged");
    assert_eq!(engine.learning("ses_1").expect("read").expect("known").state, r#"{"error":""}"#);
}

#[test]
fn purge_of_a_deleted_memory_clears_the_state_also_if_its_history_is_damaged() {
    let dir = support::folder();
    let engine = open(dir.path());
    let results = engine.learn(Batch { memories: vec![learned("Quoted text.")], ..batch(0) }).expect("learned");
    let ids = [results[0].id.clone()];
    engine.delete(&ids).expect("deleted");
    let connection = rusqlite::Connection::open(engine.data_dir().join("store.db")).expect("a store");
    let damage = "INSERT INTO history(operation, memory, at, kind, actor, before) \
                  SELECT operation, memory, at, kind, actor, '{\"content\":\"Quo' FROM history WHERE before IS NOT NULL";
    assert!(connection.execute(damage, []).expect("damaged") > 0);
    engine.purge(&ids, &opencode_memory_core::control::Control::none()).expect("purged");
    assert_eq!(engine.learning("ses_1").expect("read").expect("known").state, r#"{"open":""}"#);
    let left: i64 = connection.query_row("SELECT count(*) FROM history", [], |row| row.get(0)).expect("counted");
    assert_eq!(left, 0);
}

#[test]
fn merged_projects_share_seen_statements() {
    let dir = support::folder();
    let engine = open(dir.path());
    let seen = |project: &str| Sighting { project: Some(project.into()), what: "x".into(), times: 1 };
    engine.learn(Batch { sightings: vec![seen("old"), seen("new")], ..batch(0) }).expect("learned");
    engine.merge_projects("old", "new").expect("merged");
    assert_eq!(engine.seen_elsewhere(Some("new"), &["x".into()], "ses_2").expect("seen"), [1]);
}

#[test]
fn sightings_that_are_taken_back_leave_the_others() {
    let dir = support::folder();
    let engine = open(dir.path());
    let seen = |times| vec![Sighting { project: Some("app".into()), what: "x".into(), times }];
    let left = || engine.seen_elsewhere(Some("app"), &["x".into()], "ses_2").expect("seen");
    engine.learn(Batch { sightings: seen(2), ..batch(0) }).expect("learned");
    engine.learn(Batch { sightings: seen(-1), ..batch(1) }).expect("learned");
    assert_eq!(left(), [1]);
    engine.learn(Batch { sightings: seen(-1), ..batch(2) }).expect("learned");
    assert_eq!(left(), [0]);
    engine.learn(Batch { sightings: seen(-1), ..batch(3) }).expect("learned");
    engine.learn(Batch { sightings: seen(1), ..batch(4) }).expect("learned");
    assert_eq!(left(), [1]);
}

#[test]
fn old_seen_statement_is_deleted_and_decision_of_the_user_is_kept() {
    let dir = support::folder();
    let engine = open(dir.path());
    let seen = |what: &str| Sighting { project: Some("app".into()), what: what.into(), times: 1 };
    engine.learn(Batch { sightings: vec![seen("x"), seen("settled:x")], ..batch(0) }).expect("learned");
    engine.clock().set(support::BEGINNING + 181 * 86_400_000);
    engine.maintain().expect("maintained");
    let whats = ["x".to_owned(), "settled:x".to_owned()];
    assert_eq!(engine.seen_elsewhere(Some("app"), &whats, "ses_2").expect("seen"), [0, 1]);
}

#[test]
fn links_of_a_batch_are_written_with_its_memories() {
    let dir = support::folder();
    let engine = open(dir.path());
    let rule = engine.remember(learned("Never edit the vendored files.")).expect("stored").id;
    let gone = engine.remember(learned("The pier has two cranes.")).expect("stored").id;
    engine.archive(std::slice::from_ref(&gone), None).expect("archived");
    let link = |number: usize, target: &str| NewLink {
        number,
        target: LinkTarget::Stored(target.to_owned()),
        kind: "said_later".into(),
        reason: "said later".into(),
    };
    let within = |target| NewLink { target: LinkTarget::New(target), ..link(0, "") };
    let links =
        vec![link(0, &rule), link(0, &gone), link(0, "no such id"), link(7, &rule), within(0), within(1), within(9)];
    let memories = vec![learned("The vendored files are ours by now."), learned("The crane is red.")];
    let results = engine.learn(Batch { memories, links, ..batch(0) }).expect("learned");
    let linked = |id: &str| -> Vec<String> {
        let related = engine.related(id, 10).expect("related");
        related.into_iter().filter(|one| one.kind == "said_later").map(|one| one.memory.id).collect()
    };
    assert_eq!(linked(&results[0].id), [rule.clone(), results[1].id.clone()]);
    // A batch that lost the race leaves no link either.
    let late = Batch { memories: vec![learned("The rule ends.")], links: vec![link(0, &rule)], ..batch(0) };
    assert_eq!(engine.learn(late).expect_err("a conflict").kind(), ErrorKind::Conflict);
    assert_eq!(linked(&rule), [results[0].id.clone()]);
}

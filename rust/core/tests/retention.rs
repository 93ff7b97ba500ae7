//! Retention: rows that no memory owns are dropped when they cannot be of use any more, and not before.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use opencode_memory_core::control::Control;
use opencode_memory_core::engine::Batch;
use opencode_memory_core::store::job::Ending;
use opencode_memory_core::store::project::Identity;
use opencode_memory_core::{Engine, Options};

use support::{BEGINNING, embed, open, open_with, remember};

const DAY_MS: i64 = 86_400_000;

fn rows(dir: &Path, table: &str) -> i64 {
    let connection = rusqlite::Connection::open(dir.join("store.db")).expect("a store");
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).expect("a number")
}

/// Maintain the store at the end of a day since the beginning.
fn maintain(engine: &Engine, day: i64) {
    engine.clock().set(BEGINNING + day * DAY_MS);
    engine.maintain().expect("maintained");
}

#[test]
fn extraction_state_is_dropped_after_180_days_and_its_messages_stay_processed() {
    let dir = support::folder();
    let engine = open(dir.path());
    let batch = Batch { session: "ses_1".into(), state: "{}".into(), counted: vec![vec![1]], ..Batch::default() };
    engine.learn(batch).expect("learned");
    maintain(&engine, 180);
    assert_eq!(rows(dir.path(), "learning"), 1);
    maintain(&engine, 181);
    assert_eq!(rows(dir.path(), "learning"), 0);
    assert_eq!(engine.counted(&[vec![1]]).expect("counted"), [true]);
    // The session goes on as a new one.
    let next = Batch { session: "ses_1".into(), state: "{}".into(), ..Batch::default() };
    engine.learn(next).expect("learned");
    assert_eq!(rows(dir.path(), "learning"), 1);
}

#[test]
fn dead_job_is_dropped_after_180_days_and_waiting_job_stays() {
    let dir = support::folder();
    let engine = open(dir.path());
    engine.enqueue("embed", "1", "{}", 0).expect("enqueued");
    let job = engine.claim_job("worker", &[], 1_000).expect("an answer").expect("a job");
    assert!(engine.end_job(job.id, "worker", &Ending::Hopeless("no".into())).expect("ended"));
    engine.enqueue("link", "", "{}", 0).expect("enqueued");
    maintain(&engine, 180);
    assert_eq!(rows(dir.path(), "job"), 2);
    maintain(&engine, 181);
    let left: Vec<String> = engine.jobs(10).expect("jobs").into_iter().map(|job| job.kind).collect();
    assert_eq!(left, ["link"]);
}

#[test]
fn row_of_a_backup_is_dropped_180_days_after_it_only_if_the_file_is_gone() {
    let dir = support::folder();
    let engine = open(dir.path());
    let [kept, gone] = ["kept.db", "gone.db"].map(|name| dir.path().join(name));
    for file in [&kept, &gone] {
        engine.backup(file, &Control::none()).expect("a backup");
    }
    std::fs::remove_file(&gone).expect("removed");
    maintain(&engine, 180);
    assert_eq!(rows(dir.path(), "backup"), 2, "the disk of the backup may come back");
    maintain(&engine, 181);
    assert_eq!(rows(dir.path(), "backup"), 1);
    let listed: Vec<_> = engine.backups().expect("backups").into_iter().map(|(path, _)| path).collect();
    assert_eq!(listed, [kept.canonicalize().expect("a path")]);
}

#[test]
fn gone_folders_of_a_project_with_a_remote_are_dropped_above_64() {
    let dir = support::folder();
    let engine = open(dir.path());
    let visit = |remotes: &[&str], folder: &str| {
        let identity = Identity {
            remotes: remotes.iter().map(|&remote| remote.to_owned()).collect(),
            root_commits: vec![],
            folder: Some(folder.to_owned()),
        };
        engine.resolve_project(&identity, true).expect("resolved").expect("a project")
    };
    let there = dir.path().to_str().expect("UTF-8").to_owned();
    let app = visit(&["host/app"], &there);
    for number in 0..63 {
        assert_eq!(visit(&["host/app"], &format!("/gone/{number}")), app);
    }
    let alone = visit(&[], "/gone/alone");
    maintain(&engine, 1);
    assert_eq!(rows(dir.path(), "project_mark WHERE kind = 'folder'"), 65, "64 folders are few");
    visit(&["host/app"], "/gone/63");
    maintain(&engine, 1);
    assert_eq!(rows(dir.path(), "project_mark WHERE kind = 'folder'"), 2);
    assert_eq!(visit(&["host/app"], "/gone/5"), app);
    assert_eq!(visit(&[], &there), app);
    assert_eq!(visit(&[], "/gone/alone"), alone);
}

/// Wait until the indexer thread has trimmed the change log to at most `most` rows.
#[track_caller]
fn await_trimmed(dir: &Path, most: i64) {
    let begun = Instant::now();
    while rows(dir, "change") > most {
        assert!(begun.elapsed() < Duration::from_secs(120), "{} changes are left", rows(dir, "change"));
        std::thread::yield_now();
    }
}

#[test]
fn change_log_of_a_store_without_a_graph_is_trimmed_in_the_background() {
    let dir = support::folder();
    let engine = open_with(dir.path(), Options { background: true, ..Options::default() });
    remember(&engine, 0..12_000);
    await_trimmed(dir.path(), 10_001);
    assert_eq!(support::assert_clean(&engine).lexical_documents, 12_000);
}

#[test]
fn change_log_is_trimmed_if_only_filter_columns_change() {
    let dir = support::folder();
    let engine = open_with(dir.path(), Options { background: true, ..support::options() });
    let ids = remember(&engine, 0..5_000);
    embed(&engine);
    support::catch_up(&engine);
    for round in 0..10 {
        engine.pin(&ids, round % 2 == 0).expect("pinned");
    }
    await_trimmed(dir.path(), 30_000);
    let report = support::assert_clean(&engine);
    assert_eq!(report.lexical_documents, 5_000);
    assert_eq!(engine.stats().expect("numbers").graph_vectors, 5_000);
}

/// SQLite empties the WAL only when no reader needs it, and keeps all writers waiting meanwhile.
#[test]
fn long_read_beside_the_maintenance_does_not_stop_writers() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..1);
    let connect = || rusqlite::Connection::open(dir.path().join("store.db")).expect("a store");
    let reader = connect();
    reader.execute_batch("BEGIN; SELECT count(*) FROM memory").expect("a snapshot");
    remember(&engine, 1..2); // The snapshot does not have it.
    let writer = connect();
    // A quarter of the time that a write of the engine waits.
    writer.busy_timeout(Duration::from_secs(5)).expect("a timeout");
    thread::scope(|scope| {
        let maintenance = scope.spawn(|| maintain(&engine, 1));
        while !maintenance.is_finished() {
            writer.execute_batch("BEGIN IMMEDIATE; COMMIT").expect("the maintenance does not hold the write lock");
        }
        maintenance.join().expect("maintained");
    });
    reader.execute_batch("COMMIT").expect("the snapshot was held until now");
}

//! The job queue: one worker at a time runs a job, failed jobs are retried, and no job is lost silently.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::collections::BTreeMap;
use std::sync::Barrier;

use opencode_memory_core::Engine;
use opencode_memory_core::store::job::{Ending, Job, MOST_ATTEMPTS};

use support::open;

const LEASE: i64 = 60_000;

fn at(engine: &Engine, ms: i64) {
    engine.clock().set(support::BEGINNING + ms);
}

fn claim(engine: &Engine, worker: &str) -> Option<Job> {
    engine.claim_job(worker, &[], LEASE).expect("an answer")
}

#[test]
fn each_job_goes_to_one_of_many_racing_workers() {
    let dir = support::folder();
    let engine = open(dir.path());
    for number in 0..40 {
        engine.enqueue("embed", &number.to_string(), "{}", 0).expect("enqueued");
    }
    let barrier = Barrier::new(4);
    let mut taken: Vec<i64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|number| {
                let (dir, barrier) = (dir.path(), &barrier);
                scope.spawn(move || {
                    let engine = open(dir);
                    barrier.wait();
                    std::iter::from_fn(|| claim(&engine, &format!("w{number}"))).map(|job| job.id).collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("worked")).collect()
    });
    taken.sort_unstable();
    let before = taken.len();
    taken.dedup();
    assert_eq!((before, taken.len()), (40, 40));
}

#[test]
fn waiting_job_is_enqueued_once_and_running_job_runs_again() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    let first = engine.enqueue("link", "", "{}", 0).expect("enqueued");
    assert_eq!(engine.enqueue("link", "", "{}", 0).expect("enqueued"), first);
    let job = claim(&engine, "w").expect("a job");
    assert!(claim(&engine, "v").is_none());
    engine.enqueue("link", "", "{}", 0).expect("enqueued");
    assert!(claim(&engine, "v").is_none(), "it is being done");
    assert!(engine.end_job(job.id, "w", &Ending::Done(None)).expect("ended"));
    let again = claim(&engine, "v").expect("a job enqueued while it ran");
    assert_eq!((again.id, again.attempts), (first, 1));
    assert!(engine.end_job(again.id, "v", &Ending::Done(None)).expect("ended"));
    assert!(claim(&engine, "v").is_none());
    assert!(engine.jobs(10).expect("jobs").is_empty());
}

#[test]
fn dead_worker_loses_its_job_after_the_lease_and_cannot_end_it_later() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    engine.enqueue("age", "", "{}", 0).expect("enqueued");
    let job = claim(&engine, "dead").expect("a job");
    at(&engine, LEASE - 1);
    assert!(engine.renew_job(job.id, "dead", LEASE).expect("an answer"));
    at(&engine, LEASE + 1);
    assert!(claim(&engine, "next").is_none(), "the lease was renewed");
    at(&engine, 2 * LEASE);
    assert_eq!(claim(&engine, "next").expect("a job").attempts, 2);
    assert!(!engine.renew_job(job.id, "dead", LEASE).expect("an answer"));
    assert!(!engine.end_job(job.id, "dead", &Ending::Done(None)).expect("an answer"));
    assert_eq!(engine.jobs(10).expect("jobs")[0].worker.as_deref(), Some("next"));
}

#[test]
fn failed_job_is_retried_with_growing_pauses_and_listed_as_dead_in_the_end() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    engine.enqueue("embed", "a", "{}", 0).expect("enqueued");
    let mut pauses = Vec::new();
    let mut now = 0;
    while let Some(job) = claim(&engine, "w") {
        engine.end_job(job.id, "w", &Ending::Failed("no model".into(), None)).expect("ended");
        if let Some(due) = engine.next_job_at().expect("an answer") {
            pauses.push(due - support::BEGINNING - now);
            now = due - support::BEGINNING;
            at(&engine, now);
        }
    }
    assert_eq!(pauses, [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000]);
    let dead = &engine.jobs(10).expect("jobs")[0];
    assert_eq!((dead.attempts, dead.error.as_deref()), (MOST_ATTEMPTS, Some("no model")));
    assert!(dead.dead_at.is_some());
    assert_eq!(engine.job_counts().expect("counts"), [("embed".to_owned(), 0, 0, 1)]);
    // Enqueuing it again with the same arguments does not revive it, but the user can.
    engine.enqueue("embed", "a", "{}", 0).expect("enqueued");
    assert!(claim(&engine, "w").is_none());
    assert_eq!(engine.revive_jobs(None, false).expect("revived"), 1);
    assert_eq!(claim(&engine, "w").expect("a job").attempts, 1);
}

#[test]
fn job_that_kills_its_workers_is_dead_in_the_end() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    engine.enqueue("embed", "poison", "{}", 0).expect("enqueued");
    let mut deaths = 0;
    while claim(&engine, "w").is_some() {
        deaths += 1;
        at(&engine, deaths * 2 * LEASE);
    }
    assert_eq!(deaths, MOST_ATTEMPTS);
    assert_eq!(engine.jobs(10).expect("jobs")[0].error.as_deref(), Some("every worker that had it died"));
}

#[test]
fn kind_with_many_jobs_does_not_starve_other_kinds() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    for number in 0..100 {
        engine.enqueue("enrich", &number.to_string(), "{}", 0).expect("enqueued");
    }
    engine.enqueue("age", "", "{}", 0).expect("enqueued");
    engine.enqueue("link", "", "{}", 0).expect("enqueued");
    let mut served: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..6 {
        *served.entry(claim(&engine, "w").expect("a job").kind).or_default() += 1;
    }
    assert_eq!(served, BTreeMap::from([("age".into(), 1), ("enrich".into(), 4), ("link".into(), 1)]));
}

#[test]
fn recurring_job_is_due_again_at_its_time() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    engine.enqueue("age", "", "{}", 0).expect("enqueued");
    let job = claim(&engine, "w").expect("a job");
    engine.end_job(job.id, "w", &Ending::Done(Some(support::BEGINNING + 1000))).expect("ended");
    at(&engine, 999);
    assert!(claim(&engine, "w").is_none());
    at(&engine, 1000);
    assert_eq!(claim(&engine, "w").expect("a job").attempts, 1);
}

#[test]
fn only_requested_kinds_are_claimed_and_invalid_arguments_are_refused() {
    let dir = support::folder();
    let engine = open(dir.path());
    engine.enqueue("embed", "", "{}", 0).expect("enqueued");
    assert!(engine.claim_job("w", &["age".to_owned()], LEASE).expect("an answer").is_none());
    assert!(engine.claim_job("w", &["embed".to_owned()], LEASE).expect("an answer").is_some());
    assert!(engine.claim_job("w", &[], 0).is_err());
    assert!(engine.enqueue("", "x", "{}", 0).is_err());
}

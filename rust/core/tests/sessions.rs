//! Sessions and claims: ownership, takeover after the lease, and races.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::sync::Barrier;

use opencode_memory_core::{Engine, ErrorKind};

use support::open;

const LEASE: i64 = 60_000;

fn at(engine: &Engine, ms: i64) {
    engine.clock().set(support::BEGINNING + ms);
}

#[test]
fn claim_of_a_live_session_is_refused_to_others_and_names_it() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    engine.session_start(Some("app"), "first", Some("the parser"), LEASE).expect("started");
    assert!(engine.claim(Some("app"), "first", "!12", LEASE).expect("claimed").granted);
    let refused = engine.claim(Some("app"), "second", "!12", LEASE).expect("an answer");
    assert!(!refused.granted);
    assert_eq!((refused.owner.name.as_str(), refused.owner.working_on.as_deref()), ("first", Some("the parser")));
    // The same item in another project is a different item.
    assert!(engine.claim(Some("web"), "second", "!12", LEASE).expect("claimed").granted);
    assert_eq!(engine.sessions(Some("web")).expect("sessions").len(), 1);
}

#[test]
fn session_loses_its_claim_after_the_lease_when_another_session_claims_it() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    engine.claim(None, "first", "!12", LEASE).expect("claimed");
    at(&engine, LEASE - 1);
    assert!(!engine.claim(None, "second", "!12", LEASE).expect("an answer").granted);
    // A heartbeat moves the end of the lease.
    engine.session_heartbeat(None, "first", LEASE).expect("alive");
    at(&engine, LEASE + 10);
    assert!(!engine.claim(None, "second", "!12", LEASE).expect("an answer").granted);
    at(&engine, 3 * LEASE);
    assert!(engine.sessions(None).expect("sessions").is_empty());
    // No other session claimed the item in the meantime, so the late session still has its claim.
    engine.session_heartbeat(None, "first", LEASE).expect("alive again");
    assert!(!engine.claim(None, "second", "!12", LEASE).expect("an answer").granted);
    at(&engine, 6 * LEASE);
    let taken = engine.claim(None, "second", "!12", LEASE).expect("claimed");
    assert!(taken.granted);
    assert_eq!(taken.taken_over_from.expect("an earlier owner").name, "first");
}

#[test]
fn claim_names_its_item_in_the_first_spelling() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    let claim = |session, item| engine.claim(None, session, item, LEASE).expect("an answer").item;
    assert_eq!(claim("first", "src/App.py"), "src/App.py");
    assert_eq!(claim("first", "SRC/app.py"), "src/App.py");
    assert_eq!(claim("second", "src/APP.py"), "src/App.py", "refused");
    at(&engine, 2 * LEASE);
    assert_eq!(claim("second", "src/APP.py"), "src/App.py", "taken over");
    assert_eq!(engine.sessions(None).expect("sessions")[0].claims[0].item, "src/App.py");
}

#[test]
fn claim_made_under_a_clock_ahead_ends_with_its_lease_under_the_right_clock() {
    const YEAR_MS: i64 = 365 * 86_400_000;
    for is_listed_first in [false, true] {
        let dir = support::folder();
        let engine = open(dir.path());
        at(&engine, YEAR_MS);
        engine.claim(None, "first", "!12", LEASE).expect("claimed");
        at(&engine, 0);
        if is_listed_first {
            assert_eq!(engine.sessions(None).expect("sessions").len(), 1);
        } else {
            let refused = engine.claim(None, "second", "!12", LEASE).expect("an answer");
            assert!(!refused.granted, "the lease starts when the right clock sees it first");
            assert_eq!(refused.owner.lease_until - refused.since, LEASE);
        }
        at(&engine, LEASE - 1);
        assert!(!engine.claim(None, "second", "!12", LEASE).expect("an answer").granted);
        at(&engine, LEASE + 1);
        assert!(engine.sessions(None).expect("sessions").is_empty());
        assert!(engine.claim(None, "second", "!12", LEASE).expect("an answer").granted);
    }
}

#[test]
fn restart_keeps_claims_and_end_releases_them() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    engine.claim(None, "first", "!12", LEASE).expect("claimed");
    engine.claim(None, "first", "src/app.rs", LEASE).expect("claimed");
    let again = engine.session_start(None, "first", Some("more"), LEASE).expect("started");
    assert_eq!(again.claims.len(), 2);
    let ended = engine.session_end(None, "first").expect("ended");
    assert_eq!(ended.claims.iter().map(|claim| claim.item.as_str()).collect::<Vec<_>>(), ["!12", "src/app.rs"]);
    assert!(engine.claim(None, "second", "!12", LEASE).expect("claimed").granted);
    let error = engine.session_heartbeat(None, "first", LEASE).expect_err("it has ended");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let error = engine.session_heartbeat(None, "third", LEASE).expect_err("it never began");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn only_the_owner_releases_a_claim() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    engine.claim(None, "first", "!12", LEASE).expect("claimed");
    let error = engine.release(None, "second", "!12").expect_err("not its own");
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("\"first\""));
    assert!(engine.release(None, "first", "!12").expect("released"));
    assert!(!engine.release(None, "first", "!12").expect("nothing to release"));
}

#[test]
fn one_of_many_racing_engines_gets_a_claim() {
    const RACERS: usize = 4;
    let dir = support::folder();
    let engines: Vec<Engine> = (0..RACERS).map(|_| open(dir.path())).collect();
    for round in 0..10 {
        let item = format!("!{}", round + 1);
        let start = Barrier::new(RACERS);
        let granted: Vec<bool> = std::thread::scope(|scope| {
            let racers: Vec<_> = engines
                .iter()
                .enumerate()
                .map(|(number, engine)| {
                    let (start, item) = (&start, &item);
                    scope.spawn(move || {
                        start.wait();
                        engine.claim(None, &format!("s{number}"), item, LEASE).expect("an answer").granted
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().expect("a racer")).collect()
        });
        assert_eq!(granted.iter().filter(|granted| **granted).count(), 1, "{granted:?}");
    }
}

#[test]
fn lease_and_name_have_limits_and_secrets_are_redacted() {
    let dir = support::folder();
    let engine = open(dir.path());
    at(&engine, 0);
    for (name, lease) in [("", LEASE), ("a\nb", LEASE), ("s", 0), ("s", i64::MAX)] {
        let error = engine.session_start(None, name, None, lease).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name:?} {lease}");
    }
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let session = engine.session_start(None, "s", Some(&format!("use {token}")), LEASE).expect("started");
    assert!(!session.working_on.expect("a text").contains(&token));
    engine.maintain().expect("maintained");
    assert_eq!(engine.sessions(None).expect("sessions").len(), 1);
    at(&engine, 40 * 86_400_000);
    engine.maintain().expect("maintained");
    assert_eq!(engine.session_end(None, "s").expect_err("forgotten").kind(), ErrorKind::NotFound);
}

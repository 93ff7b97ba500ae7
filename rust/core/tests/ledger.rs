//! The ledger: decisions are final, outcomes are counted, and a purge erases decisions that quote the memory.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::control::Control;
use opencode_memory_core::model::Scope;
use opencode_memory_core::model::enums::{Outcome, State};
use opencode_memory_core::model::ledger::{Decision, Shown, Usefulness};
use opencode_memory_core::store::Connection;
use opencode_memory_core::{Clock, Engine, Error, ErrorKind, Options};

use support::child::{self, Child, listen, say, task};
use support::files::contents;
use support::{BEGINNING, assert_clean, open, options, remember, text, word};

const DAY_MS: i64 = 86_400_000;
/// Number of messages that several processes decide on at the same time.
const RACES: usize = 200;

/// A decision that quotes these memories.
fn offered(message: &str, memories: &[String]) -> Decision {
    let shown = |(place, id): (usize, &String)| Shown {
        memory: id.clone(),
        key: place as i64 + 1,
        score: 1.0 / (place + 1) as f64,
        why: format!("words: place {place}"),
        outcome: None,
    };
    Decision {
        session: "ses_1".into(),
        message: message.into(),
        project: Some("app".into()),
        at: 0,
        state: State::Offered,
        text: format!("block of {message}"),
        tokens: 7,
        about: r#"{"kind":"message"}"#.into(),
        shown: memories.iter().enumerate().map(shown).collect(),
    }
}

fn nothing(message: &str) -> Decision {
    Decision { state: State::Nothing, text: String::new(), tokens: 0, ..offered(message, &[]) }
}

fn shown(engine: &Engine, session: &str, message: &str, memories: &[String]) {
    let decision = Decision { session: session.into(), state: State::Shown, ..offered(message, memories) };
    engine.decide(decision).expect("decided");
}

fn usefulness(engine: &Engine, memory: &str) -> (usize, usize, usize) {
    let Usefulness { shown, used, contradicted } = engine.usefulness(&[memory.to_owned()]).expect("numbers")[0];
    (shown, used, contradicted)
}

fn quoted(decision: &Decision) -> Vec<&str> {
    decision.shown.iter().map(|shown| shown.memory.as_str()).collect()
}

fn after_days(engine: &Engine, days: i64) {
    engine.clock().set(BEGINNING + days * DAY_MS);
}

#[test]
fn first_decision_is_kept_and_read_back_unchanged() {
    let dir = support::folder();
    let engine = open(dir.path());
    let mut ids = remember(&engine, 0..3);
    // The positions have a different order than the ids.
    ids.swap(0, 1);
    let first = engine.decide(Decision { at: 5, ..offered("msg_1", &ids) }).expect("decided");
    assert_eq!(first, Decision { at: BEGINNING, ..offered("msg_1", &ids) });
    after_days(&engine, 1);
    let second = Decision { text: "another block".into(), ..offered("msg_1", &ids[1..]) };
    assert_eq!(engine.decide(second).expect("decided"), first);
    assert_eq!(engine.decide(nothing("msg_1")).expect("decided"), first);
    let reader =
        Engine::open(dir.path(), Options { read_only: true, ..options() }, Clock::fixed(BEGINNING)).expect("open");
    assert_eq!(reader.decisions("ses_1").expect("decisions"), [first]);
    assert_eq!(reader.decide(offered("msg_2", &ids)).expect_err("read-only").kind(), ErrorKind::Storage);
}

#[test]
fn decisions_are_ordered_by_time_each_with_its_own_memories() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..4);
    for (day, message, memories) in [(3, "msg_a", &ids[..1]), (1, "msg_b", &ids[..0]), (2, "msg_c", &ids[1..])] {
        after_days(&engine, day);
        engine.decide(offered(message, memories)).expect("decided");
    }
    shown(&engine, "ses_2", "msg_a", &ids);
    let decisions = engine.decisions("ses_1").expect("decisions");
    let order: Vec<(&str, Vec<&str>)> =
        decisions.iter().map(|decision| (decision.message.as_str(), quoted(decision))).collect();
    assert_eq!(
        order,
        [("msg_b", vec![]), ("msg_c", vec![&*ids[1], &ids[2], &ids[3]]), ("msg_a", vec![ids[0].as_str()])]
    );
    assert_eq!(engine.decisions("ses_3").expect("decisions"), []);
}

#[test]
fn offered_decision_is_settled_once_and_late_decision_has_no_text() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..2);
    let of = |message: &str| {
        engine
            .decisions("ses_1")
            .expect("decisions")
            .into_iter()
            .find(|decision| decision.message == message)
            .expect("there")
    };
    engine.decide(offered("msg_1", &ids[..1])).expect("decided");
    engine.decide(offered("msg_2", &ids[1..])).expect("decided");
    engine.decide(nothing("msg_3")).expect("decided");
    assert!(engine.settle("ses_1", "msg_1", State::Shown).expect("settled"));
    assert!(engine.settle("ses_1", "msg_2", State::Late).expect("settled"));
    assert_eq!((of("msg_1").state, of("msg_1").text.as_str(), of("msg_1").tokens), (State::Shown, "block of msg_1", 7));
    assert_eq!((of("msg_2").state, of("msg_2").text.as_str(), of("msg_2").tokens), (State::Late, "", 0));
    assert_eq!(quoted(&of("msg_2")), [&ids[1]], "what came late can still be told");
    for (message, state) in
        [("msg_1", State::Late), ("msg_2", State::Shown), ("msg_3", State::Late), ("?", State::Late)]
    {
        let before = engine.decisions("ses_1").expect("decisions");
        assert!(!engine.settle("ses_1", message, state).expect("an answer"), "{message}");
        assert_eq!(engine.decisions("ses_1").expect("decisions"), before);
    }
    assert_eq!(usefulness(&engine, &ids[0]), (1, 0, 0));
    assert_eq!(usefulness(&engine, &ids[1]), (0, 0, 0));
    for state in [State::Offered, State::Nothing, State::Erased] {
        let error = engine.settle("ses_1", "msg_1", state).expect_err("no end").to_string();
        assert!(error.starts_with("state: "), "{error}");
    }
}

#[test]
fn session_counts_once_and_its_contradiction_stays() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..3);
    shown(&engine, "ses_1", "msg_1", &ids[..2]);
    shown(&engine, "ses_2", "msg_1", &ids[..1]);
    engine.decide(offered("msg_9", &ids)).expect("an offer that has not arrived");
    assert_eq!(usefulness(&engine, &ids[0]), (2, 0, 0));
    let note =
        |session: &str, memories: &[String], outcome| engine.note_outcome(session, memories, outcome).expect("noted");
    assert_eq!(note("ses_1", &ids, Outcome::Used), 2, "one of the three was not shown");
    assert_eq!(note("ses_1", &ids, Outcome::Used), 0);
    assert_eq!(note("ses_3", &ids, Outcome::Used), 0);
    assert_eq!((usefulness(&engine, &ids[0]), usefulness(&engine, &ids[2])), ((2, 1, 0), (0, 0, 0)));
    assert_eq!(note("ses_1", &ids[..1], Outcome::Contradicted), 1);
    assert_eq!(note("ses_1", &ids[..1], Outcome::Used), 0, "contradicted stays so");
    assert_eq!(usefulness(&engine, &ids[0]), (2, 0, 1));
    // The session is shown the memory again. It still counts once, and its contradiction stays.
    shown(&engine, "ses_1", "msg_2", &ids[..1]);
    assert_eq!(note("ses_1", &ids[..1], Outcome::Used), 1);
    assert_eq!(usefulness(&engine, &ids[0]), (2, 0, 1));
    assert_eq!(engine.usefulness(&[]).expect("numbers"), []);
}

#[test]
fn invalid_decision_is_refused_by_field_and_not_written() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..1);
    let ok = || offered("msg_1", &ids);
    let with = |shown: Shown| Decision { shown: vec![shown], ..ok() };
    let one = || ok().shown.remove(0);
    let long = "x".repeat(256 * 1024);
    for (beginning, decision) in [
        ("session: is empty", Decision { session: " ".into(), ..ok() }),
        ("session: has 513 characters; at most 512", Decision { session: "s".repeat(513), ..ok() }),
        ("message: is empty", Decision { message: String::new(), ..ok() }),
        ("session: contains a secret", Decision { session: "ghp_abcdefghijklmnopqrstuvwxyz0123456789".into(), ..ok() }),
        ("project: \"*\"", Decision { project: Some("*".into()), ..ok() }),
        ("text: has 262145 bytes; at most 262144", Decision { text: format!("{long}x"), ..ok() }),
        ("text: has a NUL byte", Decision { text: "a\0b".into(), ..ok() }),
        ("text: is empty", Decision { text: String::new(), ..ok() }),
        ("text: a decision in state \"nothing\"", Decision { state: State::Nothing, ..ok() }),
        ("text: a decision in state \"late\"", Decision { state: State::Late, ..ok() }),
        ("shown: a decision in state \"nothing\"", Decision { shown: ok().shown, ..nothing("msg_1") }),
        ("shown: has 201 memories; at most 200", Decision { shown: vec![one(); 201], ..ok() }),
        ("shown: memory", Decision { shown: vec![one(), one()], ..ok() }),
        ("state: only a purge", Decision { state: State::Erased, ..ok() }),
        ("tokens: must be at least 0", Decision { tokens: -1, ..ok() }),
        ("about: is not a JSON object", Decision { about: "[]".into(), ..ok() }),
        ("about: has", Decision { about: format!(r#"{{"a":"{}"}}"#, "x".repeat(65_536)), ..ok() }),
        ("memory: \"x\" is not the id", with(Shown { memory: "x".into(), ..one() })),
        ("memory: ", with(Shown { memory: ids[0].to_uppercase(), ..one() })),
        ("score: NaN is not a finite number", with(Shown { score: f64::NAN, ..one() })),
        ("why: has 4001 characters; at most 4000", with(Shown { why: "y".repeat(4001), ..one() })),
    ] {
        let error = engine.decide(decision).expect_err(beginning);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().starts_with(beginning), "{error}");
    }
    assert_eq!(engine.decisions("ses_1").expect("decisions"), []);
    assert_eq!(engine.projects().expect("projects").len(), 0);
    engine.decide(Decision { text: long, ..ok() }).expect("the longest text");
    let once = Decision { text: String::new(), state: State::Shown, ..offered("msg_2", &[]) };
    assert_eq!(engine.decide(once).expect("what is sent once needs no text").tokens, 7);
    assert_eq!(engine.find_sessions(" ").expect_err("nothing to look for").kind(), ErrorKind::InvalidInput);
}

#[test]
fn secret_is_redacted_before_the_decision_is_written() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..1);
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let mut decision = offered("msg_1", &ids);
    decision.text = format!("The token is {secret}.");
    decision.about = format!(r#"{{"reason":"{secret}"}}"#);
    decision.shown[0].why = format!("words: {secret}");
    let decided = engine.decide(decision).expect("decided");
    assert_eq!(decided.text, "The token is [redacted:github-token].");
    assert_eq!(engine.decisions("ses_1").expect("decisions"), [decided]);
    assert!(!contents(dir.path()).into_values().any(|bytes| holds(&bytes, secret)));
}

fn holds(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[test]
fn purge_erases_only_decisions_that_quote_the_memory() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..2);
    let about = format!(r#"{{"reason":"{}"}}"#, word(0));
    let quoting = |message: &str, memories: &[String]| {
        let text: String = (0..memories.len()).map(text).collect();
        Decision { text, about: about.clone(), ..offered(message, memories) }
    };
    engine.decide(quoting("msg_1", &ids)).expect("decided");
    engine.decide(Decision { state: State::Shown, ..quoting("msg_2", &ids) }).expect("decided");
    let other = engine.decide(offered("msg_3", &ids[1..])).expect("decided");
    let backup = dir.path().join("backup.db");
    engine.backup(&backup, &Control::none()).expect("a backup");
    engine.purge(&ids[..1], &Control::none()).expect("purged");
    let decisions = engine.decisions("ses_1").expect("decisions");
    for decision in &decisions[..2] {
        assert_eq!((decision.state, decision.text.as_str(), decision.about.as_str()), (State::Erased, "", "{}"));
        assert_eq!(quoted(decision), [&ids[1]]);
    }
    assert_eq!(decisions[2], other);
    std::fs::remove_file(&backup).expect("a file");
    let held: Vec<_> = contents(dir.path()).into_iter().filter(|(_, bytes)| holds(bytes, &word(0))).collect();
    assert!(held.is_empty(), "{:?}", held.iter().map(|(path, _)| path).collect::<Vec<_>>());
    // An erased decision stays erased: a new decision or a late state does not restore it.
    assert!(!engine.settle("ses_1", "msg_1", State::Shown).expect("an answer"));
    assert_eq!(engine.decide(offered("msg_1", &ids[1..])).expect("decided"), decisions[0]);
    assert_clean(&engine);
}

#[test]
fn decision_with_a_purged_memory_is_refused() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..2);
    engine.purge(&ids[..1], &Control::none()).expect("purged");
    let error = engine.decide(offered("msg_1", &ids)).expect_err("it is gone");
    assert!(matches!(error, Error::Conflict(_)), "{error}");
    assert_eq!(engine.decisions("ses_1").expect("decisions"), []);
    assert_eq!(engine.projects().expect("projects").len(), 0);
    engine.decide(offered("msg_1", &ids[1..])).expect("decided without it");
}

#[test]
fn purge_of_a_memory_without_history_erases_decisions_and_names_backups() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..1);
    engine.decide(offered("msg_1", &ids)).expect("decided");
    engine.delete(&ids).expect("deleted");
    assert_eq!(engine.decisions("ses_1").expect("decisions")[0].text, "block of msg_1", "a deletion can be undone");
    after_days(&engine, 31);
    engine.maintain().expect("maintained");
    assert_eq!(engine.history(&ids[0]).expect_err("forgotten").kind(), ErrorKind::NotFound);
    let backup = dir.path().join("backup.db");
    engine.backup(&backup, &Control::none()).expect("a backup");
    let report = engine.purge(&ids, &Control::none()).expect("purged");
    assert_eq!((report.memories, report.problems.as_slice()), (1, [].as_slice()));
    assert_eq!(report.backups, [backup.canonicalize().expect("a path")]);
    assert_eq!(engine.decisions("ses_1").expect("decisions")[0].state, State::Erased);
    assert_eq!(engine.purge(&ids, &Control::none()).expect_err("no trace").kind(), ErrorKind::NotFound);
}

#[test]
fn restored_backup_contains_its_decisions() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..2);
    engine.decide(offered("msg_1", &ids)).expect("decided");
    let before = engine.decisions("ses_1").expect("decisions");
    let backup = dir.path().join("backup.db");
    engine.backup(&backup, &Control::none()).expect("a backup");
    engine.settle("ses_1", "msg_1", State::Shown).expect("settled");
    engine.note_outcome("ses_1", &ids, Outcome::Used).expect("noted");
    engine.decide(offered("msg_2", &ids)).expect("decided");
    engine.restore_backup(&backup, &Control::none()).expect("restored");
    assert_eq!(engine.decisions("ses_1").expect("decisions"), before);
    assert_eq!(usefulness(&engine, &ids[0]), (0, 0, 0));
    assert_clean(&engine);
}

#[test]
fn decisions_are_not_in_history_change_log_or_undo() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..1);
    let (seq, past) = (engine.stats().expect("stats").seq, engine.history(&ids[0]).expect("history").len());
    shown(&engine, "ses_1", "msg_1", &ids);
    engine.note_outcome("ses_1", &ids, Outcome::Used).expect("noted");
    assert_eq!((engine.stats().expect("stats").seq, engine.history(&ids[0]).expect("history").len()), (seq, past));
    engine.undo(None).expect("undone");
    assert_eq!(engine.get(&ids[0]).expect_err("taken back").kind(), ErrorKind::NotFound);
    assert_eq!(engine.decisions("ses_1").expect("decisions").len(), 1);
}

#[test]
fn decision_follows_its_renamed_or_merged_project() {
    let dir = support::folder();
    let engine = open(dir.path());
    let decide = |session: &str, project: Option<&str>| {
        let project = project.map(str::to_owned);
        engine.decide(Decision { session: session.into(), project, ..nothing("msg_1") }).expect("decided");
    };
    decide("ses_1", Some("old"));
    decide("ses_2", Some("new"));
    decide("ses_3", None);
    engine.rename_project("old", "older").expect("renamed");
    assert_eq!(engine.decisions("ses_1").expect("decisions")[0].project.as_deref(), Some("older"));
    engine.merge_projects("older", "new").expect("merged");
    let projects =
        ["ses_1", "ses_2", "ses_3"].map(|session| engine.decisions(session).expect("decisions").remove(0).project);
    assert_eq!(projects, [Some("new".to_owned()), Some("new".to_owned()), None]);
    let of = |scope: &Scope| {
        let found = engine.decided_sessions(scope, 9).expect("sessions").into_iter();
        found.map(|one| one.session).collect::<Vec<_>>()
    };
    assert_eq!(of(&Scope::Project { name: "new".into(), with_global: false }), ["ses_1", "ses_2"]);
    assert_eq!(of(&Scope::Global), ["ses_3"]);
    assert_eq!(of(&Scope::Everything), ["ses_1", "ses_2", "ses_3"]);
    assert_eq!(of(&Scope::Project { name: "older".into(), with_global: false }), Vec::<String>::new());
}

#[test]
fn sessions_are_listed_newest_first_and_found_by_either_end_of_their_id() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..3);
    shown(&engine, "ses_1", "msg_1", &ids[..2]);
    after_days(&engine, 1);
    shown(&engine, "ses_21", "msg_1", &ids);
    after_days(&engine, 2);
    shown(&engine, "ses_1", "msg_2", &ids[1..]);
    engine.decide(Decision { project: Some("web".into()), ..nothing("msg_3") }).expect("decided");
    let summaries = engine.decided_sessions(&Scope::Everything, 9).expect("sessions");
    let told: Vec<_> =
        summaries.iter().map(|one| (one.session.as_str(), one.messages, one.shown, one.last_at)).collect();
    assert_eq!(told, [("ses_1", 3, 3, BEGINNING + 2 * DAY_MS), ("ses_21", 1, 3, BEGINNING + DAY_MS)]);
    assert_eq!(engine.decided_sessions(&Scope::Everything, 1).expect("sessions"), summaries[..1]);
    let found = |part: &str| engine.find_sessions(part).expect("sessions");
    assert_eq!(
        (found("ses_"), found("1")),
        (vec!["ses_1".into(), "ses_21".into()], vec!["ses_1".into(), "ses_21".into()])
    );
    assert_eq!((found("21"), found("ses_1")), (vec!["ses_21".to_owned()], vec!["ses_1".to_owned()]));
    assert_eq!(found("es_"), Vec::<String>::new());
}

#[test]
fn old_sessions_are_deleted_and_session_in_use_keeps_all_decisions() {
    let dir = support::folder();
    let engine = open(dir.path());
    let ids = remember(&engine, 0..1);
    shown(&engine, "ses_old", "msg_1", &ids);
    shown(&engine, "ses_on", "msg_1", &ids);
    after_days(&engine, 1);
    shown(&engine, "ses_on", "msg_2", &ids);
    after_days(&engine, 180);
    engine.maintain().expect("maintained");
    assert_eq!(engine.decisions("ses_old").expect("decisions").len(), 1, "180 days are not over");
    engine.clock().set(BEGINNING + 180 * DAY_MS + 1);
    engine.maintain().expect("maintained");
    assert_eq!(engine.decisions("ses_old").expect("decisions"), []);
    assert_eq!(engine.decisions("ses_on").expect("decisions").len(), 2);
    assert_eq!(usefulness(&engine, &ids[0]), (1, 0, 0));
    assert_clean(&engine);
}

#[test]
fn verify_reports_an_unreadable_ledger() {
    let dir = support::folder();
    let engine = open(dir.path());
    engine.decide(nothing("msg_1")).expect("decided");
    drop(engine);
    let file = dir.path().join("store.db");
    let damage = Connection::open(&file).expect("a file");
    damage.execute("UPDATE injection SET state = 'shwon'", []).expect("damaged");
    damage.execute("INSERT INTO injected VALUES ('ses_9', 'msg_9', 'x', 1, 0, 0.5, '', NULL)", []).expect("damaged");
    drop(damage);
    let engine = open(dir.path());
    let problems = engine.verify(&Control::none()).expect("a report").store_problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems.iter().any(|problem| problem.contains("1 decisions of the ledger cannot be read")),
        "{problems:?}"
    );
    let error = engine.decisions("ses_1").expect_err("an unknown word");
    assert_eq!(error.kind(), ErrorKind::CorruptStore);
    assert!(error.to_string().contains("\"shwon\""), "{error}");
}

#[test]
#[ignore = "the processes that the next test starts"]
fn child() {
    let Some((dir, words)) = task() else { return };
    let engine = open(&dir);
    say("ready");
    listen();
    // Each process makes another decision on the same messages, as fast as it can.
    for number in 0..RACES {
        let offer = offered(&format!("msg_{number}"), &[]);
        let decided = engine.decide(Decision { text: format!("by {}", words[0]), ..offer }).expect("decided");
        say(&format!("{} {}", decided.message, decided.text));
    }
}

#[test]
fn racing_processes_make_one_decision_and_all_get_it() {
    let dir = support::folder();
    let engine = open(dir.path());
    let mut children: Vec<Child> = ["a", "b", "c"].map(|name| child::start(dir.path(), &[name])).into();
    children.iter_mut().for_each(|child| child.expect("ready"));
    children.iter_mut().for_each(|child| child.tell("go"));
    let said = child::hear_everybody(&mut children);
    children.iter_mut().for_each(Child::assert_done);
    let mut decisions = engine.decisions("ses_1").expect("decisions");
    decisions.sort_by_key(|one| one.message[4..].parse::<usize>().expect("a number"));
    let decided: Vec<String> = decisions.iter().map(|one| format!("{} {}", one.message, one.text)).collect();
    assert_eq!(decided.len(), RACES);
    assert!(said.iter().all(|lines| *lines == decided), "{said:?}\n{decided:?}");
    assert_clean(&engine);
}

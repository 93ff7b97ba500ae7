//! Several processes on one data directory: the next recall of every process sees each acknowledged write.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use opencode_memory_core::control::Control;
use opencode_memory_core::index::catch_up::LOCK;
use opencode_memory_core::index::graph::snapshot;
use opencode_memory_core::index::lexical;
use opencode_memory_core::model::report::Outcome;
use opencode_memory_core::model::{NewMemory, Patch, RecallRequest};
use opencode_memory_core::{Engine, Error, Options};

use support::child::{self, Child, listen, say, task};
use support::files::contents;
use support::{
    Random, all, assert_clean, assert_holds, catch_up, embed, found, near, open, open_with, question, rebuild,
    remember, text, word,
};

#[test]
#[ignore = "the processes that the other tests start"]
fn child() {
    let Some((dir, words)) = task() else { return };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    say("ready");
    listen();
    let engine = open_with(&dir, Options { background: words[0] == "write", ..support::options() });
    match words.as_slice() {
        ["write"] => write(&engine),
        ["index"] => index(&engine),
        ["answer"] => answer(&engine),
        ["import", seed] => import(&engine, seed.parse().expect("a number")),
        ["begin", number] => drop(remember(&engine, [number.parse().expect("a number")])),
        ["wait for the lock"] => {
            remember(&engine, 100..150);
            embed(&engine);
            let impatient = Control { is_interrupted: &|| true, progress: &|_, _, _| {} };
            assert!(matches!(engine.catch_up(&impatient), Err(Error::Interrupted)));
            assert!(matches!(engine.rebuild_indexes(&impatient), Err(Error::Interrupted)));
        }
        other => panic!("{other:?} is no task"),
    }
    engine.close().expect("closed");
}

/// Write, edit and delete; report after each step which text exists now, or does not exist any more.
fn write(engine: &Engine) {
    let mut random = Random(5);
    let mut mine: Vec<(usize, String)> = Vec::new();
    for number in 0..250 {
        match random.below(4) {
            0 if mine.len() > 30 => {
                let (old, id) = mine.swap_remove(random.below(mine.len()));
                engine.delete(&[id]).expect("a deletion");
                announce(&format!("gone {old}"));
            }
            1 if mine.len() > 30 => {
                let place = random.below(mine.len());
                let patch = Patch { content: Some(text(number)), ..Patch::default() };
                engine.edit(&mine[place].1, patch).expect("an edit");
                let old = std::mem::replace(&mut mine[place].0, number);
                announce(&format!("gone {old}"));
                announce(&format!("there {number}"));
            }
            _ => {
                let id = remember(engine, [number]).remove(0);
                mine.push((number, id));
                announce(&format!("there {number}"));
                if random.below(3) == 0 {
                    embed(engine);
                    announce(&format!("near {number}"));
                }
            }
        }
    }
}

/// Report the current state, and wait until all other processes have checked it.
fn announce(line: &str) {
    say(line);
    listen();
}

/// Catch up and rebuild the indexes repeatedly.
fn index(engine: &Engine) {
    let mut random = Random(6);
    loop {
        if random.below(3) == 0 {
            rebuild(engine)
        } else {
            catch_up(engine)
        }
        say("indexed");
        if listen().is_none_or(|word| word == "stop") {
            return;
        }
    }
}

/// Check the states that the parent sends.
fn answer(engine: &Engine) {
    while let Some(line) = listen() {
        look(engine, &line);
        say("right");
    }
}

/// Assert that a recall finds the state that a line describes.
fn look(engine: &Engine, line: &str) {
    let (what, number) = line.split_once(' ').expect("two words");
    let number: usize = number.parse().expect("a number");
    let by_words = found(engine, &question(&word(number)));
    match what {
        "there" => assert_eq!(by_words, [text(number)], "{line}"),
        "gone" => assert!(by_words.is_empty(), "{line}: {by_words:?}"),
        _ => assert_eq!(found(engine, &RecallRequest { limit: 1, ..near(&text(number)) }), [text(number)], "{line}"),
    }
}

fn start(dir: &tempfile::TempDir, tasks: &[&[&str]]) -> Vec<Child> {
    let mut children: Vec<Child> = tasks.iter().map(|task| child::start(dir.path(), task)).collect();
    children.iter_mut().for_each(|child| child.expect("ready"));
    children.iter_mut().for_each(|child| child.tell("go"));
    children
}

/// Let a process index until `body` is done; returns how often it did.
fn while_another_process_indexes(dir: &tempfile::TempDir, body: impl FnOnce()) -> usize {
    let mut indexer = start(dir, &[&["index"]]).remove(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let listening = scope.spawn(|| {
            let mut rounds = 0;
            while indexer.hear().is_some() {
                rounds += 1;
                indexer.tell(if is_over.load(Ordering::SeqCst) { "stop" } else { "again" });
            }
            indexer.assert_done();
            rounds
        });
        let _stop = Stop(&is_over); // also when an assertion fails
        body();
        drop(_stop);
        listening.join().expect("a listener")
    })
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn i2_the_next_recall_of_another_process_sees_a_write_while_a_third_one_indexes() {
    let dir = support::folder();
    let engine = open(dir.path());
    let rounds = while_another_process_indexes(&dir, || {
        let mut children = start(&dir, &[&["write"], &["answer"]]);
        let mut held: BTreeSet<usize> = BTreeSet::new();
        while let Some(line) = children[0].hear() {
            look(&engine, &line);
            children[1].tell(&line);
            children[1].expect("right");
            match line.split_once(' ').expect("two words") {
                ("there", number) => drop(held.insert(number.parse().expect("a number"))),
                ("gone", number) => drop(held.remove(&number.parse().expect("a number"))),
                _ => {}
            }
            children[0].tell("go on");
        }
        children[0].assert_done();
        embed(&engine);
        assert_holds(&engine, held);
        // `verify` must not report an index as damaged while another process writes it.
        (0..20).for_each(|_| drop(assert_clean(&engine)));
    });
    assert!(rounds > 5, "the indexes moved {rounds} times only");
    assert_clean(&engine);
}

#[test]
fn two_processes_that_import_the_same_texts_store_each_text_once() {
    let dir = support::folder();
    let mut children = start(&dir, &[&["import", "1"], &["import", "2"], &["import", "3"]]);
    let acknowledged = child::hear_everybody(&mut children);
    children.iter_mut().for_each(Child::assert_done);
    assert!(acknowledged.iter().all(|lines| lines.last().map(String::as_str) == Some("600 texts")), "{acknowledged:?}");
    let engine = open(dir.path());
    assert_holds(&engine, 0..600);
    let stored: usize =
        acknowledged.iter().flatten().filter_map(|line| line.strip_prefix("stored ")?.parse::<usize>().ok()).sum();
    assert_eq!(stored, 600, "each text was new to one of them");
    assert_clean(&engine);
    catch_up(&engine);
    assert_eq!(assert_clean(&engine).lexical_documents, 600);
}

/// Write 600 texts in batches of a random order. Each repetition adds a tag.
fn import(engine: &Engine, seed: u64) {
    let mut random = Random(seed);
    let mut numbers: Vec<usize> = (0..600).collect();
    for place in (1..numbers.len()).rev() {
        numbers.swap(place, random.below(place + 1));
    }
    for batch in numbers.chunks(40) {
        let memories =
            batch.iter().map(|number| NewMemory { tags: vec![format!("from{seed}")], ..NewMemory::new(text(*number)) });
        let results = engine.remember_many(memories.collect()).expect("a write");
        say(&format!("stored {}", results.iter().filter(|result| result.outcome == Outcome::Stored).count()));
    }
    let mine = all(engine).into_iter().filter(|memory| memory.tags.contains(&format!("from{seed}"))).count();
    say(&format!("{mine} texts"));
}

#[test]
fn i4_only_the_holder_of_the_lock_writes_derived_files() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..60);
    embed(&engine);
    catch_up(&engine);
    let derived = || (contents(&lexical::folder(dir.path())), contents(&snapshot::folder(dir.path())));
    let lock = File::open(dir.path().join(LOCK)).expect("the lock");
    lock.lock().expect("the lock");
    let before = derived();
    // Enough texts to build both indexes, from processes that index in the background and in the foreground.
    let mut children = start(&dir, &[&["wait for the lock"], &["write"]]);
    let said = children[1].hear();
    assert!(said.is_some());
    for _ in 0..2_000 {
        children[1].tell("go on");
    }
    children[1].hear_all();
    children.iter_mut().for_each(Child::assert_done);
    let report = engine.catch_up(&Control { is_interrupted: &|| true, progress: &|_, _, _| {} });
    assert!(matches!(report, Err(Error::Interrupted)));
    assert_eq!(before, derived());
    lock.unlock().expect("the lock");
    catch_up(&engine);
    assert_ne!(before, derived());
    assert_clean(&engine);
}

#[test]
fn processes_that_open_a_new_directory_at_once_share_one_store() {
    for round in 0..8 {
        let dir = support::folder();
        let numbers: Vec<String> = (0..6).map(|number| number.to_string()).collect();
        let tasks: Vec<[&str; 2]> = numbers.iter().map(|number| ["begin", number.as_str()]).collect();
        let tasks: Vec<&[&str]> = tasks.iter().map(<[&str; 2]>::as_slice).collect();
        let mut children = start(&dir, &tasks);
        children.iter_mut().for_each(Child::assert_done);
        let engine = open(dir.path());
        assert_holds(&engine, 0..6);
        assert_eq!(assert_clean(&engine).memories, 6, "round {round}");
    }
}

#[test]
fn forked_child_gets_an_error_and_does_not_affect_its_parent() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..10);
    // SAFETY: the child never waits for a thread of the parent, and ends at once without running destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let told = matches!(engine.remember(NewMemory::new("from the child")), Err(Error::Closed(_)))
            && matches!(engine.recall(question("zx")), Err(Error::Closed(_)))
            && engine.close().is_ok();
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(i32::from(!told)) }
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just forked; `status` outlives the call.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0, "the child was not told");
    remember(&engine, 10..20);
    assert_holds(&engine, 0..20);
    assert_clean(&engine);
}

#[test]
#[cfg(target_os = "linux")]
fn forked_child_closes_no_database_of_its_parent() {
    /// Number of descriptors of this process for a file of this name.
    fn opened(name: &str) -> usize {
        let all = std::fs::read_dir("/proc/self/fd").expect("descriptors").flatten();
        all.filter(|one| std::fs::read_link(one.path()).is_ok_and(|file| file.ends_with(name))).count()
    }

    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..3);
    assert_holds(&engine, 0..3);
    assert!(engine.put_turns(support::MODEL, support::DIMENSION, &[support::turns_page(0..1)]).expect("indexed"));
    // SAFETY: the child never waits for a thread of the parent, and ends at once without running destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let before = ["store.db", "turns.db"].map(opened);
        drop(engine);
        let kept = before[0] > 0 && before[1] > 0 && ["store.db", "turns.db"].map(opened) == before;
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(i32::from(!kept)) }
    }
    let mut status = 0;
    // SAFETY: waits for the child that was just forked; `status` outlives the call.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0, "the child has closed a database");
}

#[test]
fn lock_file_that_a_starting_child_still_has_open_rebuilds_no_index() {
    let dir = support::folder();
    let engine = open(dir.path());
    remember(&engine, 0..50);
    catch_up(&engine);
    // What a child has between its fork and its own program: each file that its parent had open, with its lock.
    let file = lexical::folder(dir.path()).join(".tantivy-writer.lock");
    let inherited = File::create(&file).expect("the lock file of tantivy");
    inherited.lock().expect("a lock");
    remember(&engine, 50..60);
    let report = engine.catch_up(&Control::none()).expect("a catch-up");
    assert_eq!((report.lexical_rebuilt, report.lexical_added), (false, 10));
    assert_clean(&engine);
}

#[test]
#[cfg(target_os = "linux")]
fn second_engine_of_a_process_keeps_the_locks_of_the_first() {
    /// Where `SQLite` locks a file that it reads.
    const SHARED_FIRST: i64 = 0x4000_0002;
    const SHARED_SIZE: i64 = 510;

    let dir = support::folder();
    let first = open(dir.path());
    remember(&first, 0..3);
    let second = open(dir.path());
    assert_holds(&second, 0..3);
    let file = File::options().read(true).write(true).open(dir.path().join("store.db")).expect("the store");
    // SAFETY: a structure of integers, for which zero is a value.
    let mut wanted: libc::flock = unsafe { std::mem::zeroed() };
    wanted.l_type = libc::F_WRLCK as _;
    wanted.l_whence = libc::SEEK_SET as _;
    (wanted.l_start, wanted.l_len) = (SHARED_FIRST, SHARED_SIZE);
    // A lock of this open file conflicts with the locks of this process, too.
    // SAFETY: asks about an open file; `wanted` outlives the call.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut wanted) };
    assert_eq!(asked, 0);
    assert_ne!(i32::from(wanted.l_type), libc::F_UNLCK, "another process could take the store for unused");
}

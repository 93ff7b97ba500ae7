//! Writers are killed at random. Acknowledged writes must exist, and interrupted writes must be complete or absent.
//!
//! One to four processes write, edit, delete, embed and index on one directory, each with its own indexer thread. Each
//! process announces a write before it starts, and reports it when it is done.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use opencode_memory_core::control::Control;
use opencode_memory_core::model::Patch;
use opencode_memory_core::{Engine, Options};

use support::child::{self, Child, listen, say, task};
use support::{Random, all, assert_clean, assert_holds, catch_up, embed, open, open_with, remember, text};

/// Number of texts that one process may write in one round.
const NUMBERS: usize = 1_000;

/// A write: numbers whose texts are added and removed.
#[derive(Debug, Clone, Default)]
struct Write {
    add: Vec<usize>,
    remove: Vec<usize>,
}

impl Write {
    fn to_line(&self) -> String {
        let numbers = |numbers: &[usize]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        format!("{};{}", numbers(&self.add), numbers(&self.remove))
    }

    fn from_line(line: &str) -> Self {
        let numbers = |numbers: &str| numbers.split(',').filter_map(|number| number.parse().ok()).collect();
        let (add, remove) = line.split_once(';').expect("two lists");
        Self { add: numbers(add), remove: numbers(remove) }
    }

    /// Whether the store contains the write. A write is one transaction, so it is complete or absent.
    fn is_done(&self, held: &BTreeSet<String>) -> bool {
        let holds = |number: &usize| held.contains(&text(*number));
        let done = self.add.iter().all(holds) && !self.remove.iter().any(holds);
        let undone = !self.add.iter().any(holds) && self.remove.iter().all(holds);
        assert!(done || undone, "{self:?} was done by half");
        done
    }
}

#[test]
#[ignore = "the process that the other tests kill"]
fn child() {
    let Some((dir, words)) = task() else { return };
    let (first, seed): (usize, u64) = (words[0].parse().expect("a number"), words[1].parse().expect("a number"));
    let engine = open_with(&dir, Options { background: true, ..support::options() });
    let mut random = Random(seed);
    let mut mine: Vec<usize> = Vec::new();
    let mut next = first;
    say("ready");
    listen();
    while next + 20 < first + NUMBERS {
        match random.below(10) {
            0 => drop(engine.catch_up(&Control::none())),
            1 if random.below(6) == 0 => drop(engine.rebuild_indexes(&Control::none())),
            1 => drop(embed(&engine)),
            kind => {
                let write = choose(kind, &mut next, &mut mine, &mut random);
                say(&write.to_line());
                perform(&engine, &write);
                say("done");
            }
        }
    }
}

/// Choose a write that this process can make.
fn choose(kind: usize, next: &mut usize, mine: &mut Vec<usize>, random: &mut Random) -> Write {
    let mut write = Write::default();
    let adds = match kind {
        2 | 3 if !mine.is_empty() => {
            write.remove.push(mine.swap_remove(random.below(mine.len())));
            kind - 2 // a deletion, or an edit
        }
        4 => 1 + random.below(20),
        _ => 1,
    };
    write.add.extend(*next..*next + adds);
    *next += adds;
    mine.extend(&write.add);
    write
}

fn perform(engine: &Engine, write: &Write) {
    let id =
        |number: &usize| all(engine).into_iter().find(|memory| memory.content == text(*number)).expect("a memory").id;
    match (write.add.as_slice(), write.remove.as_slice()) {
        ([added], [removed]) => {
            let patch = Patch { content: Some(text(*added)), ..Patch::default() };
            engine.edit(&id(removed), patch).expect("an edit");
        }
        ([], [removed]) => drop(engine.delete(&[id(removed)]).expect("a deletion")),
        (added, _) => drop(remember(engine, added.iter().copied())),
    }
}

#[test]
fn i1_i2_acknowledged_writes_of_killed_writers_exist_and_are_found() {
    let dir = support::folder();
    let mut random = support::seed(7);
    let mut expected: BTreeSet<usize> = BTreeSet::new();
    let (mut rounds, begun) = (16, Instant::now());
    let mut round = 0;
    while support::soaking(&mut rounds, begun) {
        let mut children: Vec<Child> = (0..1 + random.below(4))
            .map(|place| {
                let first = ((round * 4 + place) % 9_000) * NUMBERS;
                child::start(dir.path(), &[&first.to_string(), &random.next().to_string()])
            })
            .collect();
        for child in &mut children {
            child.expect("ready");
        }
        for child in &mut children {
            child.tell("go");
        }
        let patience: Vec<usize> = children.iter().map(|_| random.below(200)).collect();
        let said: Vec<Vec<String>> = std::thread::scope(|scope| {
            let threads: Vec<_> = children
                .iter_mut()
                .zip(patience)
                .map(|(child, patience)| scope.spawn(move || kill_after(child, patience)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("a listener")).collect()
        });
        check(dir.path(), &mut expected, &said, &mut random);
        round += 1;
        if expected.len() > 3_000 {
            forget_everything(dir.path(), &mut expected);
        }
    }
}

/// Read some lines of a process, kill it, and read the remaining lines.
fn kill_after(child: &mut Child, patience: usize) -> Vec<String> {
    let mut said: Vec<String> = (0..patience).map_while(|_| child.hear()).collect();
    child.kill();
    said.extend(child.hear_all());
    child.assert_nothing_failed();
    said
}

/// Compare the store with the reported writes, before and after a catch-up.
fn check(dir: &Path, expected: &mut BTreeSet<usize>, said: &[Vec<String>], random: &mut Random) {
    let engine = open(dir);
    let held: BTreeSet<String> = all(&engine).into_iter().map(|memory| memory.content).collect();
    for lines in said {
        for pair in lines.chunks(2) {
            let write = Write::from_line(&pair[0]);
            let acknowledged = pair.get(1).is_some_and(|line| line == "done");
            if acknowledged || write.is_done(&held) {
                expected.extend(&write.add);
                expected.retain(|number| !write.remove.contains(number));
            }
        }
    }
    let texts: BTreeSet<String> = expected.iter().map(|number| text(*number)).collect();
    assert_eq!(held.len(), all(&engine).len(), "no text is there twice");
    let lost: Vec<_> = texts.difference(&held).collect();
    let risen: Vec<_> = held.difference(&texts).collect();
    assert!(lost.is_empty() && risen.is_empty(), "lost {lost:?}, risen {risen:?}");
    let ask = |engine: &Engine, random: &mut Random| {
        let numbers: Vec<usize> = expected.iter().copied().collect();
        for _ in 0..20.min(numbers.len()) {
            let number = numbers[random.below(numbers.len())];
            assert_eq!(support::found(engine, &support::question(&support::word(number))), [text(number)]);
        }
    };
    ask(&engine, random);
    assert_clean(&engine);
    if random.below(2) == 0 {
        catch_up(&engine);
        assert_clean(&engine);
        ask(&engine, random);
    }
    if expected.len() < 300 {
        assert_holds(&engine, expected.iter().copied());
    }
}

fn forget_everything(dir: &Path, expected: &mut BTreeSet<usize>) {
    let engine = open(dir);
    let ids: Vec<String> = all(&engine).into_iter().map(|memory| memory.id).collect();
    engine.delete(&ids).expect("a deletion");
    expected.clear();
}

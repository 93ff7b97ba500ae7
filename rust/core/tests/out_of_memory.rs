//! A process that runs out of memory: its writes fail or it aborts, and no acknowledged write is lost.

#![cfg(target_os = "linux")] // limits the address space
#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use opencode_memory_core::control::Control;
use opencode_memory_core::model::NewMemory;

use support::child::{self, say, task};
use support::{all, assert_clean, assert_holds, catch_up, embed, open, remember, text};

/// Texts that each child tries to write, beside those of [`FIRST`].
const TEXTS: usize = 60;
/// Texts that exist before; enough for a graph.
const FIRST: usize = 40;
/// Bytes that a child may still take, in units of 64 KiB.
const UNITS: [u64; 12] = [0, 1, 16, 128, 256, 320, 384, 448, 512, 640, 768, 1_024];

#[test]
#[ignore = "the process that runs out of memory"]
fn child() {
    let Some((dir, words)) = task() else { return };
    let engine = open(&dir);
    limit(words[0].parse::<u64>().expect("a number") << 16);
    for number in FIRST..FIRST + TEXTS {
        say(&format!("begun {number}"));
        match engine.remember(NewMemory::new(text(number))) {
            Ok(_) => say(&format!("done {number}")),
            Err(error) => say(&format!("failed {error}")),
        }
        if number % 10 == 9
            && let Err(error) = engine.catch_up(&Control::none())
        {
            say(&format!("failed {error}"));
        }
    }
}

/// Limit the address space of this process to what it has and `bytes` more.
fn limit(bytes: u64) {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm")
        .expect("the sizes of this process")
        .split(' ')
        .next()
        .and_then(|pages| pages.parse().ok())
        .expect("a number of pages");
    // SAFETY: the call only reads a setting.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let size = pages * page + bytes;
    let limit = libc::rlimit { rlim_cur: size, rlim_max: size };
    // SAFETY: the struct is complete and outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

#[test]
fn acknowledged_writes_survive_a_lack_of_memory() {
    let mut aborted = 0;
    for units in UNITS {
        let dir = support::folder();
        let engine = open(dir.path());
        remember(&engine, 0..FIRST);
        embed(&engine);
        catch_up(&engine);
        drop(engine);
        let mut process = child::start(dir.path(), &[&units.to_string()]);
        let heard = process.hear_all();
        let status = process.wait();
        let numbers = |what: &str| -> Vec<usize> {
            heard.iter().filter_map(|line| line.strip_prefix(what)?.parse().ok()).collect()
        };
        let (begun, done) = (numbers("begun "), numbers("done "));
        let errors = heard.iter().filter(|line| line.starts_with("failed ")).count();
        aborted += usize::from(!status.success());
        eprintln!("{} KiB: {status}, {} acknowledged, {errors} errors", units * 64, done.len());

        let engine = open(dir.path());
        let unknown = begun.last().filter(|last| !done.contains(last));
        // The write that an abort interrupted is complete or absent.
        let interrupted = unknown.filter(|last| all(&engine).iter().any(|memory| memory.content == text(**last)));
        embed(&engine);
        catch_up(&engine);
        assert_clean(&engine);
        assert_holds(&engine, (0..FIRST).chain(done).chain(interrupted.copied()));
    }
    assert!(aborted > 0, "no child aborted");
}

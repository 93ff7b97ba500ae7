//! A full disk. The failed write reports an error and leaves no partial data. Reads continue, and so do writes when
//! there is space again. If an index cannot be written, recalls are slower but correct.

#![cfg(target_os = "linux")] // mounts a small file system
#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::ffi::CString;
use std::path::Path;

use opencode_memory_core::control::Control;
use opencode_memory_core::index::graph::snapshot;
use opencode_memory_core::model::NewMemory;
use opencode_memory_core::{Clock, Engine, Error};

use support::child::{self, say, task};
use support::{all, assert_clean, assert_holds, catch_up, embed, open, remember, text, word};

const MEGABYTE: u64 = 1 << 20;

#[test]
#[ignore = "the process whose disk gets full"]
fn child() {
    let Some((dir, words)) = task() else { return };
    match words[0].as_str() {
        "tmpfs" => {
            if let Err(reason) = mount(&dir, 6 * MEGABYTE) {
                return say(&format!("skipped: {reason}"));
            }
            on_a_small_disk(&dir);
        }
        _ => with_a_limit_to_files(&dir),
    }
    say("done");
}

/// Mount a small file system on `dir`, for this process only.
fn mount(dir: &Path, bytes: u64) -> std::io::Result<()> {
    let path = CString::new(dir.to_str().expect("UTF-8")).expect("no NUL");
    let options = CString::new(format!("size={bytes},mode=0700")).expect("no NUL");
    let root = c"/";
    let none = std::ptr::null();
    // SAFETY: every string ends with NUL and outlives its call; the new namespace affects this thread and its
    // children only.
    let mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(none, root.as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) == 0
            && libc::mount(c"tmpfs".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast()) == 0
    };
    if mounted { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Fill the file system under `dir` until this many bytes are free.
fn leave(dir: &Path, bytes: u64) {
    let filler = dir.join("filler");
    let _ = std::fs::remove_file(&filler);
    let path = CString::new(dir.to_str().expect("UTF-8")).expect("no NUL");
    let mut stats = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` ends with NUL and outlives the call, which fills `stats` when it returns 0.
    let stats = unsafe {
        assert_eq!(libc::statvfs(path.as_ptr(), stats.as_mut_ptr()), 0);
        stats.assume_init()
    };
    let free = stats.f_bavail * stats.f_frsize;
    std::fs::write(filler, vec![1; free.saturating_sub(bytes) as usize]).expect("a file as large as the space");
}

fn free(dir: &Path) {
    std::fs::remove_file(dir.join("filler")).expect("the filler");
}

fn on_a_small_disk(dir: &Path) {
    let mut engine = open(dir);
    let mut numbers: Vec<usize> = (0..120).collect();
    remember(&engine, numbers.iter().copied());
    embed(&engine);
    catch_up(&engine);
    let mut next = 1_000;
    for bytes in [0, 4_096, 12_288, 20_000, 40_000, 80_000, 160_000, 400_000] {
        // This text is the only one that the catch-up has to index.
        remember(&engine, [next]);
        numbers.push(next);
        next += 1;
        embed(&engine);
        leave(dir, bytes);
        let mut refused = None;
        for _ in 0..100 {
            // Several texts at once, so that a write may fail in the middle.
            let batch: Vec<usize> = (next..next + 20).collect();
            next += batch.len();
            match engine.remember_many(batch.iter().map(|number| long(*number)).collect()) {
                Ok(_) => numbers.extend(batch),
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
        }
        let error = refused.expect("the disk gets full");
        assert!(matches!(error, Error::Storage { .. }), "{bytes}: {error:?}");
        assert!(error.to_string().contains("space") && error.to_string().contains("store.db"), "{bytes}: {error}");
        look(&engine, &numbers, bytes);
        // The indexes may or may not fit. In both cases no text is lost, and no manifest names an incomplete file.
        let _ = engine.kv_set(None, "key", "\"value\"", None);
        let _ = engine.catch_up(&Control::none());
        look(&engine, &numbers, bytes);
        let _ = engine.rebuild_indexes(&Control::none());
        assert_sound_or_absent(dir);
        look(&engine, &numbers, bytes);
        drop(engine);
        engine = open(dir); // with the WAL of the full disk
        look(&engine, &numbers, bytes);
        free(dir);
        remember(&engine, [next]);
        numbers.push(next);
        next += 1;
        embed(&engine);
        catch_up(&engine);
        look(&engine, &numbers, bytes);
        assert_clean(&engine);
        forget(&engine, &mut numbers);
    }
    // Free one page more each time, so that at some sizes the lexical index fits and the graph does not fit.
    let (mut without_words, mut without_graph, mut whole) = (0, 0, 0);
    for pages in 0..40 {
        // Otherwise the new graph would get the space of an older one.
        let _ = std::fs::remove_dir_all(snapshot::folder(dir));
        leave(dir, pages * 4_096);
        match engine.rebuild_indexes(&Control::none()) {
            Err(error) if error.to_string().contains("lexical") => without_words += 1,
            Err(_) => without_graph += 1,
            Ok(_) => whole += 1,
        }
        assert_sound_or_absent(dir);
        look(&engine, &numbers, pages);
        free(dir);
    }
    drop(engine);
    leave(dir, 0);
    // Even a reader needs a page of shared memory.
    let refused = Engine::open(dir, support::options(), Clock::fixed(support::BEGINNING)).expect_err("a full disk");
    assert!(refused.to_string().contains("there is no space left"), "{refused}");
    free(dir);
    let engine = open(dir);
    assert!(without_words > 0 && without_graph > 0 && whole > 0, "{without_words}, {without_graph}, {whole}");
    catch_up(&engine);
    assert_clean(&engine);
}

/// I5: a manifest names a complete file or does not exist.
fn assert_sound_or_absent(dir: &Path) {
    if let Some(manifest) = snapshot::manifest(dir) {
        let graph = snapshot::load(dir, &manifest, 1).expect("a manifest that names a complete file");
        assert_eq!(graph.len(), manifest.vectors);
    }
}

/// A text of some kilobytes with its word at the beginning.
fn long(number: usize) -> NewMemory {
    NewMemory::new(format!("{} {}", text(number), "and so on ".repeat(400)))
}

fn look(engine: &Engine, numbers: &[usize], bytes: u64) {
    let mut held: Vec<String> =
        all(engine).into_iter().map(|memory| memory.content[..text(0).len()].to_owned()).collect();
    held.sort();
    let mut expected: Vec<String> = numbers.iter().map(|number| text(*number)).collect();
    expected.sort();
    assert_eq!(held, expected, "{bytes}");
    for number in numbers.iter().rev().take(25).chain(numbers.iter().take(5)) {
        assert_eq!(support::found(engine, &support::question(&word(*number))).len(), 1, "{bytes}: {number}");
    }
    assert!(engine.verify(&Control::none()).expect("a verification").store_problems.is_empty());
}

/// Purge the long texts, so that the next round has space.
fn forget(engine: &Engine, numbers: &mut Vec<usize>) {
    let long: Vec<String> =
        all(engine).into_iter().filter(|memory| memory.content.len() > 1_000).map(|memory| memory.id).collect();
    engine.purge(&long, &Control::none()).expect("a purge");
    let kept: Vec<String> = all(engine).into_iter().map(|memory| memory.content).collect();
    numbers.retain(|number| kept.contains(&text(*number)));
}

/// Limit the size of files instead, which needs no privileges. A write then fails in the middle of a file.
fn with_a_limit_to_files(dir: &Path) {
    let engine = open(dir);
    remember(&engine, 0..120);
    embed(&engine);
    let mut numbers: Vec<usize> = (0..120).collect();
    let mut next = 1_000;
    // SAFETY: ignoring a signal; the write that would have raised it then fails.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let wal = std::fs::metadata(dir.join("store.db-wal")).expect("a WAL").len();
    limit(wal + 30_000);
    let error = (0..100)
        .find_map(|_| {
            let batch: Vec<usize> = (next..next + 20).collect();
            next += batch.len();
            let written = engine.remember_many(batch.iter().map(|number| long(*number)).collect());
            written.map(|_| numbers.extend(batch)).err()
        })
        .expect("the limit is reached");
    assert!(matches!(error, Error::Storage { .. }), "{error:?}");
    look(&engine, &numbers, 0);
    for bytes in [0, 100, 1_000, 4_000, 10_000] {
        limit(bytes);
        let _ = engine.rebuild_indexes(&Control::none());
        assert_sound_or_absent(dir);
        look(&engine, &numbers, bytes);
    }
    limit(libc::RLIM_INFINITY);
    remember(&engine, [1]);
    embed(&engine);
    catch_up(&engine);
    look(&engine, &numbers, 0);
    assert_clean(&engine);
    let short: Vec<usize> = numbers.into_iter().filter(|number| *number < 1_000).collect();
    let mut rest = short.clone();
    forget(&engine, &mut rest);
    assert_holds(&engine, short);
}

fn limit(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
}

#[test]
fn full_disk_loses_no_data_and_leaves_no_partial_write() {
    let dir = support::folder();
    let mut child = child::start(dir.path(), &["tmpfs"]);
    let said = child.hear();
    if let Some(reason) = said.as_deref().and_then(|line| line.strip_prefix("skipped")) {
        eprintln!("skipped: no file system could be mounted{reason}");
        return;
    }
    child.assert_done();
    assert_eq!(said.as_deref(), Some("done"));
}

#[test]
fn file_size_limit_loses_no_data_and_leaves_no_partial_write() {
    let dir = support::folder();
    let mut child = child::start(dir.path(), &["limit"]);
    child.expect("done");
    child.assert_done();
}

//! A read-only directory: recalls work, and every write is refused with the path of the file.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::expect_used)] // a test fails by panicking

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use opencode_memory_core::control::Control;
use opencode_memory_core::model::{NewMemory, Patch};
use opencode_memory_core::store::{FILE, turns, wal_of};
use opencode_memory_core::{Clock, Engine, Error, Options, Result};

use support::child::{self, say, task};
use support::files::{contents, files};
use support::{
    BEGINNING, DIMENSION, MODEL, assert_clean, assert_holds, catch_up, embed, open, options, remember, turns_page,
};

/// The id of an unprivileged user.
const NOBODY: u32 = 65_534;

fn open_read_only(dir: &Path) -> Result<Engine> {
    Engine::open(dir, Options { read_only: true, ..options() }, Clock::fixed(BEGINNING))
}

fn fill(dir: &Path) {
    let engine = open(dir);
    remember(&engine, 0..60);
    embed(&engine);
    catch_up(&engine);
    remember(&engine, 60..65);
    embed(&engine);
    engine.backup(&dir.join("backup.db"), &Control::none()).expect("a backup");
    assert!(engine.put_turns(MODEL, DIMENSION, &[turns_page(0..3)]).expect("indexed"));
}

/// Make a directory readable but not writable for all users.
fn lock_away(dir: &Path) {
    for path in files(dir) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o444)).expect("permissions");
    }
    let sessions = dir.join(turns::FOLDER);
    for folder in [dir.join("lexical"), dir.join("vectors"), sessions.join("lexical"), sessions, dir.to_owned()] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o555)).expect("permissions");
    }
}

/// All operations that write, by name.
fn writes(engine: &Engine, id: &str) -> Vec<(&'static str, Option<Error>)> {
    let ids = [id.to_owned()];
    let control = Control::none();
    let backup = engine.data_dir().join("backup.db");
    vec![
        ("remember", engine.remember(NewMemory::new("something new")).err()),
        ("edit", engine.edit(id, Patch { content: Some("something else".into()), ..Patch::default() }).err()),
        ("archive", engine.archive(&ids, None).err()),
        ("delete", engine.delete(&ids).err()),
        ("pin", engine.pin(&ids, true).err()),
        ("undo", engine.undo(None).err()),
        ("purge", engine.purge(&ids, &control).err()),
        ("kv_set", engine.kv_set(None, "key", "1", None).err()),
        ("kv_delete", engine.kv_delete(None, "key").err()),
        ("activate_model", engine.activate_model("another", 4).err()),
        ("catch_up", engine.catch_up(&control).err()),
        ("rebuild_indexes", engine.rebuild_indexes(&control).err()),
        ("restore_backup", engine.restore_backup(&backup, &Control::none()).err()),
        ("maintain", engine.maintain().err()),
    ]
}

fn assert_read_only(dir: &Path, engine: &Engine) {
    assert_holds(engine, 0..65);
    assert_eq!(assert_clean(engine).memories, 65);
    let id = support::all(engine)[0].id.clone();
    let stats = engine.stats().expect("numbers");
    assert_eq!((stats.lexical_documents, stats.lexical_tail), (60, 5), "the index is used, not only the texts");
    assert_eq!(engine.turn_counts().expect("counts").turns, 3);
    let mut refused = writes(engine, &id);
    refused.push(("backup", engine.backup(&dir.join("another.db"), &Control::none()).err()));
    for (what, error) in refused {
        let Some(error) = error else { panic!("{what} was not refused") };
        assert!(matches!(error, Error::Storage { .. }), "{what}: {error:?}");
        assert!(error.to_string().contains(dir.to_str().expect("UTF-8")), "{what}: {error}");
    }
    assert_holds(engine, 0..65);
}

#[test]
#[ignore = "the process that gives up its rights"]
fn child() {
    let Some((dir, _)) = task() else { return };
    // SAFETY: drops privileges for the rest of this process; no other thread depends on them.
    let given_up =
        unsafe { libc::setgroups(0, std::ptr::null()) == 0 && libc::setgid(NOBODY) == 0 && libc::setuid(NOBODY) == 0 };
    assert!(given_up, "{}", std::io::Error::last_os_error());
    let refused = Engine::open(&dir, options(), Clock::fixed(BEGINNING)).expect_err("a folder that is not writable");
    assert!(matches!(refused, Error::Storage { .. }), "{refused:?}");
    assert!(refused.to_string().contains(dir.to_str().expect("UTF-8")), "{refused}");
    assert_read_only(&dir, &open_read_only(&dir).expect("a store that is read"));
    say("done");
}

#[test]
fn unprivileged_user_recalls_from_a_read_only_directory() {
    // SAFETY: only reads the user id.
    if unsafe { libc::getuid() } != 0 {
        eprintln!("skipped: only root can become another user");
        return;
    }
    for leave_wal in [false, true] {
        let dir = support::folder();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("permissions");
        let data = dir.path().join("data");
        fill(&data);
        // A running writer keeps its WAL; a closed writer leaves a single file.
        let writer = leave_wal.then(|| open(&data));
        if let Some(writer) = &writer {
            remember(writer, [0]);
            writer.pin(&[support::all(writer)[3].id.clone()], true).expect("pinned");
        }
        assert_eq!(wal_of(&data.join(FILE)).exists(), leave_wal);
        lock_away(&data);
        let before = contents(&data);
        let mut child = child::start(&data, &[]);
        child.expect("done");
        child.assert_done();
        let after = contents(&data);
        let names =
            |files: &std::collections::BTreeMap<_, _>| files.keys().cloned().collect::<Vec<std::path::PathBuf>>();
        assert_eq!(names(&before), names(&after));
        let changed: Vec<_> =
            before.iter().filter(|(path, bytes)| after[*path] != **bytes).map(|(path, _)| path).collect();
        // Readers record their read marks in the shared memory.
        assert!(changed.iter().all(|path| path.to_string_lossy().ends_with("-shm")), "{changed:?}");
    }
}

#[test]
fn store_opened_read_only_refuses_every_write() {
    let dir = support::folder();
    fill(dir.path());
    let engine = open_read_only(dir.path()).expect("a store that is read");
    let derived = || (contents(&dir.path().join("lexical")), contents(&dir.path().join("vectors")));
    let before = derived();
    assert_holds(&engine, 0..65);
    let id = support::all(&engine)[0].id.clone();
    for (what, error) in writes(&engine, &id) {
        let Some(error) = error else { panic!("{what} was not refused") };
        assert!(matches!(error, Error::Storage { .. }), "{what}: {error:?}");
    }
    assert_eq!(before, derived());
    // Writes of another process are visible.
    remember(&open(dir.path()), [70]);
    assert_holds(&engine, (0..65).chain([70]));
    let missing = open_read_only(&dir.path().join("missing")).expect_err("there is no store");
    assert!(missing.to_string().contains("there is no store yet"), "{missing}");
    assert!(!dir.path().join("missing").exists());
}

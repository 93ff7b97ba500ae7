//! The calls of this process to the file system, recorded and made to fail.
//!
//! This program defines the functions of the C library that change files. The linker prefers them, so the engine, `SQLite`
//! and tantivy call them. Each one calls the function of the C library and records its effect if the file lies in the
//! watched folder.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Effect of a call. Files are named by numbers, because a name may change.
#[derive(Debug, Clone)]
pub enum Event {
    /// A name now belongs to a file.
    Create(PathBuf, usize),
    /// A file got another length.
    Truncate(usize, usize),
    /// Bytes were written at an offset.
    Write(usize, usize, Vec<u8>),
    /// A file was synced.
    Sync(usize),
    /// A folder was synced.
    SyncFolder(PathBuf),
    /// A name was changed.
    Rename(PathBuf, PathBuf),
    /// A name was removed.
    Remove(PathBuf),
    /// The engine acknowledged a write.
    Acknowledged(usize),
}

/// Calls that fail.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// Number of matching calls that succeed first.
    pub after: usize,
    /// Whether all later calls fail as well.
    pub stays: bool,
    /// Whether only syncs fail.
    pub syncs_only: bool,
    /// The error.
    pub errno: c_int,
}

/// What is watched.
#[derive(Debug, Default)]
pub struct Watch {
    folder: Option<PathBuf>,
    events: Vec<Event>,
    names: BTreeMap<PathBuf, usize>,
    files: usize,
    /// Open descriptors: the path, and the number of the file or `None` for a folder.
    open: BTreeMap<c_int, (PathBuf, Option<usize>)>,
    fault: Option<Fault>,
    calls: usize,
    failed: usize,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch {
    folder: None,
    events: Vec::new(),
    names: BTreeMap::new(),
    files: 0,
    open: BTreeMap::new(),
    fault: None,
    calls: 0,
    failed: 0,
});

fn watch() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begin to watch a folder. Calls fail as `fault` says.
pub fn begin(folder: &Path, fault: Option<Fault>) {
    let mut watch = watch();
    *watch = Watch { folder: Some(folder.to_owned()), fault, ..Watch::default() };
}

/// Stop failing, but go on watching.
pub fn heal() {
    watch().fault = None;
}

/// Record that the engine acknowledged a write.
pub fn acknowledge(number: usize) {
    watch().events.push(Event::Acknowledged(number));
}

/// Stop watching; returns the events, and how many calls failed.
pub fn end() -> (Vec<Event>, usize) {
    let mut watch = watch();
    let (events, failed) = (std::mem::take(&mut watch.events), watch.failed);
    *watch = Watch::default();
    (events, failed)
}

impl Watch {
    fn has(&self, path: &Path) -> bool {
        // The shared memory of a WAL is written through a mapping. SQLite never trusts it after a crash.
        self.folder.as_ref().is_some_and(|folder| path.starts_with(folder))
            && !path.as_os_str().as_bytes().ends_with(b"-shm")
    }

    /// Whether this call fails now.
    fn fails(&mut self, is_sync: bool) -> Option<c_int> {
        let fault = self.fault?;
        if fault.syncs_only && !is_sync {
            return None;
        }
        self.calls += 1;
        let fails = self.calls == fault.after + 1 || fault.stays && self.calls > fault.after;
        self.failed += usize::from(fails);
        fails.then_some(fault.errno)
    }

    /// The number of a file; one that was written by other means gets its present content as a write that was not synced.
    fn number(&mut self, path: &Path) -> usize {
        if let Some(number) = self.names.get(path) {
            return *number;
        }
        let number = self.files;
        self.files += 1;
        self.names.insert(path.to_owned(), number);
        self.events.push(Event::Create(path.to_owned(), number));
        number
    }

    fn opened(&mut self, path: PathBuf, descriptor: c_int, existed: bool, flags: c_int) {
        if path.is_dir() {
            self.open.insert(descriptor, (path, None));
            return;
        }
        let is_new = !self.names.contains_key(&path);
        let number = self.number(&path);
        if flags & libc::O_TRUNC != 0 {
            self.events.push(Event::Truncate(number, 0));
        } else if is_new && existed {
            self.copy_content(&path, number);
        }
        self.open.insert(descriptor, (path, Some(number)));
    }

    fn copy_content(&mut self, path: &Path, number: usize) {
        let content = read_unwatched(path);
        self.events.push(Event::Write(number, 0, content));
    }

    fn renamed(&mut self, from: &Path, to: &Path) {
        if !to.is_dir() && !self.names.contains_key(from) {
            let number = self.number(from);
            self.copy_content(to, number);
        }
        let moved: Vec<PathBuf> = self.names.keys().filter(|name| name.starts_with(from)).cloned().collect();
        for name in moved {
            let number = self.names.remove(&name).expect("a name that was just listed");
            let rest = name.strip_prefix(from).expect("a name below the renamed one");
            self.names.insert(if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) }, number);
        }
        self.events.push(Event::Rename(from.to_owned(), to.to_owned()));
    }
}

/// Read a file by calls that are not watched.
fn read_unwatched(path: &Path) -> Vec<u8> {
    let mut name = path.as_os_str().as_bytes().to_vec();
    name.push(0);
    let mut content = Vec::new();
    // SAFETY: the name ends with NUL, the buffer has the length that is given, and the descriptor is closed.
    unsafe {
        let descriptor = real::open(name.as_ptr().cast(), libc::O_RDONLY, 0);
        if descriptor < 0 {
            return content;
        }
        let mut buffer = vec![0_u8; 1 << 16];
        loop {
            let count = real::read(descriptor, buffer.as_mut_ptr().cast(), buffer.len());
            if count <= 0 {
                break;
            }
            content.extend_from_slice(&buffer[..count as usize]);
        }
        real::close(descriptor);
    }
    content
}

/// The functions of the C library.
mod real {
    use super::{c_char, c_int, c_void};
    use libc::{mode_t, off_t, size_t, ssize_t};

    macro_rules! functions {
        ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
            $(pub unsafe fn $name($($argument: $type),*) -> $result {
                type Function = unsafe extern "C" fn($($type),*) -> $result;
                static FOUND: std::sync::OnceLock<Function> = std::sync::OnceLock::new();
                let function = FOUND.get_or_init(|| {
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the name ends with NUL, and the C library defines the function with these types.
                    unsafe {
                        let address = libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast());
                        assert!(!address.is_null(), "the C library has no {name}");
                        std::mem::transmute::<*mut c_void, Function>(address)
                    }
                });
                // SAFETY: the caller keeps the rules of the function.
                unsafe { function($($argument),*) }
            })+
        };
    }

    functions! {
        open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
        close(descriptor: c_int) -> c_int;
        read(descriptor: c_int, bytes: *mut c_void, count: size_t) -> ssize_t;
        pread(descriptor: c_int, bytes: *mut c_void, count: size_t, offset: off_t) -> ssize_t;
        write(descriptor: c_int, bytes: *const c_void, count: size_t) -> ssize_t;
        pwrite(descriptor: c_int, bytes: *const c_void, count: size_t, offset: off_t) -> ssize_t;
        ftruncate(descriptor: c_int, length: off_t) -> c_int;
        fsync(descriptor: c_int) -> c_int;
        fdatasync(descriptor: c_int) -> c_int;
        rename(from: *const c_char, to: *const c_char) -> c_int;
        unlink(path: *const c_char) -> c_int;
        unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int;
        mkdir(path: *const c_char, mode: mode_t) -> c_int;
    }
}

fn fail(errno: c_int) -> c_int {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// SAFETY: `path` ends with NUL.
unsafe fn path_of(path: *const c_char) -> PathBuf {
    // SAFETY: see above.
    PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()))
}

/// Run a call on a name in the watched folder, which may fail instead.
fn on_name(path: &Path, call: impl FnOnce() -> c_int, done: impl FnOnce(&mut Watch)) -> c_int {
    let mut watch = watch();
    if !watch.has(path) {
        drop(watch);
        return call();
    }
    if let Some(errno) = watch.fails(false) {
        return fail(errno);
    }
    let result = call();
    if result == 0 {
        done(&mut watch);
    }
    result
}

/// Open a file. Only an opening that may create or write counts as a call that can fail.
fn on_open(path: &Path, flags: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let mut watch = watch();
    if !watch.has(path) {
        drop(watch);
        return call();
    }
    if flags & (libc::O_CREAT | libc::O_WRONLY | libc::O_RDWR) != 0
        && let Some(errno) = watch.fails(false)
    {
        return fail(errno);
    }
    let existed = std::fs::symlink_metadata(path).is_ok();
    let descriptor = call();
    if descriptor >= 0 {
        watch.opened(path.to_owned(), descriptor, existed, flags);
    }
    descriptor
}

/// Run a call on a watched file, which may fail instead. `done` gets the number of the file and the result.
fn on_file(
    descriptor: c_int,
    is_sync: bool,
    call: impl FnOnce() -> isize,
    done: impl FnOnce(&mut Watch, usize, usize),
) -> isize {
    let mut watch = watch();
    let Some((path, number)) = watch.open.get(&descriptor).cloned() else {
        drop(watch);
        return call();
    };
    if let Some(errno) = watch.fails(is_sync) {
        return fail(errno) as isize;
    }
    let result = call();
    if result >= 0 {
        match number {
            Some(number) => done(&mut watch, number, result as usize),
            None if is_sync => watch.events.push(Event::SyncFolder(path)),
            None => {}
        }
    }
    result
}

/// SAFETY: `bytes` has `count` bytes.
unsafe fn copied(bytes: *const c_void, count: usize) -> Vec<u8> {
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) }.to_vec()
}

macro_rules! openers {
    ($($name:ident),+) => {$(
        /// Opens as the function of the C library. Its last argument is variadic there and passed in the same way.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
            // SAFETY: the arguments are the caller's.
            on_open(&unsafe { path_of(path) }, flags, || unsafe { real::open(path, flags, mode) })
        }
    )+};
}
openers!(open, open64);

macro_rules! relative_openers {
    ($($name:ident),+) => {$(
        /// Opens as the function of the C library.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(folder: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
            // SAFETY: the arguments are the caller's.
            on_open(&unsafe { resolve(folder, path) }, flags, || unsafe { real::openat(folder, path, flags, mode) })
        }
    )+};
}
relative_openers!(openat, openat64);

/// SAFETY: `path` ends with NUL.
unsafe fn resolve(folder: c_int, path: *const c_char) -> PathBuf {
    // SAFETY: see above.
    let path = unsafe { path_of(path) };
    match watch().open.get(&folder) {
        Some((folder, _)) => folder.join(path),
        None => path,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    watch().open.remove(&descriptor);
    // SAFETY: the argument is the caller's.
    unsafe { real::close(descriptor) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(descriptor: c_int, bytes: *mut c_void, count: usize) -> isize {
    // SAFETY: the arguments are the caller's.
    on_file(descriptor, false, || unsafe { real::read(descriptor, bytes, count) }, |_, _, _| {})
}

macro_rules! readers {
    ($($name:ident),+) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(descriptor: c_int, bytes: *mut c_void, count: usize, offset: libc::off_t) -> isize {
            // SAFETY: the arguments are the caller's.
            on_file(descriptor, false, || unsafe { real::pread(descriptor, bytes, count, offset) }, |_, _, _| {})
        }
    )+};
}
readers!(pread, pread64);

#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize {
    // SAFETY: the arguments are the caller's.
    let call = || unsafe { real::write(descriptor, bytes, count) };
    on_file(descriptor, false, call, |watch, number, written| {
        // SAFETY: a seek by nothing only tells the offset, which is behind the written bytes.
        let end = unsafe { libc::lseek(descriptor, 0, libc::SEEK_CUR) } as usize;
        // SAFETY: the caller's bytes are at least as many as were written.
        watch.events.push(Event::Write(number, end.saturating_sub(written), unsafe { copied(bytes, written) }));
    })
}

macro_rules! writers {
    ($($name:ident),+) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(descriptor: c_int, bytes: *const c_void, count: usize, offset: libc::off_t) -> isize {
            // SAFETY: the arguments are the caller's.
            let call = || unsafe { real::pwrite(descriptor, bytes, count, offset) };
            on_file(descriptor, false, call, |watch, number, written| {
                // SAFETY: the caller's bytes are at least as many as were written.
                watch.events.push(Event::Write(number, offset as usize, unsafe { copied(bytes, written) }));
            })
        }
    )+};
}
writers!(pwrite, pwrite64);

macro_rules! truncaters {
    ($($name:ident),+) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(descriptor: c_int, length: libc::off_t) -> c_int {
            // SAFETY: the arguments are the caller's.
            let call = || unsafe { real::ftruncate(descriptor, length) } as isize;
            let done = |watch: &mut Watch, number, _| watch.events.push(Event::Truncate(number, length as usize));
            on_file(descriptor, false, call, done) as c_int
        }
    )+};
}
truncaters!(ftruncate, ftruncate64);

macro_rules! syncers {
    ($($name:ident),+) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(descriptor: c_int) -> c_int {
            // SAFETY: the argument is the caller's.
            let call = || unsafe { real::$name(descriptor) } as isize;
            on_file(descriptor, true, call, |watch, number, _| watch.events.push(Event::Sync(number))) as c_int
        }
    )+};
}
syncers!(fsync, fdatasync);

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the arguments are the caller's.
    let (source, target) = unsafe { (path_of(from), path_of(to)) };
    // SAFETY: as above.
    on_name(&target, || unsafe { real::rename(from, to) }, |watch| watch.renamed(&source, &target))
}

fn removed(watch: &mut Watch, path: &Path) {
    watch.names.remove(path);
    watch.events.push(Event::Remove(path.to_owned()));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the argument is the caller's.
    let name = unsafe { path_of(path) };
    // SAFETY: as above.
    on_name(&name, || unsafe { real::unlink(path) }, |watch| removed(watch, &name))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the arguments are the caller's.
    let name = unsafe { resolve(folder, path) };
    // SAFETY: as above.
    on_name(&name, || unsafe { real::unlinkat(folder, path, flags) }, |watch| removed(watch, &name))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: libc::mode_t) -> c_int {
    // SAFETY: the arguments are the caller's.
    let name = unsafe { path_of(path) };
    // SAFETY: as above.
    on_name(&name, || unsafe { real::mkdir(path, mode) }, |_| {})
}

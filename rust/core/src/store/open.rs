//! Opening `store.db`: folders and permissions, file systems that cannot hold it, connections, and `SQLite`'s errors.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::schema::{self, Found};
use super::{FILE, migration};
use crate::error::{Error, Result};
use crate::platform::{self, Identity};

/// How long a write waits for another process's transaction; bulk imports commit far more often than this.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
const BUSY_POLL: Duration = Duration::from_millis(5);

/// The access that the file system allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads and writes.
    ReadWrite,
    /// Reads, beside writers that may exist.
    ReadOnly,
    /// Reads in a read-only folder: `SQLite` cannot even create its shared memory there.
    Immutable,
}

/// The file, its access, its identity, and the connection of the writer.
type Opened = (PathBuf, Access, Identity, Option<Connection>);

pub fn open(dir: &Path, read_only: bool, now_ms: i64) -> Result<Opened> {
    let file = dir.join(FILE);
    if read_only {
        let access = read_access(&file)?;
        let identity = examine(&file)?;
        let connection = reader(&file, access)?;
        match schema::inspect(&connection, &file)? {
            Found::Nothing => return Err(missing(&file)),
            Found::Older(found) => return Err(Error::OlderFormat { path: file, found }),
            Found::Current => {}
        }
        return Ok((file, access, identity, None));
    }
    create_folder(dir)?;
    refuse_network_file_system(dir)?;
    create_file(&file)?;
    crate::crash::point("store:empty");
    // Before it is opened: if it is replaced in between, writes are refused.
    let identity = examine(&file)?;
    let connection = writer(&file, now_ms)?;
    Ok((file, Access::ReadWrite, identity, Some(connection)))
}

fn examine(file: &Path) -> Result<Identity> {
    platform::identity(file).map_err(|source| Error::storage("examine", file, source))
}

/// Open a connection for reading.
pub fn reader(file: &Path, access: Access) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let flags = flags
        | if access == Access::ReadWrite {
            OpenFlags::SQLITE_OPEN_READ_WRITE
        } else {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        };
    let fail = |error| describe("open", file, error);
    let connection = Connection::open_with_flags(uri(file, access), flags).map_err(fail)?;
    configure(&connection).map_err(fail)?;
    connection.pragma_update(None, "query_only", true).map_err(fail)?;
    Ok(connection)
}

/// The name by which `SQLite` opens `file` and no more than that is allowed.
pub fn uri(file: &Path, access: Access) -> String {
    let query = match access {
        Access::Immutable => "immutable=1",
        Access::ReadOnly => "mode=ro",
        Access::ReadWrite => "mode=rw",
    };
    format!("file:{}?{query}", percent_encode(file))
}

fn writer(file: &Path, now_ms: i64) -> Result<Connection> {
    let fail = |error| describe("open", file, error);
    let flags = OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(uri(file, Access::ReadWrite), flags).map_err(fail)?;
    // `SQLite` opens a file that it may not write to for reading.
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(fail)? {
        return Err(Error::storage("open", file, io::ErrorKind::PermissionDenied.into()));
    }
    configure(&connection).map_err(fail)?;
    // Before WAL mode is set, which would write to a file that is not ours.
    let found = schema::inspect(&connection, file).map_err(|error| error.located(file))?;
    if let Found::Older(from) = found {
        migration::migrate(&mut connection, file, from, now_ms)?;
    }
    if found == Found::Nothing {
        use_wal(&connection).map_err(fail)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
        // Another process may have created it while we waited for the lock.
        if schema::inspect(&transaction, file)? == Found::Nothing {
            schema::create(&transaction, now_ms).map_err(|error| error.located(file))?;
            crate::crash::point("store:creating");
        }
        transaction.commit().map_err(fail)?;
    }
    use_wal(&connection).map_err(fail)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(fail)?;
    Ok(connection)
}

/// Switch to WAL. `SQLite` waits for a lock, but not for a process that makes this switch at the same moment, so we do.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && begun.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(BUSY_POLL);
            }
            done => return done,
        }
    }
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Otherwise a statement such as `key > ?1` is prepared again for each value, in case another index suits it better.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A prepared statement never holds more than this; the page cache of the system does the rest.
    connection.pragma_update(None, "cache_size", -4096)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Let SQLite report a damaged page instead of returning its content.
    connection.pragma_update(None, "cell_size_check", true)
}

fn read_access(file: &Path) -> Result<Access> {
    if !file.exists() {
        return Err(missing(file));
    }
    let opened = reader(file, Access::ReadOnly).and_then(|connection| {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
        Ok(())
    });
    match opened {
        Ok(()) => return Ok(Access::ReadOnly),
        Err(error @ Error::CorruptStore { .. }) => return Err(error.located(file)),
        Err(_) => {}
    }
    // In a folder that we cannot write to, SQLite cannot create the shared memory of a WAL. With no WAL beside it, the
    // file is complete and no process is changing it.
    let wal = wal_of(file);
    let wal_is_empty = fs_err::metadata(&wal).map_or(true, |metadata| metadata.len() == 0);
    if wal_is_empty {
        return Ok(Access::Immutable);
    }
    Err(Error::storage(
        "open",
        file,
        io::Error::new(
            io::ErrorKind::PermissionDenied,
            "its folder is read-only and the last writer left a WAL behind; open it once as its owner",
        ),
    ))
}

/// The WAL beside `file`.
pub fn wal_of(file: &Path) -> PathBuf {
    with_ending(file, "-wal")
}

/// The shared memory beside `file`.
pub fn shared_memory_of(file: &Path) -> PathBuf {
    with_ending(file, "-shm")
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn missing(file: &Path) -> Error {
    Error::storage("open", file, io::Error::new(io::ErrorKind::NotFound, "there is no store yet"))
}

/// Create `dir` for its owner alone.
pub fn create_folder(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    platform::create_private_folder(dir).map_err(|source| Error::storage("create", dir, source))
}

/// Create `file` for its owner alone, if it does not exist; `SQLite` gives the WAL and the shared memory the same
/// permissions.
///
/// An existing file is not opened: closing it would drop the locks that `SQLite` has on it in this process.
pub fn create_file(file: &Path) -> Result<()> {
    match platform::create_private_file(file) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => Err(Error::storage("open", file, source)),
        _ => Ok(()),
    }
}

/// Remove a file, or a folder with its content; no error if it does not exist.
pub fn remove_if_there(path: &Path) -> Result<()> {
    let removed = match fs_err::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs_err::remove_dir_all(path),
        Ok(_) => fs_err::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        // If a file has taken the place of the folder, the folder has no content.
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::storage("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Narrow the permissions of every file in `dir` to its owner.
pub fn make_private(dir: &Path) -> Result<()> {
    let fail = |source| Error::storage("set permissions in", dir, source);
    for found in fs_err::read_dir(dir).map_err(fail)? {
        let found = found.map_err(fail)?;
        let metadata = match found.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue, // removed since it was listed
            Err(error) => return Err(fail(error)),
        };
        match platform::make_private(&found.path(), &metadata) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
    }
    Ok(())
}

/// WAL needs shared memory and working locks, which network file systems do not give: a store there gets damaged.
#[cfg(target_os = "linux")]
fn refuse_network_file_system(dir: &Path) -> Result<()> {
    use std::os::unix::ffi::OsStrExt;

    const NETWORK: [(i64, &str); 7] = [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFE53_4D42, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0x0102_1997, "9P"),
        (0x5346_414F, "AFS"),
        (0x00C3_6400, "Ceph"),
    ];
    let Ok(path) = std::ffi::CString::new(dir.as_os_str().as_bytes()) else {
        return Err(Error::invalid("data_dir", "has a NUL byte"));
    };
    let mut stats = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `path` is NUL-terminated and lives through the call; `stats` is written by it when it returns 0.
    let result = unsafe { libc::statfs(path.as_ptr(), stats.as_mut_ptr()) };
    if result != 0 {
        return Err(Error::storage("examine", dir, io::Error::last_os_error()));
    }
    // SAFETY: statfs returned 0, so it filled the struct.
    let kind = unsafe { stats.assume_init() }.f_type & 0xFFFF_FFFF;
    match NETWORK.iter().find(|(magic, _)| *magic == kind) {
        Some((_, name)) => Err(Error::storage(
            "open a store in",
            dir,
            io::Error::new(
                io::ErrorKind::Unsupported,
                format!(
                    "it is on a network file system ({name}), where SQLite's locks do not work; choose a local folder"
                ),
            ),
        )),
        None => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse_network_file_system(_dir: &Path) -> Result<()> {
    Ok(())
}

fn percent_encode(path: &Path) -> String {
    use std::fmt::Write;

    let mut out = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}"); // writing to a String cannot fail
        }
    }
    out
}

/// Turn `SQLite`'s error into ours.
#[allow(clippy::needless_pass_by_value)] // it is handed to `map_err` by name
pub fn describe(attempted: &str, file: &Path, error: rusqlite::Error) -> Error {
    let attempted = attempted.to_owned();
    let path = file.to_owned();
    let rusqlite::Error::SqliteFailure(failure, ref message) = error else {
        return Error::CorruptStore { path, message: format!("holds something unexpected: {error}") };
    };
    let said = message.clone().unwrap_or_else(|| failure.to_string());
    match failure.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Error::Busy { attempted, path },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Error::CorruptStore {
            path,
            message: format!("is damaged ({said}); `opencode-memory backup list` shows what it can be restored from"),
        },
        _ if is_out_of_space(failure) => Error::Storage {
            attempted,
            path,
            source: io::Error::new(
                io::ErrorKind::StorageFull,
                "there is no space left; the failed step changed nothing",
            ),
        },
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
            Error::Storage { attempted, path, source: io::Error::new(io::ErrorKind::PermissionDenied, said) }
        }
        _ => Error::Storage { attempted, path, source: io::Error::other(said) },
    }
}

/// Whether a statement failed for want of space. Shared memory that cannot grow is reported as an I/O error.
fn is_out_of_space(failure: rusqlite::ffi::Error) -> bool {
    failure.code == ErrorCode::DiskFull || failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}

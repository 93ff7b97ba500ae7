//! Connections to a database of ours: their access and settings, and `SQLite`'s errors in our words.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::busy;
use crate::control;
use crate::error::{Error, Result};

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

/// Switch to WAL. `SQLite` waits for a lock, but not for a process that makes this switch at the same moment, so we do.
pub(super) fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < busy::TIMEOUT
                    && !control::is_interrupted() =>
            {
                std::thread::sleep(BUSY_POLL);
            }
            done => return done,
        }
    }
}

pub(super) fn configure(connection: &Connection) -> rusqlite::Result<()> {
    busy::configure(connection)?;
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
        ErrorCode::OperationInterrupted => Error::Interrupted,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Error::Busy { attempted, path },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Error::CorruptStore {
            path,
            message: format!("is damaged ({said}); `opencode-memory backup list` shows what it can be restored from"),
        },
        // No statement of ours breaks a constraint of sound rows, or names what a sound schema has not.
        _ if failure.code == ErrorCode::ConstraintViolation || lacks_names(failure, &said) => {
            Error::CorruptStore { path, message: format!("holds something unexpected: {said}") }
        }
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

/// Whether a statement failed because the schema lacks a table, an index or a column.
fn lacks_names(failure: rusqlite::ffi::Error, said: &str) -> bool {
    failure.extended_code == rusqlite::ffi::SQLITE_ERROR
        && (said.starts_with("no such ") || said.contains(" has no column named "))
}

/// Whether a statement failed for want of space. Shared memory that cannot grow is reported as an I/O error.
fn is_out_of_space(failure: rusqlite::ffi::Error) -> bool {
    failure.code == ErrorCode::DiskFull || failure.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}

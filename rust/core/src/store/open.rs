//! Opening `store.db`: for reading with the access that is there, or for writing, which creates or migrates it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::connection::{Access, configure, describe, reader, uri, use_wal};
use super::files::{create_file, create_folder, refuse_network_file_system, wal_of};
use super::schema::{self, FORMAT, Found};
use super::{FILE, migration};
use crate::error::{Error, Result};
use crate::platform::{self, Identity};

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
            Found::Older(found) => return Err(Error::OlderFormat { path: file, found, supported: FORMAT }),
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

/// The access to a database in a folder that may be read-only.
pub fn read_access(file: &Path) -> Result<Access> {
    if !file.exists() {
        return Err(missing(file));
    }
    let opened = reader(file, Access::ReadOnly).and_then(|connection| {
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
        Ok(())
    });
    match opened {
        Ok(()) => return Ok(Access::ReadOnly),
        // A busy store is neither damaged, nor may it be read without locks.
        Err(error @ (Error::CorruptStore { .. } | Error::Busy { .. } | Error::Interrupted)) => {
            return Err(error.located(file));
        }
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

fn missing(file: &Path) -> Error {
    Error::storage("open", file, io::Error::new(io::ErrorKind::NotFound, "there is no store yet"))
}

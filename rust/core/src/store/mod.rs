//! The store: one `SQLite` file, the only source of truth. No code outside of this folder uses SQL.
//!
//! A write is one `BEGIN IMMEDIATE` transaction that holds rows, change log and history; its commit is the
//! acknowledgement (I1). A read is a [`Snapshot`]. This folder does not know the indexes.

pub mod backup;
pub mod budget;
mod busy;
pub mod change;
pub mod check;
mod columns;
mod connection;
mod copy;
pub mod counts;
pub mod document;
pub mod embedding;
mod files;
pub mod history;
mod interrupt;
pub mod job;
pub mod kv;
pub mod learning;
pub mod ledger;
pub mod leftovers;
pub mod link;
pub mod lock;
pub mod memory;
mod migration;
pub mod model_change;
mod open;
pub mod operation;
mod place;
pub mod project;
pub mod project_merge;
pub mod purge;
mod quoted;
pub mod recovery;
pub mod replaced;
pub mod retention;
pub mod scale;
pub mod schema;
pub mod session;
pub mod traces;
pub mod turns;
pub mod usage;

pub use connection::Access;
pub use files::{create_file, create_folder, make_private, remove_if_there, wal_of};
pub use migration::BACKUPS;
pub use rusqlite::Connection;

use std::cell::Cell;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::TransactionBehavior;

use crate::clock::Clock;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::ids;
use crate::model::Trust;
use place::Place;

/// Connections kept for readers; more than this many at once open and close their own.
const POOLED_READERS: usize = 4;
/// Time between two questions whether to go on waiting for the writer of another thread.
const WRITER_POLL: Duration = Duration::from_millis(100);

/// Name of the file in the data directory.
pub const FILE: &str = "store.db";

/// The open store of one data directory.
#[derive(Debug)]
pub struct Store {
    file: PathBuf,
    access: connection::Access,
    place: Place,
    writer: Mutex<Option<Connection>>,
    readers: Mutex<Vec<Connection>>,
}

impl Store {
    /// Open the store in `dir`, creating it unless `read_only`.
    pub fn open(dir: &Path, read_only: bool, now_ms: i64) -> Result<Self> {
        let (file, access, identity, writer) = open::open(dir, read_only, now_ms)?;
        let place = Place::new(&file, identity, access == connection::Access::ReadWrite);
        Ok(Self { file, access, place, writer: Mutex::new(writer), readers: Mutex::new(Vec::new()) })
    }

    /// The `SQLite` file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether writes are possible.
    pub fn is_writable(&self) -> bool {
        self.access == connection::Access::ReadWrite
    }

    /// Take a snapshot: every query through it sees the same state.
    pub fn read(&self) -> Result<Snapshot<'_>> {
        let pooled = self.readers.lock().pop();
        let connection = if let Some(connection) = pooled {
            connection
        } else {
            // Another file of this name would be read beside the connections to the former one.
            self.check_place("read")?;
            connection::reader(&self.file, self.access)?
        };
        let snapshot = Snapshot { store: self, connection: Some(connection) };
        snapshot.execute_batch("BEGIN").map_err(|error| self.error("read", error))?;
        Ok(snapshot)
    }

    /// Refuse writes to a store that was opened read-only.
    pub fn check_writable(&self) -> Result<()> {
        if self.is_writable() { Ok(()) } else { Err(self.read_only_error()) }
    }

    /// Refuse to go on if the store's file or its WAL is not the one that was opened.
    ///
    /// # Errors
    /// [`Error::Storage`] if it was removed, renamed or replaced: writes would go to a file without a name.
    pub fn check_place(&self, attempted: &str) -> Result<()> {
        self.place.check(attempted, &self.file)
    }

    /// Run `body` in one transaction; when this returns `Ok`, it is durable.
    pub fn write<'w, T>(
        &self,
        clock: &Clock,
        writer: impl Into<Writer<'w>>,
        body: impl FnOnce(&WriteTx<'_>) -> Result<T>,
    ) -> Result<T> {
        let Writer { actor, operation: shared_operation } = writer.into();
        let mut guard = self.lock_writer()?;
        let connection = guard.as_mut().ok_or_else(|| self.no_writer_error())?;
        self.check_place("write to")?;
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| self.error("write to", error))?;
        schema::check_format(&transaction, &self.file).map_err(|error| error.located(&self.file))?;
        let write = WriteTx {
            connection: &transaction,
            now_ms: clock.now_ms(),
            nonce: ids::new_nonce(),
            actor,
            operation: Cell::new(
                shared_operation.map(|number| number.load(Ordering::Acquire)).filter(|number| *number > 0),
            ),
        };
        // An error drops the transaction, which rolls it back.
        let value = body(&write).map_err(|error| error.located(&self.file))?;
        let operation = write.operation.get();
        crate::crash::point("store:before-commit");
        transaction.commit().map_err(|error| self.error("write to", error))?;
        if let (Some(shared), Some(number)) = (shared_operation, operation) {
            shared.store(number, Ordering::Release);
        }
        crate::crash::point("store:after-commit");
        // Otherwise a write to a file that has just lost its name would be acknowledged.
        self.check_place("write to")?;
        Ok(value)
    }

    /// Lend the writer's connection outside of a transaction, for statements that `SQLite` refuses inside one.
    pub fn exclusively<T>(&self, body: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        let mut guard = self.lock_writer()?;
        let connection = guard.as_mut().ok_or_else(|| self.no_writer_error())?;
        self.check_place("write to")?;
        schema::check_format(connection, &self.file).map_err(|error| error.located(&self.file))?;
        let value = body(connection).map_err(|error| error.located(&self.file))?;
        self.check_place("write to")?;
        Ok(value)
    }

    /// Wait for the writer of another thread, which may wait for one of another process.
    fn lock_writer(&self) -> Result<MutexGuard<'_, Option<Connection>>> {
        loop {
            if let Some(guard) = self.writer.try_lock_for(WRITER_POLL) {
                return Ok(guard);
            }
            Control::of_thread().check()?;
        }
    }

    /// Close every connection, so that the last process out folds the WAL into the file.
    pub fn close(&self) {
        if self.is_writable() && !self.place.may_be_closed(&self.file) {
            // SQLite would remove the WAL by its name, which may belong to the file that took this place.
            self.readers.lock().drain(..).for_each(std::mem::forget);
            std::mem::forget(self.writer.lock().take());
            return;
        }
        self.readers.lock().clear();
        *self.writer.lock() = None;
    }

    /// Turn `SQLite`'s error into ours, naming this file.
    pub fn error(&self, attempted: &str, error: rusqlite::Error) -> Error {
        connection::describe(attempted, &self.file, error)
    }

    /// The error of a write without a connection: another thread has closed the store, or it is read-only.
    fn no_writer_error(&self) -> Error {
        match self.check_writable() {
            Ok(()) => Error::Closed("the store is closed; open it again".into()),
            Err(read_only) => read_only,
        }
    }

    fn read_only_error(&self) -> Error {
        Error::storage(
            "write to",
            &self.file,
            std::io::Error::new(std::io::ErrorKind::PermissionDenied, "the store was opened read-only"),
        )
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        connection::describe("use", Path::new(""), error)
    }
}

/// A consistent view of the store; dereferences to the connection.
#[derive(Debug)]
pub struct Snapshot<'a> {
    store: &'a Store,
    connection: Option<Connection>,
}

impl Deref for Snapshot<'_> {
    type Target = Connection;

    #[allow(clippy::expect_used)] // the connection leaves only in `drop`
    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a snapshot holds its connection until it is dropped")
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if connection.execute_batch("COMMIT").is_err() {
            return; // a connection in an unknown state is not pooled
        }
        let mut readers = self.store.readers.lock();
        if readers.len() < POOLED_READERS {
            readers.push(connection);
        }
    }
}

/// The writer of a transaction, and the operation that its changes belong to.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The writer.
    pub actor: Trust,
    /// The number of the operation that several transactions share, or 0 before their first change. With `None`, the
    /// transaction is an operation of its own.
    pub operation: Option<&'a AtomicI64>,
}

impl From<Trust> for Writer<'_> {
    fn from(actor: Trust) -> Self {
        Self { actor, operation: None }
    }
}

/// A write in progress; dereferences to the connection.
#[derive(Debug)]
pub struct WriteTx<'a> {
    connection: &'a Connection,
    /// The one time of this transaction.
    pub now_ms: i64,
    /// The random mark of this transaction.
    pub nonce: i64,
    /// The writer.
    pub actor: Trust,
    operation: Cell<Option<i64>>,
}

impl Deref for WriteTx<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

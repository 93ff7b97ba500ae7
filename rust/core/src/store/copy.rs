//! Writes a copy of a database, for a backup and before a migration.

use std::path::Path;

use rusqlite::Connection;

use super::interrupt::interruptible;
use super::{connection, files};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::platform;

/// A complete, compact copy of a database.
pub struct DatabaseCopy<'a> {
    /// Its name until it is complete.
    pub partial: &'a Path,
    /// Its name from then on.
    pub target: &'a Path,
    /// What the caller does, for errors.
    pub attempted: &'a str,
}

impl DatabaseCopy<'_> {
    /// Write the copy under its first name.
    pub fn write_partial(&self, connection: &Connection, control: &Control<'_>) -> Result<()> {
        let name = self.partial.to_str().ok_or_else(|| Error::invalid("path", "is not UTF-8, which SQLite needs"))?;
        files::remove_if_there(self.partial)?;
        files::create_file(self.partial)?;
        let copied = interruptible(connection, control, || {
            connection
                .execute("VACUUM INTO ?1", [name])
                .map(drop)
                .map_err(|error| connection::describe(self.attempted, self.target, error))
        });
        if copied.is_err() {
            files::remove_if_there(self.partial)?;
        }
        copied
    }

    /// Give the complete copy its last name.
    pub fn publish(&self) -> Result<()> {
        let fail = |source| Error::storage(self.attempted, self.target, source);
        crate::durable::sync_file(self.partial).map_err(fail)?;
        platform::rename(self.partial, self.target).map_err(fail)?;
        crate::durable::sync_folder_of(self.target)
    }
}

//! Writes a copy of a database, for a backup and before a migration.

use std::path::Path;

use rusqlite::Connection;

use super::{connection, files};
use crate::error::{Error, Result};
use crate::platform;

/// Write a complete, compact copy of a database to `target`. Until it is complete, it has the name `partial`.
pub fn write(connection: &Connection, partial: &Path, target: &Path, attempted: &str) -> Result<()> {
    write_partial(connection, partial, target, attempted)?;
    crate::crash::point("backup:copied");
    publish(partial, target, attempted)
}

/// Write the copy under its first name.
pub fn write_partial(connection: &Connection, partial: &Path, target: &Path, attempted: &str) -> Result<()> {
    let name = partial.to_str().ok_or_else(|| Error::invalid("path", "is not UTF-8, which SQLite needs"))?;
    files::remove_if_there(partial)?;
    files::create_file(partial)?;
    if let Err(error) = connection.execute("VACUUM INTO ?1", [name]) {
        files::remove_if_there(partial)?;
        return Err(connection::describe(attempted, target, error));
    }
    Ok(())
}

/// Give a complete copy its last name.
pub fn publish(partial: &Path, target: &Path, attempted: &str) -> Result<()> {
    let fail = |source| Error::storage(attempted, target, source);
    crate::durable::sync_file(partial).map_err(fail)?;
    platform::rename(partial, target).map_err(fail)?;
    crate::durable::sync_folder_of(target)
}

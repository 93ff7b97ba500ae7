//! Columns of the table `memory`, and the statements that read, insert and update whole rows of it.
//!
//! All statements are made from one list, so that a column cannot be missing in one of them.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, params};

use crate::error::Result;
use crate::model::{Category, Memory, Status, Trust};
use crate::text::{self, Traits};

/// Define the statements from the fields of a [`Memory`] that have a column of the same name. Each field is followed by
/// the module that converts its value.
macro_rules! columns {
    (inserted: { $($once:ident: $once_form:ident,)+ } updated: { $($field:ident: $form:ident,)+ }) => {
        /// Reads memories with [`from_row`]; callers append a condition on `m`.
        pub const SELECT: &str = concat!(
            "SELECT m.key, m.project, p.name, u.uses, u.used_at",
            $(", m.", stringify!($once),)+ $(", m.", stringify!($field),)+
            " FROM memory m LEFT JOIN project p ON p.id = m.project LEFT JOIN use_count u ON u.memory = m.id"
        );

        const INSERT: &str = concat!(
            "INSERT INTO memory(project, content_hash, words, traits",
            $(", ", stringify!($once),)+ $(", ", stringify!($field),)+
            ") VALUES (:project, :content_hash, :words, :traits",
            $(", :", stringify!($once),)+ $(", :", stringify!($field),)+
            ")"
        );

        const UPDATE: &str = concat!(
            "UPDATE memory SET project = :project",
            $(", ", stringify!($field), " = :", stringify!($field),)+
            " WHERE key = :key"
        );

        /// Read a memory from a row of [`SELECT`].
        pub fn from_row(row: &Row<'_>) -> rusqlite::Result<Memory> {
            let mut column = 4;
            let mut next = || {
                column += 1;
                column
            };
            Ok(Memory {
                key: row.get(0)?,
                project_id: row.get(1)?,
                project: row.get(2)?,
                uses: row.get::<_, Option<i64>>(3)?.unwrap_or(0),
                used_at: row.get(4)?,
                $($once: $once_form::read(row, next())?,)+
                $($field: $form::read(row, next())?,)+
            })
        }

        /// Insert a row for a memory; `memory.key` is ignored.
        pub fn insert(connection: &Connection, memory: &Memory) -> Result<()> {
            let traits = Traits::of(&memory.content);
            connection.prepare_cached(INSERT)?.execute(params![
                memory.project_id,
                text::content_hash(&memory.content).to_be_bytes(),
                traits.words,
                traits.bits(),
                $($once_form::write(&memory.$once)?,)+
                $($form::write(&memory.$field)?,)+
            ])?;
            Ok(())
        }

        /// Update the row of `key` with a memory that has the same searched text.
        pub fn update(connection: &Connection, key: i64, memory: &Memory) -> Result<()> {
            connection.prepare_cached(UPDATE)?.execute(params![
                memory.project_id,
                $($form::write(&memory.$field)?,)+
                key,
            ])?;
            Ok(())
        }
    };
}

columns! {
    // The identity of a memory, and its searched texts: a changed text gets a new row.
    inserted: {
        id: plain,
        stored_at: plain,
        content: damaged_too,
        speaker: plain,
        topic: plain,
        tags: json,
        entities: json,
    }
    updated: {
        category: plain,
        status: plain,
        trust: plain,
        pinned: plain,
        time: plain,
        created_at: plain,
        updated_at: plain,
        expires_at: plain,
        verified_at: plain,
        session: plain,
        position: plain,
        superseded_by: plain,
        confidence: plain,
        source: json,
        metadata: plain,
        remind_at: plain,
        remind_every: plain,
        review_after: plain,
        review_every: plain,
    }
}

/// Values that `SQLite` stores as they are, and enums, which are stored as their numbers.
mod plain {
    use rusqlite::Row;
    use rusqlite::types::{FromSql, ToSql, ToSqlOutput};

    pub fn read<T: FromSql>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
        row.get(column)
    }

    pub fn write<T: ToSql>(value: &T) -> rusqlite::Result<ToSqlOutput<'_>> {
        value.to_sql()
    }
}

/// Texts that are read although a bit of them was flipped in the file, so that one memory does not hide all others.
/// `verify` finds it by its hash.
mod damaged_too {
    pub use super::plain::write;
    use super::read_damaged_too;
    use rusqlite::Row;

    pub fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
        read_damaged_too(row, column)
    }
}

/// Read a text; bytes that are not UTF-8 become U+FFFD.
pub fn read_damaged_too(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    match row.get_ref(column)? {
        ValueRef::Text(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        _ => row.get(column), // an error that names the type
    }
}

/// Lists and structs, stored as JSON.
mod json {
    use rusqlite::types::{ToSqlOutput, Type};
    use rusqlite::{Error, Row};
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    pub fn read<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
        let text = row.get_ref(column)?.as_str()?;
        serde_json::from_str(text).map_err(|error| Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
    }

    pub fn write<T: Serialize>(value: &T) -> rusqlite::Result<ToSqlOutput<'static>> {
        let text = serde_json::to_string(value).map_err(|error| Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(text.into())
    }
}

macro_rules! stored_as_number {
    ($($kind:ty),+) => {
        $(impl FromSql for $kind {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let number = value.as_i64()?;
                Self::from_number(number).ok_or(FromSqlError::OutOfRange(number))
            }
        }

        impl ToSql for $kind {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok((*self as u8).into())
            }
        })+
    };
}
stored_as_number!(Category, Status, Trust);

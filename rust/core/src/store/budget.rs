//! Tokens that embedding servers got today, counted for all processes of the store.
//!
//! `meta` holds the numbers of one day of UTC, so that neither a restart nor another process begins anew.

use rusqlite::{Connection, OptionalExtension};

use super::WriteTx;
use crate::clock::DAY_MS;
use crate::error::Result;

const DAY: &str = "embedding_day";
const TOKENS: &str = "embedding_tokens";
const REFUSED: &str = "embedding_refused";

/// The tokens of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Days since 1970, in UTC.
    pub day: i64,
    /// Tokens of all requests of the day.
    pub tokens: i64,
    /// Tokens of the smallest request that waits for the next day, if it was noted.
    pub refused: Option<i64>,
}

impl Spent {
    /// Whether a request with so many tokens keeps the limit.
    pub fn has_room(&self, tokens: i64, limit: i64) -> bool {
        self.tokens.saturating_add(tokens) <= limit
    }

    /// Whether a refusal of so many tokens is noted already.
    pub fn is_noted(&self, tokens: i64) -> bool {
        self.refused.is_some_and(|refused| refused <= tokens)
    }
}

/// The tokens of today.
pub fn spent(connection: &Connection, now_ms: i64) -> Result<Spent> {
    let today = now_ms.div_euclid(DAY_MS);
    let day = number(connection, DAY)?.unwrap_or(today);
    // A clock that is set back across midnight must not begin a new count.
    if day != today && day != today + 1 {
        return Ok(Spent { day: today, tokens: 0, refused: None });
    }
    Ok(Spent { day, tokens: number(connection, TOKENS)?.unwrap_or(0), refused: number(connection, REFUSED)? })
}

fn number(connection: &Connection, name: &str) -> Result<Option<i64>> {
    let sql = "SELECT value FROM meta WHERE name = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?)
}

impl WriteTx<'_> {
    /// Count the tokens of a request and return the day that they belong to. If they would exceed the limit of that day,
    /// count nothing and return `None`; the caller must not send the request then.
    pub fn charge_tokens(&self, tokens: i64, limit: i64) -> Result<Option<i64>> {
        let mut spent = spent(self, self.now_ms)?;
        if !spent.has_room(tokens, limit) {
            return Ok(None);
        }
        spent.tokens += tokens;
        self.set_spent(&spent)?;
        Ok(Some(spent.day))
    }

    /// Add to the tokens of a day, or take some off, if the day is still counted.
    pub fn correct_tokens(&self, day: i64, by: i64) -> Result<()> {
        let mut spent = spent(self, self.now_ms)?;
        if spent.day == day {
            spent.tokens = spent.tokens.saturating_add(by).max(0);
            self.set_spent(&spent)?;
        }
        Ok(())
    }

    /// Note that a request with so many tokens was refused, and that no smaller one was tried instead.
    pub fn note_refusal(&self, tokens: i64) -> Result<()> {
        let spent = spent(self, self.now_ms)?;
        if spent.is_noted(tokens) { Ok(()) } else { self.set_spent(&Spent { refused: Some(tokens), ..spent }) }
    }

    fn set_spent(&self, spent: &Spent) -> Result<()> {
        self.set_meta(DAY, spent.day)?;
        self.set_meta(TOKENS, spent.tokens)?;
        match spent.refused {
            Some(refused) => self.set_meta(REFUSED, refused),
            None => Ok(self.execute("DELETE FROM meta WHERE name = ?1", [REFUSED]).map(drop)?),
        }
    }
}

/// The numbers of the open store, which a restored backup must not replace. Otherwise it would begin a new count.
pub(super) fn numbers(connection: &Connection) -> Result<Vec<(&'static str, Option<i64>)>> {
    [DAY, TOKENS, REFUSED].into_iter().map(|name| Ok((name, number(connection, name)?))).collect()
}

/// Put back the numbers that [`numbers`] returned.
pub(super) fn put_back(connection: &Connection, numbers: &[(&'static str, Option<i64>)]) -> Result<()> {
    for (name, value) in numbers {
        connection.execute("DELETE FROM meta WHERE name = ?1", [name])?;
        if let Some(value) = value {
            connection.execute("INSERT INTO meta(name, value) VALUES (?1, ?2)", (name, value))?;
        }
    }
    Ok(())
}

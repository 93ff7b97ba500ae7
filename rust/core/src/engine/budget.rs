//! The budget of tokens for embedding servers, which all processes of the store share.

use super::Engine;
use crate::error::{Error, Result};
use crate::store::budget::{self, Spent};

impl Engine {
    /// Count the tokens of a request to an embedding server before it is sent. Returns the day of the charge, or `None` if
    /// the request would exceed the limit of the day and must not be sent.
    pub fn charge_tokens(&self, tokens: i64, limit: i64) -> Result<Option<i64>> {
        check(tokens)?;
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.charge_tokens(tokens, limit))
    }

    /// Note that a request with so many tokens waits for the next day. A refusal that is noted already is no write, because
    /// each query asks again.
    pub fn note_refused_tokens(&self, tokens: i64) -> Result<()> {
        check(tokens)?;
        if self.spent_tokens()?.is_noted(tokens) {
            return Ok(());
        }
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.note_refusal(tokens))
    }

    /// Replace an estimate by what the server reports: add to the tokens of a day, or take some off.
    pub fn correct_tokens(&self, day: i64, by: i64) -> Result<()> {
        let shared = self.enter()?;
        shared.store.write(&shared.clock, self.writer(), |write| write.correct_tokens(day, by))
    }

    /// The tokens of today.
    pub fn spent_tokens(&self) -> Result<Spent> {
        let shared = self.enter()?;
        let at = shared.store.read()?;
        budget::spent(&at, shared.clock.now_ms())
    }
}

fn check(tokens: i64) -> Result<()> {
    if tokens < 0 {
        return Err(Error::over_limit("tokens", format!("{tokens} is less than 0"), 0));
    }
    Ok(())
}

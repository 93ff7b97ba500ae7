//! Operations of the ledger, which records the memories that were added to each message of a session. If two
//! processes decide on a message at the same time, `SQLite` keeps the first decision, and both get it.

use super::{Engine, redaction};
use crate::error::{Error, Result};
use crate::model::enums::{Outcome, State};
use crate::model::ledger::{Decision, Summary, Usefulness, check};
use crate::model::{Scope, validate};
use crate::store::ledger;

impl Engine {
    /// Write the decision for a message, unless the message has one already; returns the stored decision. The engine
    /// sets its time, and its memories have no outcome yet.
    ///
    /// # Errors
    /// [`Error::Conflict`] if a memory in it was removed in the meantime; recall again.
    pub fn decide(&self, mut decision: Decision) -> Result<Decision> {
        check(&decision)?;
        redaction::refuse("session", &decision.session)?;
        redaction::refuse("message", &decision.message)?;
        decision.project.as_deref().map_or(Ok(()), |name| redaction::refuse("project", name))?;
        let shared = self.enter()?;
        // Callers usually repeat a decision, so read first and avoid the write.
        if let Some(found) = ledger::of(&*shared.store.read()?, &decision.session, &decision.message)? {
            return Ok(found);
        }
        let mut kinds = redaction::Kinds::default();
        kinds.clean(&mut decision.text);
        kinds.clean_json("about", &mut decision.about)?;
        decision.shown.iter_mut().for_each(|shown| kinds.clean(&mut shown.why));
        shared.store.write(&shared.clock, self.writer(), |write| write.decide(&decision))
    }

    /// Set the state of an offered decision to shown or late; false if there is no such decision or it is not offered.
    pub fn settle(&self, session: &str, message: &str, state: State) -> Result<bool> {
        if !matches!(state, State::Shown | State::Late) {
            let message =
                format!("{:?} is not allowed; an offered decision becomes \"shown\" or \"late\"", state.as_str());
            return Err(Error::over_limit("state", message, "shown, late"));
        }
        let shared = self.enter()?;
        let found = ledger::of(&*shared.store.read()?, session, message)?;
        if found.is_none_or(|decision| decision.state != State::Offered) {
            return Ok(false);
        }
        shared.store.write(&shared.clock, self.writer(), |write| write.settle(session, message, state))
    }

    /// All decisions of a session, ordered by time.
    pub fn decisions(&self, session: &str) -> Result<Vec<Decision>> {
        ledger::decisions(&*self.enter()?.store.read()?, session)
    }

    /// Sessions with decisions, newest first.
    pub fn decided_sessions(&self, scope: &Scope, limit: usize) -> Result<Vec<Summary>> {
        ledger::sessions(&*self.enter()?.store.read()?, scope, limit)
    }

    /// Sessions whose id starts or ends with `part`, newest first; only the session with this id, if there is one.
    pub fn find_sessions(&self, part: &str) -> Result<Vec<String>> {
        validate::name("session", part)?;
        ledger::sessions_like(&*self.enter()?.store.read()?, part.trim())
    }

    /// The session of a project that was shown memories beside a message created at one of these times, in Unix
    /// milliseconds, in a block or by a slash command. A fork of a session copies its messages with their times.
    pub fn find_original_session(&self, project: Option<&str>, created: &[i64]) -> Result<Option<String>> {
        ledger::shown_at(&*self.enter()?.store.read()?, project, created)
    }

    /// Record the outcome of memories that a session was shown; returns how many outcomes changed.
    pub fn note_outcome(&self, session: &str, memories: &[String], outcome: Outcome) -> Result<usize> {
        let shared = self.enter()?;
        if memories.is_empty() {
            return Ok(0);
        }
        shared.store.write(&shared.clock, self.writer(), |write| write.note_outcome(session, memories, outcome))
    }

    /// The usefulness of each memory.
    pub fn usefulness(&self, memories: &[String]) -> Result<Vec<Usefulness>> {
        ledger::usefulness(&*self.enter()?.store.read()?, memories)
    }

    /// Find the full id of anything that a purge can erase. Decisions may quote a memory that has no history any more.
    pub(super) fn resolve_quoted_id(&self, part: &str) -> Result<String> {
        match self.resolve_historic_id(part) {
            Err(Error::NotFound { .. }) => {
                let part = part.trim().to_lowercase();
                super::only(ledger::ids_like(&*self.enter()?.store.read()?, &part)?, &part)
            }
            other => other,
        }
    }
}

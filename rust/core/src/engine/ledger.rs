//! The ledger of what stands beside the messages of a session. Two processes that decide on one message at once meet in
//! `SQLite`: one decision is made, and both have it.

use super::{Engine, redaction};
use crate::error::{Error, Result};
use crate::model::enums::{Outcome, State};
use crate::model::ledger::{Decision, Summary, Usefulness, check};
use crate::model::{Scope, validate};
use crate::store::ledger;

impl Engine {
    /// Decide what stands beside a message, unless that was decided before; returns the decision that counts. Its time is
    /// the engine's, and its memories have come to nothing yet.
    ///
    /// # Errors
    /// [`Error::Conflict`] when a memory in it was removed meanwhile: recall again.
    pub fn decide(&self, mut decision: Decision) -> Result<Decision> {
        check(&decision)?;
        redaction::refuse("session", &decision.session)?;
        redaction::refuse("message", &decision.message)?;
        decision.project.as_deref().map_or(Ok(()), |name| redaction::refuse("project", name))?;
        let shared = self.enter()?;
        // Asking again is the rule, and no write.
        if let Some(found) = ledger::of(&*shared.store.read()?, &decision.session, &decision.message)? {
            return Ok(found);
        }
        let mut kinds = redaction::Kinds::default();
        kinds.clean(&mut decision.text);
        kinds.clean_json("about", &mut decision.about)?;
        decision.shown.iter_mut().for_each(|shown| kinds.clean(&mut shown.why));
        shared.store.write(&shared.clock, shared.options.actor, |write| write.decide(&decision))
    }

    /// Say whether a decision that was offered arrived; false when it is not known, or not offered any more.
    pub fn settle(&self, session: &str, message: &str, state: State) -> Result<bool> {
        if !matches!(state, State::Shown | State::Late) {
            let message =
                format!("{:?} is no end; a decision that was offered is \"shown\" or \"late\"", state.as_str());
            return Err(Error::over_limit("state", message, "shown, late"));
        }
        let shared = self.enter()?;
        let found = ledger::of(&*shared.store.read()?, session, message)?;
        if found.is_none_or(|decision| decision.state != State::Offered) {
            return Ok(false);
        }
        shared.store.write(&shared.clock, shared.options.actor, |write| write.settle(session, message, state))
    }

    /// Every decision of a session, in order of time.
    pub fn decisions(&self, session: &str) -> Result<Vec<Decision>> {
        ledger::decisions(&*self.enter()?.store.read()?, session)
    }

    /// Sessions that something was decided for, the newest first.
    pub fn decided_sessions(&self, scope: &Scope, limit: usize) -> Result<Vec<Summary>> {
        ledger::sessions(&*self.enter()?.store.read()?, scope, limit)
    }

    /// Sessions whose id starts or ends with `part`, the newest first; only the one that it names, if it names one.
    pub fn find_sessions(&self, part: &str) -> Result<Vec<String>> {
        validate::name("session", part)?;
        ledger::sessions_like(&*self.enter()?.store.read()?, part.trim())
    }

    /// Note what memories that were shown to a session came to; returns for how many that is news.
    pub fn note_outcome(&self, session: &str, memories: &[String], outcome: Outcome) -> Result<usize> {
        let shared = self.enter()?;
        if memories.is_empty() {
            return Ok(0);
        }
        shared.store.write(&shared.clock, shared.options.actor, |write| write.note_outcome(session, memories, outcome))
    }

    /// What memories have come to in the sessions that they were shown to, one by one.
    pub fn usefulness(&self, memories: &[String]) -> Result<Vec<Usefulness>> {
        ledger::usefulness(&*self.enter()?.store.read()?, memories)
    }

    /// The id of whatever a purge can erase: a memory whose past is forgotten may still be quoted.
    pub(super) fn resolve_quoted_id(&self, part: &str) -> Result<String> {
        match self.resolve_historic_id(part) {
            Err(Error::NotFound { .. }) => {
                let part = part.trim().to_lowercase();
                match ledger::ids_like(&*self.enter()?.store.read()?, &part)?.as_slice() {
                    [one] => Ok(one.clone()),
                    [] => Err(Error::not_found("memory", part)),
                    _ => Err(Error::Conflict(format!("several memories have {part:?} in their id; give more of it"))),
                }
            }
            other => other,
        }
    }
}

//! Reminders and reviews: when a memory is due, and when it is due again.

use super::Engine;
use crate::clock::DAY_MS;
use crate::error::{Error, Result};
use crate::model::query::Scope;
use crate::model::{Memory, Patch, validate};
use crate::store::{memory, project};

impl Engine {
    /// Active memories of a scope whose reminder or review is due, the longest due first; at most `limit`.
    pub fn due(&self, scope: &Scope, limit: usize) -> Result<Vec<Memory>> {
        let shared = self.enter()?;
        let now_ms = shared.clock.now_ms();
        let at = shared.store.read()?;
        let projects: Option<Vec<i64>> = match scope {
            Scope::Everything | Scope::EveryProject => None,
            Scope::Global => Some(vec![0]),
            Scope::Project { name, with_global } => {
                let global = with_global.then_some(0);
                Some(project::id_of(&at, Some(name))?.into_iter().chain(global).collect())
            }
        };
        let mut found = memory::due(&at, now_ms)?;
        found.retain(|memory| {
            !memory.is_expired(now_ms)
                && projects.as_ref().is_none_or(|projects| projects.contains(&memory.project_id))
                && (memory.project_id != 0 || !matches!(scope, Scope::EveryProject))
        });
        found.truncate(limit);
        Ok(found)
    }

    /// End a reminder that was seen: one that repeats moves to its next time, another one is removed. The caller knows
    /// the time zone in which its days are counted.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the memory has no reminder, or one that is not due yet.
    pub fn advance_reminder(&self, id: &str, next_ms: Option<i64>) -> Result<Memory> {
        let now_ms = self.enter()?.clock.now_ms();
        let held = self.get(id)?;
        match held.remind_at {
            None => Err(Error::Conflict(format!("memory {} has no reminder", held.id))),
            Some(at) if at > now_ms => {
                Err(Error::Conflict(format!("the reminder of memory {} is not due yet", held.id)))
            }
            Some(_) => {
                // A damaged row may have any interval.
                validate::schedule((held.remind_at, held.remind_every), (None, None))?;
                self.edit(&held.id, Patch { remind_at: Some(next_ms), ..Patch::default() })
            }
        }
    }
}

/// Set the fields of a patch. Without a time there is no interval.
pub(super) fn set(memory: &mut Memory, patch: &Patch) -> Result<()> {
    memory.remind_at = patch.remind_at.unwrap_or(memory.remind_at);
    memory.remind_every = patch.remind_every.unwrap_or(memory.remind_every.filter(|_| memory.remind_at.is_some()));
    memory.review_after = patch.review_after.unwrap_or(memory.review_after);
    memory.review_every = patch.review_every.unwrap_or(memory.review_every.filter(|_| memory.review_after.is_some()));
    validate::schedule((memory.remind_at, memory.remind_every), (memory.review_after, memory.review_every))
}

/// A memory that is confirmed was reviewed: a review that is due moves on, or ends if it does not repeat.
pub(super) fn review_again(memory: &mut Memory, now_ms: i64) {
    if memory.review_after.is_some_and(|at| at <= now_ms) {
        memory.review_after = memory.review_every.map(|days| now_ms + days * DAY_MS);
    }
}

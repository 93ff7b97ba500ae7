//! Decisions of the ledger: the memories that were added to a message. This module checks limits and does not read texts.

use super::enums::{Outcome, State};
use super::{limits, validate};
use crate::error::{Error, Result};

/// A memory in the text of a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Its id.
    pub memory: String,
    /// The version of its text.
    pub key: i64,
    /// The score of the hit.
    pub score: f64,
    /// The explanation of the hit.
    pub why: String,
    /// Whether it was useful, if known.
    pub outcome: Option<Outcome>,
}

/// The decision for one message.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The session.
    pub session: String,
    /// The message.
    pub message: String,
    /// The project that the session works on.
    pub project: Option<String>,
    /// When it was decided.
    pub at: i64,
    /// Its state.
    pub state: State,
    /// The text that is added to the message, byte for byte.
    pub text: String,
    /// The length of the text in tokens.
    pub tokens: i64,
    /// The reasons for the decision, a JSON object.
    pub about: String,
    /// The memories in the text, in their order.
    pub shown: Vec<Shown>,
}

/// The usefulness of a memory, counted in sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usefulness {
    /// Sessions that were shown the memory.
    pub shown: usize,
    /// Of these, the sessions that used it.
    pub used: usize,
    /// Of these, the sessions that contradicted it.
    pub contradicted: usize,
}

/// A session with decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its id.
    pub session: String,
    /// The project of its last decision.
    pub project: Option<String>,
    /// Messages with a decision.
    pub messages: usize,
    /// Different memories that were shown.
    pub shown: usize,
    /// When the last decision was made.
    pub last_at: i64,
}

/// Validate a decision of a caller.
pub fn check(decision: &Decision) -> Result<()> {
    validate::name("session", &decision.session)?;
    validate::name("message", &decision.message)?;
    decision.project.as_deref().map_or(Ok(()), validate::project_name)?;
    validate::json_object("about", &decision.about)?;
    let (bytes, most) = (decision.text.len(), limits::SHOWN_TEXT_BYTES);
    if bytes > most {
        return Err(Error::over_limit("text", format!("has {bytes} bytes; at most {most} are kept"), most));
    }
    validate::no_nul("text", &decision.text)?;
    let (memories, most) = (decision.shown.len(), limits::SHOWN_MEMORIES);
    if memories > most {
        return Err(Error::over_limit("shown", format!("has {memories} memories; at most {most} are kept"), most));
    }
    if decision.tokens < 0 {
        return Err(Error::over_limit("tokens", "must be at least 0", 0));
    }
    fits_state(decision)?;
    decision.shown.iter().try_for_each(shown)
}

/// Require that the text and the memories of a decision agree with its state.
fn fits_state(decision: &Decision) -> Result<()> {
    let state = decision.state.as_str();
    match decision.state {
        State::Erased => Err(Error::invalid("state", "only a purge makes a decision \"erased\"")),
        // A shown decision may have no text: it was sent once and is never replayed.
        State::Offered if decision.text.is_empty() => {
            Err(Error::invalid("text", format!("is empty; a decision in state {state:?} needs a text")))
        }
        State::Nothing | State::Late if !decision.text.is_empty() => {
            Err(Error::invalid("text", format!("a decision in state {state:?} has no text; leave it out")))
        }
        State::Nothing if !decision.shown.is_empty() => {
            Err(Error::invalid("shown", format!("a decision in state {state:?} shows no memory; leave it out")))
        }
        _ => Ok(()),
    }
}

fn shown(shown: &Shown) -> Result<()> {
    let (chars, most) = (shown.why.chars().count(), limits::WHY_CHARS);
    if chars > most {
        return Err(Error::over_limit("why", format!("has {chars} characters; at most {most} are kept"), most));
    }
    validate::no_nul("why", &shown.why)?;
    if !shown.score.is_finite() {
        return Err(Error::invalid("score", format!("{} is not a finite number", shown.score)));
    }
    if crate::ids::canonical(&shown.memory).as_deref() != Some(shown.memory.as_str()) {
        return Err(Error::invalid("memory", format!("{:?} is not the id of a memory", shown.memory)));
    }
    Ok(())
}

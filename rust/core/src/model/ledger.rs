//! What was put beside a message, and the limits that it keeps. The texts are made elsewhere; here nobody reads them.

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
    /// What it scored.
    pub score: f64,
    /// What spoke for it.
    pub why: String,
    /// What it came to.
    pub outcome: Option<Outcome>,
}

/// What was decided for one message.
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
    /// What became of it.
    pub state: State,
    /// What stands beside the message, byte for byte.
    pub text: String,
    /// How long that is for a model.
    pub tokens: i64,
    /// How it came about, a JSON object.
    pub about: String,
    /// The memories in the text, in their order.
    pub shown: Vec<Shown>,
}

/// What a memory has come to, in sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usefulness {
    /// Sessions that it was shown to.
    pub shown: usize,
    /// Of these, those that it was of use to.
    pub used: usize,
    /// Of these, those that found it to be wrong.
    pub contradicted: usize,
}

/// A session that something was decided for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its id.
    pub session: String,
    /// The project of its last decision.
    pub project: Option<String>,
    /// Messages that were decided on.
    pub messages: usize,
    /// Memories that were shown, each once.
    pub shown: usize,
    /// When the last decision was made.
    pub last_at: i64,
}

/// Check a decision that a caller gave.
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
        return Err(Error::over_limit("tokens", "counts from 0", 0));
    }
    fits_state(decision)?;
    decision.shown.iter().try_for_each(shown)
}

/// What is said of a decision has to agree with its state.
fn fits_state(decision: &Decision) -> Result<()> {
    let state = decision.state.as_str();
    match decision.state {
        State::Erased => Err(Error::invalid("state", "only a purge makes a decision \"erased\"")),
        // What was sent once, and is never replayed, is shown without a text.
        State::Offered if decision.text.is_empty() => {
            Err(Error::invalid("text", format!("is empty, which a decision that is {state:?} cannot be")))
        }
        State::Nothing | State::Late if !decision.text.is_empty() => {
            Err(Error::invalid("text", format!("a decision that is {state:?} has none; leave it out")))
        }
        State::Nothing if !decision.shown.is_empty() => {
            Err(Error::invalid("shown", format!("a decision that is {state:?} shows no memory; leave it out")))
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

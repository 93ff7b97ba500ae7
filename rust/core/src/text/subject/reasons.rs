//! Reasons of contradictions in which both statements may hold, each in its own circumstances.

pub(super) const EXCEPTION: &str = "an exception to the older statement";
pub(super) const ELSEWHERE: &str = "rejects it in other circumstances";
pub(super) const REVERSAL: &str = "asserts what the older statement rejects";
pub(super) const PERHAPS_ELSEWHERE: &str = "gives another value, perhaps in other circumstances";
pub(super) const DIFFERENT: &str = "says that something is different now";
pub(super) const OTHER_NUMBER: &str = "the same words but for a number";
pub(super) const TENTATIVE: &str = "suggests that something changed";
pub(super) const LAST_NAME: &str = "the same words but for the last name";
pub(super) const NAMED: &str = "rejects a tool that the older statement names";
pub(super) const NO_DUTY: &str = "says that a part of it is no duty";
pub(super) const ANOTHER_STATE: &str = "says something else about the same thing";

pub(super) const ONCE: &str = "may be a task, and the older statement says what to do always";
pub(super) const OBSERVED: &str = "says what is the case, and the older statement what to do";

/// All of them.
pub(super) const BOTH_MAY_HOLD: &[&str] = &[
    EXCEPTION,
    ELSEWHERE,
    REVERSAL,
    PERHAPS_ELSEWHERE,
    DIFFERENT,
    OTHER_NUMBER,
    TENTATIVE,
    LAST_NAME,
    NAMED,
    NO_DUTY,
    ANOTHER_STATE,
    ONCE,
    OBSERVED,
];

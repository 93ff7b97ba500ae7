//! Tells whether two states of a thing answer one question: "fast" and "slow" do, "nightly" and "slow" do not.
//!
//! Refuses to guess. Two states replace each other only if a table names them as values of one property, or if one has a
//! negative prefix. If one of them is unknown, both may hold.

use super::super::stop_words::is_stop_word;
use super::cues::SCOPE;
use super::places::NOISE;
use super::words::{Role, Word, stem_of};

/// Words for how often something happens.
pub(super) const FREQUENCIES: &[&str] =
    &["biweekly", "daily", "fortnightly", "hourly", "monthly", "nightly", "quarterly", "weekly", "yearly"];

/// States, each line with those of one property.
const DIMENSIONS: &[&[&str]] = &[
    FREQUENCIES,
    &["fast", "instant", "quick", "slow", "sluggish"],
    &["big", "compact", "huge", "large", "small", "tiny"],
    &["long", "short"],
    &["deep", "flat", "nested", "shallow"],
    &["high", "low", "medium"],
    &["heavy", "light", "lightweight"],
    &["cheap", "costly", "expensive", "free", "paid"],
    &["confidential", "external", "internal", "private", "public", "secret"],
    &["dedicated", "exclusive", "shared"],
    &["local", "remote"],
    &["compulsory", "mandatory", "optional", "required"],
    &["disabled", "enabled", "off", "on"],
    &["active", "inactive"],
    &["async", "asynchronous", "sync", "synchronous"],
    &["concurrent", "parallel", "sequential", "serial"],
    &["blocking", "nonblocking"],
    &["automated", "automatic", "manual"],
    &["empty", "full"],
    &["alpha", "beta", "experimental", "flaky", "stable", "unstable"],
    &["immutable", "mutable", "read-only", "readonly", "writable"],
    &["durable", "ephemeral", "permanent", "persistent", "temporary", "transient", "volatile"],
    &["stateful", "stateless"],
    &["dynamic", "static"],
    &["eager", "lazy"],
    &["iterative", "recursive"],
    &["constant", "exponential", "linear", "logarithmic", "quadratic"],
    &["ascending", "descending"],
    &["horizontal", "vertical"],
    &["bottom", "left", "right", "top"],
    &["lax", "lenient", "loose", "strict"],
    &["quiet", "silent", "verbose"],
    &["critical", "debug", "error", "fatal", "info", "trace", "verbose", "warn", "warning"],
    &["complex", "complicated", "simple"],
    &["difficult", "easy", "hard", "trivial"],
    &["correct", "false", "incorrect", "right", "true", "wrong"],
    &["insecure", "safe", "secure", "unsafe"],
    &["invalid", "valid"],
    &["closed", "open"],
    &["early", "late"],
    &["current", "fresh", "obsolete", "outdated", "stale", "up-to-date"],
    &["new", "old"],
    &["down", "offline", "online", "up"],
    &["cold", "hot", "warm"],
    &[
        "amber", "black", "blue", "brown", "cyan", "dark", "gray", "green", "grey", "light", "magenta", "orange",
        "pink", "purple", "red", "teal", "violet", "white", "yellow",
    ],
];
/// Endings of adjectives.
const ENDINGS: &[&str] =
    &["able", "al", "ant", "ary", "ed", "ent", "ful", "ible", "ic", "ile", "ish", "ive", "less", "ous", "y"];
const PREFIXES: &[&str] = &["un", "non", "non-", "in", "im", "ir", "dis", "a"];
/// A shorter word is no adjective only because of its ending: "key", "red".
const LEAST_OF_ADJECTIVE: usize = 5;

/// The relation of two states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum States {
    /// Values of one property, so that only one of them holds.
    Alternative,
    /// Values of different properties, which may both hold.
    Independent,
    /// One of them is unknown, so both may hold.
    Unknown,
}

/// The state that a statement gives with its verb and one word: "is slow", "is actually hourly". `None` for a noun with
/// an article, a place, a name and anything longer.
pub(super) fn state_of(words: &[Word]) -> Option<String> {
    let verb = words.iter().rposition(|word| matches!(word.text.as_str(), "is" | "are" | "be"))?;
    let mut state = None;
    for word in words[verb + 1..].iter().filter(|word| word.role != Role::Dropped) {
        let text = word.text.as_str();
        if matches!(text, "a" | "an" | "the") || SCOPE.contains(&text) || word.role == Role::Rejected {
            return None;
        }
        let is_known = DIMENSIONS.iter().any(|states| states.contains(&text));
        if NOISE.contains(&text) || is_stop_word(text) && !is_known {
            continue;
        }
        let is_name = word.is_code || word.is_capital || text.contains(|letter: char| letter.is_ascii_digit());
        if is_name || state.replace(text.to_owned()).is_some() {
            return None;
        }
    }
    state
}

/// Compare the states that two statements give. `None` if one gives none, if they are equal, or if neither is an
/// adjective: "the tenant is acme", "the tenant is globex".
pub(super) fn compare_states(newer: Option<&str>, older: Option<&str>) -> Option<States> {
    let (new, old) = (newer?, older?);
    if stem_of(new) == stem_of(old) {
        return None;
    }
    let is_named = |state: &str| DIMENSIONS.iter().any(|states| states.contains(&state));
    if DIMENSIONS.iter().any(|states| states.contains(&new) && states.contains(&old)) || is_negative(new, old) {
        Some(States::Alternative)
    } else if is_named(new) && is_named(old) {
        Some(States::Independent)
    } else {
        [new, old].iter().any(|state| is_named(state) || looks_like_adjective(state)).then_some(States::Unknown)
    }
}

/// Whether one of two states has a negative prefix before the other one.
fn is_negative(one: &str, other: &str) -> bool {
    let negates = |long: &str, short: &str| {
        PREFIXES.iter().any(|prefix| long.strip_prefix(prefix).is_some_and(|rest| rest == short))
    };
    negates(one, other) || negates(other, one)
}

fn looks_like_adjective(text: &str) -> bool {
    text.len() >= LEAST_OF_ADJECTIVE && ENDINGS.iter().any(|ending| text.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::super::{Relation, compare};
    use super::*;

    #[test]
    fn states_of_a_property_are_sorted() {
        for states in DIMENSIONS {
            assert!(states.is_sorted(), "{states:?}");
        }
    }

    #[test]
    fn states_of_one_property_replace_each_other() {
        for (older, newer) in [
            ("The invoice job is fast.", "The invoice job is actually slow."),
            ("The invoice job is nightly.", "The invoice job is actually hourly."),
            ("The login flow is synchronous.", "The login flow is actually asynchronous."),
            ("The search index is large.", "The search index is actually very small."),
            ("The payment table is empty.", "Actually, the payment table is full."),
            ("The feature branch is stable.", "The feature branch is actually unstable."),
            ("The API is public.", "The API is actually private."),
            ("The session token is encrypted.", "The session token is actually unencrypted."),
            ("The default log level is verbose.", "The default log level is actually trace."),
        ] {
            let found = compare(newer, older, None);
            assert!(matches!(found, Relation::Replaces(_)), "{older} | {newer} -> {found:?}");
        }
    }

    #[test]
    fn states_of_two_properties_leave_each_other_alone() {
        for (older, newer) in [
            ("The invoice job is nightly.", "The invoice job is actually slow."),
            ("The invoice job is nightly.", "The invoice job is slow now."),
            ("The invoice job is slow.", "The invoice job is actually nightly."),
            ("The login flow is synchronous.", "The login flow is actually complex."),
            ("The search index is large.", "Turns out the search index is outdated."),
            ("The staging cluster is shared.", "The staging cluster is actually expensive."),
            ("The export job is weekly.", "The export job is actually manual."),
            ("The import queue is nightly.", "The import queue is actually slow."),
            ("The import queue is persistent.", "The import queue is fast."),
        ] {
            for cosine in [None, Some(0.7)] {
                assert_eq!(compare(newer, older, cosine), Relation::Unrelated, "{older} | {newer}");
            }
        }
    }

    #[test]
    fn unknown_state_replaces_none() {
        for (older, newer) in [
            ("The login flow is synchronous.", "The login flow is actually brittle."),
            ("The payment table is partitioned.", "The payment table is actually empty."),
            ("The invoice job is nightly.", "The invoice job is actually undocumented."),
            ("The invoice job is idempotent.", "The invoice job is chatty now."),
        ] {
            for cosine in [None, Some(0.7)] {
                let found = compare(newer, older, cosine);
                assert!(!matches!(found, Relation::Replaces(_)), "{older} | {newer} -> {found:?}");
                assert!(!found.is_of_one_subject(), "{older} | {newer} -> {found:?}");
            }
        }
    }

    #[test]
    fn names_and_colours_still_replace_each_other() {
        for (older, newer) in [
            ("The demo tenant is acme.", "The demo tenant is actually globex."),
            ("The theme colour is blue.", "The theme colour is actually green."),
        ] {
            let found = compare(newer, older, None);
            assert!(matches!(found, Relation::Replaces(_)), "{older} | {newer} -> {found:?}");
        }
    }
}

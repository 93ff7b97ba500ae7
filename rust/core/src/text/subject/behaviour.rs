//! Tells a change from the behaviour of a program that the same words describe: "falls back to the old endpoint",
//! "replaces tabs with spaces", "logs deprecated fields".

use super::cues::{
    AS_BEFORE, CHANGES_PART, CORRECTS, ORDERS, RENAMES, RETURNS, SHIFTS, STATES, STRESSES, STRONG, TAKES_OVER,
};
use super::words::Word;

/// What a verb of change gives anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// "Renamed".
    Name,
    /// "Took over".
    Owner,
    /// A place, a tool, a version, an amount or a date: "moved to", "upgraded to", "postponed".
    Setting,
}

/// Whether a statement says clearly that something changed.
pub(super) fn says_changed(words: &[Word]) -> bool {
    STRONG.iter().copied().flatten().any(|phrase| has_cue(words, phrase))
}

/// Whether all words by which a statement says that something changed may also only stress it, or tell of a part.
pub(super) fn only_stresses(words: &[Word]) -> bool {
    has_only(words, &[STRESSES, CHANGES_PART])
}

/// Whether all words by which a statement says that something changed may leave open what.
pub(super) fn only_corrects(words: &[Word]) -> bool {
    has_only(words, &[STRESSES, CHANGES_PART, CORRECTS])
}

/// What changed, if all words by which a statement says so name the same. `moves` tells whether it has a verb of a move,
/// as in "moved the docs from A to B".
pub(super) fn changed_part(words: &[Word], moves: bool) -> Option<Part> {
    if !moves && !says_changed(words) {
        None
    } else if has_only(words, &[RENAMES]) && words.iter().any(|word| word.text == "renamed") {
        Some(Part::Name)
    } else if has_only(words, &[TAKES_OVER]) && words.iter().any(|word| word.text == "over") {
        Some(Part::Owner)
    } else {
        has_only(words, &[SHIFTS, CHANGES_PART]).then_some(Part::Setting)
    }
}

fn has_only(words: &[Word], lists: &[&[&[&str]]]) -> bool {
    let mut others = STRONG.iter().filter(|list| !lists.contains(list)).copied().flatten();
    !others.any(|phrase| has_cue(words, phrase))
}

fn has_cue(words: &[Word], phrase: &[&str]) -> bool {
    words.windows(phrase.len()).enumerate().any(|(at, window)| {
        window.iter().zip(phrase).all(|(word, wanted)| word.text == *wanted) && !is_behaviour(words, at, phrase)
    })
}

/// Whether the verb "forget" at a place says that somebody forgets something: "I always forget the flag".
pub(super) fn forgets(words: &[Word], at: usize) -> bool {
    let before = at.checked_sub(1).map(|place| &words[place]);
    before.is_some_and(|word| !word.ends && !ORDERS.contains(&word.text.as_str()))
}

/// Whether a phrase at a place describes what something does each time.
fn is_behaviour(words: &[Word], at: usize, phrase: &[&str]) -> bool {
    let before = at.checked_sub(1).map(|place| words[place].text.as_str());
    let rest = &words[at..];
    match phrase {
        ["replaced"] => {
            let clause = rest.iter().position(|word| word.ends).map_or(rest, |end| &rest[..=end]);
            let is_passive =
                before.is_some_and(|verb| matches!(verb, "are" | "been" | "being" | "is" | "was" | "were"));
            is_passive && !clause.iter().any(|word| matches!(word.text.as_str(), "by" | "with"))
        }
        ["back", "to"] => {
            let is_as_before = rest.get(2).is_some_and(|word| AS_BEFORE.contains(&word.text.as_str()));
            is_as_before || before.is_some_and(|verb| RETURNS.contains(&verb))
        }
        ["replaces"] => {
            let clause = rest.iter().position(|word| word.ends).map_or(rest, |end| &rest[..=end]);
            clause.iter().any(|word| word.text == "with")
        }
        ["forget"] => forgets(words, at),
        ["deprecated"] => before.is_some_and(|word| !STATES.contains(&word)) && !rest[0].ends && rest.len() > 1,
        _ => false,
    }
}

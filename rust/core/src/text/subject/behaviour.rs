//! Tells a change from the behaviour of a program that the same words describe: "falls back to the old endpoint",
//! "replaces tabs with spaces", "logs deprecated fields".

use super::cues::{RENAMES, RETURNS, SHIFTS, STATES, STRESSES, STRONG};
use super::words::Word;

/// What a verb of change gives anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// "Renamed".
    Name,
    /// A place, a tool, a version, an amount or a date: "moved to", "upgraded to", "postponed".
    Setting,
}

/// Whether a statement says clearly that something changed.
pub(super) fn says_changed(words: &[Word]) -> bool {
    STRONG.iter().any(|phrase| has_cue(words, phrase))
}

/// Whether all words by which a statement says that something changed may also only stress it.
pub(super) fn only_stresses(words: &[Word]) -> bool {
    has_only(words, STRESSES)
}

/// What changed, if all words by which a statement says so name the same. `moves` tells whether it has a verb of a move,
/// as in "moved the docs from A to B".
pub(super) fn changed_part(words: &[Word], moves: bool) -> Option<Part> {
    if !moves && !says_changed(words) {
        None
    } else if has_only(words, RENAMES) && words.iter().any(|word| word.text == "renamed") {
        Some(Part::Name)
    } else {
        has_only(words, SHIFTS).then_some(Part::Setting)
    }
}

fn has_only(words: &[Word], phrases: &[&[&str]]) -> bool {
    STRONG.iter().filter(|phrase| has_cue(words, phrase)).all(|phrase| phrases.contains(phrase))
}

fn has_cue(words: &[Word], phrase: &[&str]) -> bool {
    words.windows(phrase.len()).enumerate().any(|(at, window)| {
        window.iter().zip(phrase).all(|(word, wanted)| word.text == *wanted) && !is_behaviour(words, at, phrase)
    })
}

/// Whether a phrase at a place describes what something does each time.
fn is_behaviour(words: &[Word], at: usize, phrase: &[&str]) -> bool {
    let before = at.checked_sub(1).map(|place| words[place].text.as_str());
    let rest = &words[at..];
    match phrase {
        ["back", "to"] => before.is_some_and(|verb| RETURNS.contains(&verb)),
        ["replaces"] => {
            let clause = rest.iter().position(|word| word.ends).map_or(rest, |end| &rest[..=end]);
            clause.iter().any(|word| word.text == "with")
        }
        ["deprecated"] => before.is_some_and(|word| !STATES.contains(&word)) && !rest[0].ends && rest.len() > 1,
        _ => false,
    }
}

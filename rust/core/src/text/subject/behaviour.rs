//! Tells a change from the behaviour of a program that the same words describe: "falls back to the old endpoint",
//! "replaces tabs with spaces", "logs deprecated fields".

use super::cues::{RETURNS, STATES, STRESSES, STRONG};
use super::words::Word;

/// Whether a statement says clearly that something changed.
pub(super) fn says_changed(words: &[Word]) -> bool {
    STRONG.iter().any(|phrase| has_cue(words, phrase))
}

/// Whether all words by which a statement says that something changed may also only stress it.
pub(super) fn only_stresses(words: &[Word]) -> bool {
    STRONG.iter().filter(|phrase| has_cue(words, phrase)).all(|phrase| STRESSES.contains(phrase))
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

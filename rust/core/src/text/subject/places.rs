//! The words of a statement that say something, in their order, each with the preposition before it.

use super::super::stop_words::is_stop_word;
use super::cues::SCOPE;
use super::words::{Role, Word, stem_of};

/// Verbs of a place, which say no more than "is": "lives in", "is located on".
const STATIC: &[&str] = &["live", "lives", "located", "sit", "sits"];
/// Prepositions of a place. Behind a verb of a place, they answer one question.
const INSIDE: &[&str] = &["at", "in", "inside", "on", "under", "within"];
/// Words that say neither what a statement is about, nor what it says about that.
pub(super) const NOISE: &[&str] = &[
    "always",
    "currently",
    "hm",
    "hmm",
    "just",
    "must",
    "oh",
    "ok",
    "okay",
    "only",
    "really",
    "shall",
    "sorry",
    "wait",
    "well",
    "yes",
];

/// A word of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub text: String,
    pub stem: String,
    /// The preposition before it; empty if there is none.
    pub preposition: String,
}

/// The words of a statement in their order, without those that say nothing.
pub(super) fn places_of(words: &[Word]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut preposition = String::new();
    for word in words.iter().filter(|word| word.role == Role::Asserted) {
        let text = word.text.as_str();
        if SCOPE.contains(&text) {
            let is_static = places.pop_if(|last| STATIC.contains(&last.text.as_str())).is_some();
            let named = if is_static && INSIDE.contains(&text) { "in" } else { text };
            named.clone_into(&mut preposition);
            continue;
        }
        let is_verb = matches!(text, "has" | "have" | "had");
        if NOISE.contains(&text) || is_stop_word(text) && !is_verb {
            continue;
        }
        places.push(Place {
            text: text.to_owned(),
            stem: stem_of(text),
            preposition: std::mem::take(&mut preposition),
        });
    }
    places
}

//! Tells things apart by words that otherwise say nothing: "the start timeout", "the stop timeout".

use super::super::stop_words::is_stop_word;
use super::claim::Claim;
use super::cues::FOREIGN;
use super::options::{ATTRIBUTES, GENERIC, ROLES};
use super::words::stem_of;

/// Stems of words before an attribute that name the thing as it is now.
const NOW: &[&str] = &["actual", "correct", "current", "good", "new", "now", "onli", "right"];
/// Stems of words before a qualifier.
const ARTICLES: &[&str] = &["a", "an", "its", "our", "the", "this"];

/// Whether two statements are about things that differ by such a word.
pub(super) fn are_different(newer: &Claim, older: &Claim) -> bool {
    let has = |claim: &Claim, stem: &str| claim.stems.iter().any(|own| own == stem);
    let are_old_and_new = has(older, "old") && has(newer, "new") || has(older, "new") && has(newer, "old");
    // "Their API" in an older statement is not ours.
    let is_foreign =
        FOREIGN.iter().map(|word| stem_of(word)).any(|stem| older.subject.contains(&stem) && !has(newer, &stem));
    let have_other_qualifiers = ATTRIBUTES.iter().chain(ROLES).any(|attribute| {
        qualifier(newer, attribute).zip(qualifier(older, attribute)).is_some_and(|(new, old)| new != old)
    });
    are_old_and_new || is_foreign || have_other_qualifiers
}

/// The general word between an article and an attribute: "start" in "the start timeout".
fn qualifier<'c>(claim: &'c Claim, attribute: &str) -> Option<&'c str> {
    let at = claim.stems.iter().position(|stem| stem == attribute)?;
    let [article, word] = claim.stems.get(at.checked_sub(2)?..at)? else { return None };
    let is_general = GENERIC.contains(&word.as_str()) && !is_stop_word(word) && !NOW.contains(&word.as_str());
    (is_general && ARTICLES.contains(&article.as_str())).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::super::{Relation, compare};

    #[test]
    fn general_words_tell_things_apart() {
        for (older, newer) in [
            ("The start timeout is 30 seconds.", "The stop timeout is 10 seconds."),
            ("The old API listens on port 8080.", "The new API listens on port 9090."),
            ("The old domain is shop.example.", "The new domain is store.example."),
            ("The system timezone is UTC.", "The app timezone is CET."),
            ("The team board is Jira.", "The project board is Trello."),
            ("The default limit is 10.", "The strict limit is 5."),
            ("Anna is the team lead.", "Ben is the project lead."),
            ("The repo version is 1.2.", "The app version is 3.4."),
            ("Old code lives in `legacy/`.", "New code lives in `src/`."),
            ("Their API runs on port 80.", "Our API runs on port 81."),
            ("Use tabs in C.", "Use spaces in R."),
        ] {
            for cosine in [None, Some(0.9)] {
                let found = compare(newer, older, cosine);
                assert!(!found.is_of_one_subject(), "{older} | {newer} -> {found:?}");
            }
        }
    }

    #[test]
    fn a_thing_as_it_is_now_is_the_same() {
        for (older, newer) in [
            ("The current port is 8080.", "The new port is 9090."),
            ("The default port is 8080.", "The new default port is 9090."),
            ("The team lead is Anna.", "The team lead is Ben."),
            ("The start timeout is 30 seconds.", "The start timeout is 10 seconds."),
        ] {
            let found = compare(newer, older, None);
            assert!(matches!(found, Relation::Replaces(_)), "{older} | {newer} -> {found:?}");
        }
    }
}

//! Finds statements that say that nothing ends: "we never stopped using pnpm", "I have not changed my mind about pnpm".
//!
//! They reject the verb, and not the thing that they name. A statement with the same verb is another case: "do not remove
//! the cache" rejects "remove the cache".

use super::words::{Word, stem_of};

/// Verbs that end something, or object to it.
const ENDS: &[&str] = &[
    "abandon",
    "abandoned",
    "abandoning",
    "change",
    "changed",
    "changing",
    "ditch",
    "ditched",
    "ditching",
    "drop",
    "dropped",
    "dropping",
    "gave",
    "getting",
    "give",
    "leave",
    "leaving",
    "left",
    "lose",
    "lost",
    "mind",
    "moving",
    "quit",
    "quitting",
    "regret",
    "remove",
    "removed",
    "removing",
    "replace",
    "replaced",
    "replacing",
    "retire",
    "retired",
    "retiring",
    "stop",
    "stopped",
    "stopping",
    "switching",
];
/// Words between a negation and its verb.
const ADVERBS: &[&str] = &["actually", "been", "ever", "fully", "have", "just", "really", "simply", "yet"];
/// "Did not change to X", and "did not replace X with Y", do reject the last one.
const NEW_THING: &[&str] = &["by", "to", "with"];

/// The stem of a verb that ends something, if it is negated. It is looked for before the negation marks its words.
pub(super) fn negated_end(words: &[Word]) -> Option<String> {
    let negation =
        words.iter().position(|word| matches!(word.text.as_str(), "against" | "never" | "not") && !word.ends)?;
    let behind = &words[negation + 1..];
    let verb = behind.iter().position(|word| !ADVERBS.contains(&word.text.as_str()))?;
    let is_end = ENDS.contains(&behind[verb].text.as_str());
    let clause = behind.iter().position(|word| word.ends).map_or(behind.len(), |end| end + 1);
    let has_new_thing = behind[..clause].iter().any(|word| NEW_THING.contains(&word.text.as_str()));
    (is_end && !has_new_thing).then(|| stem_of(&behind[verb].text))
}

#[cfg(test)]
mod tests {
    use super::super::{Relation, compare};

    #[test]
    fn statement_that_nothing_ended_leaves_what_it_names() {
        for older in ["We use pnpm for installs.", "Always use pnpm, never npm."] {
            for newer in [
                "I haven't changed my mind about pnpm.",
                "We never stopped using pnpm.",
                "We have never actually stopped using pnpm.",
                "Don't replace pnpm.",
                "I don't mind pnpm.",
                "We won't give up pnpm.",
                "I don't regret pnpm, it works.",
                "We decided against moving away from pnpm.",
                "We are not getting rid of pnpm.",
            ] {
                for cosine in [None, Some(0.9)] {
                    assert_eq!(compare(newer, older, cosine), Relation::Unrelated, "{older} | {newer}");
                }
            }
        }
    }

    #[test]
    fn what_is_said_of_the_same_verb_or_of_a_new_thing_still_counts() {
        for (older, newer) in [
            ("Remove the cache folder before each build.", "Never remove the cache folder before a build."),
            ("We use yarn for installs.", "We did not change to yarn."),
            ("We use npm for installs.", "We haven't changed our mind, we use pnpm now instead of npm."),
            ("We use pnpm for installs.", "Don't use pnpm."),
        ] {
            assert_ne!(compare(newer, older, None), Relation::Unrelated, "{older} | {newer}");
        }
    }
}

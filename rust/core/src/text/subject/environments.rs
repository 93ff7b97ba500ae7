//! Environments in which a statement holds: production and staging may use different tools.

use super::claim::Claim;

/// Stems of words that name an environment, the spellings of one environment together.
const ENVIRONMENTS: &[&[&str]] = &[
    &["product", "prod"],
    &["stage", "preprod"],
    &["develop", "dev", "local"],
    &["test"],
    &["ci"],
    &["preview"],
    &["demo"],
    &["sandbox"],
    &["qa"],
];

/// Whether both statements name environments, but none in common.
pub(super) fn are_different(newer: &Claim, older: &Claim) -> bool {
    let names = |claim: &Claim, words: &[&str]| claim.stems.iter().any(|stem| words.contains(&stem.as_str()));
    let (mut new, mut old) = (false, false);
    for words in ENVIRONMENTS {
        match (names(newer, words), names(older, words)) {
            (true, true) => return false,
            (of_new, of_old) => (new, old) = (new | of_new, old | of_old),
        }
    }
    new && old
}

#[cfg(test)]
mod tests {
    use super::super::{Relation, compare};

    #[test]
    fn change_of_one_environment_leaves_the_others() {
        for (older, newer) in [
            ("Staging runs on Heroku.", "We migrated production from Heroku to Fly.io."),
            ("Locally we use SQLite.", "Production no longer uses SQLite."),
            ("Tests run against SQLite.", "We switched production from SQLite to Postgres."),
            ("The demo runs on Vercel.", "Preview builds moved from Vercel to Netlify."),
        ] {
            let found = compare(newer, older, Some(0.9));
            assert!(!found.is_of_one_subject(), "{older} | {newer} -> {found:?}");
        }
    }

    #[test]
    fn change_of_the_same_environment_or_of_all_replaces() {
        for (older, newer) in [
            ("Production runs on Heroku.", "We migrated production from Heroku to Fly.io."),
            ("Prod runs on Heroku.", "We migrated production from Heroku to Fly.io."),
            ("Staging runs on Heroku.", "We migrated from Heroku to Fly.io."),
        ] {
            let found = compare(newer, older, Some(0.9));
            assert!(matches!(found, Relation::Replaces(_)), "{older} | {newer} -> {found:?}");
        }
    }
}

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

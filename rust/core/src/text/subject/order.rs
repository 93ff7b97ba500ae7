//! Tells "the API calls the worker" from "the worker calls the API": the same words, and another statement.

use super::claim::Claim;

/// Stems of prepositions around which things change places.
const PREPOSITIONS: &[&str] = &[
    "after", "at", "befor", "by", "for", "from", "in", "insid", "into", "of", "on", "per", "to", "under", "with",
    "within", "without",
];
/// Words that make a verb passive, so that the things around it have changed places.
const PASSIVE: &[&str] = &["am", "are", "be", "been", "being", "get", "got", "is", "was", "were"];
/// Stems of things that otherwise say nothing.
const GENERAL_THINGS: &[&str] = &["app", "applic", "project", "repo", "repositori", "system", "team"];
/// Words between a passive and its verb.
const ADVERBS: &[&str] = &["alreadi", "alway", "current", "longer", "never", "no", "not", "now", "onli", "still"];

/// Whether two things have changed places around a verb or a preposition: "import core in utils", "import utils in core".
pub(super) fn is_mirrored(newer: &Claim, older: &Claim) -> bool {
    let is_hinge = |stem: &str| PREPOSITIONS.contains(&stem) || is_negated(newer, stem) || is_negated(older, stem);
    older.stems.iter().enumerate().filter(|(_, hinge)| is_hinge(hinge)).any(|(at, hinge)| {
        let Some(there) = newer.stems.iter().position(|stem| stem == hinge) else { return false };
        let (before, after) = (&older.stems[..at], &older.stems[at + 1..]);
        let (new_before, new_after) = (&newer.stems[..there], &newer.stems[there + 1..]);
        // "X instead of Y" and "Y instead of X" choose: they assert one thing and reject the other one, without a verb.
        let is_one_part = |one: &String, other: &String| {
            let rejects = |claim: &Claim, stem: &str| claim.rejected.iter().any(|term| names(term, stem));
            let mut claims = [newer, older].into_iter();
            claims.all(|claim| rejects(claim, hinge) || rejects(claim, one) == rejects(claim, other))
        };
        let went_behind = |stem: &&String| new_after.contains(stem) && !new_before.contains(stem);
        let went_before = |stem: &&String| new_before.contains(stem) && !new_after.contains(stem);
        is_passive(before) == is_passive(new_before)
            && before.iter().filter(|stem| is_thing(older, stem)).filter(went_behind).any(|one| {
                let mut others = after.iter().filter(|stem| is_thing(older, stem)).filter(went_before);
                others.any(|other| is_one_part(one, other))
            })
    })
}

/// Whether a word follows a negation, so that it is a verb: "never calls", "no longer depends".
fn is_negated(claim: &Claim, stem: &str) -> bool {
    let negates = |pair: &[String]| matches!(pair[0].as_str(), "longer" | "never" | "not") && pair[1] == stem;
    claim.stems.windows(2).any(negates)
}

fn is_thing(claim: &Claim, stem: &str) -> bool {
    let mut terms = claim.asserted.iter().chain(&claim.rejected);
    terms.any(|term| names(term, stem)) || GENERAL_THINGS.contains(&stem)
}

/// Whether a term has a stem. The terms of options such as "redis" are no stems.
fn names(term: &str, stem: &str) -> bool {
    term.strip_prefix(stem).is_some_and(|rest| rest.len() <= 2)
}

/// Whether the verb behind these words is passive: "is called", "is not called".
fn is_passive(before: &[String]) -> bool {
    let last = before.iter().rev().find(|stem| !ADVERBS.contains(&stem.as_str()));
    last.is_some_and(|stem| PASSIVE.contains(&stem.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::{Relation, compare};

    #[test]
    fn statement_with_two_things_in_each_other_s_place_is_another_one() {
        for (older, newer) in [
            ("The API calls the worker.", "The worker never calls the API."),
            ("The worker must not call the API.", "The API must call the worker."),
            ("Import core in utils.", "Never import utils in core."),
            ("Never import utils in core.", "Always import core in utils."),
            ("Merge main into feature branches.", "Never merge feature branches into main."),
            ("Cherry-pick from main to release.", "Never cherry-pick from release to main."),
            ("Copy prod data to staging.", "Never copy staging data to prod."),
            ("Run the migrations before the deploy.", "Never run the deploy before the migrations."),
            ("The UI depends on the core.", "The core no longer depends on the UI."),
            ("Use Redis with Celery.", "Don't use Celery with Redis."),
            ("Services call repositories.", "Repositories never call services."),
        ] {
            for cosine in [None, Some(0.9)] {
                assert_eq!(compare(newer, older, cosine), Relation::Unrelated, "{older} | {newer}");
            }
        }
    }

    #[test]
    fn statement_in_another_order_of_words_is_the_same() {
        for (older, newer) in [
            ("Run the linter before every commit.", "Before a commit, never run the linter."),
            ("Sessions are cached in Redis.", "We no longer use Redis for sessions."),
            ("Use pnpm instead of npm.", "Use npm instead of pnpm."),
            ("Prefer classes over functions.", "Prefer functions over classes."),
            ("We moved from npm to pnpm.", "We moved back from pnpm to npm."),
            ("The worker calls the API.", "The API is no longer called by the worker."),
            ("The frontend depends on the gateway.", "It's the other way round: the gateway depends on the frontend."),
        ] {
            let found = compare(newer, older, None);
            assert!(matches!(found, Relation::Replaces(_)), "{older} | {newer} -> {found:?}");
        }
    }
}

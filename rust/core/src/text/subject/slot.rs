//! Tells a correction from another fact about the same thing, if only a word such as "actually" announces it, or a verb
//! such as "renamed": "the job runs nightly" is corrected by "the job actually runs hourly", not by "the job actually
//! needs two workers", nor by "the job was renamed".
//!
//! Refuses to understand grammar. Both statements must agree up to the words that differ, so that these words answer
//! one question: the same preposition or the same verb stands before them.

use super::behaviour::Part;
use super::claim::{Claim, Cue};
use super::cues::{HOLDERS, NAMING, SCOPE, SUBJECT_ENDS};
use super::dimensions::FREQUENCIES;
use super::options::{GENERIC, ROLES};
use super::places::Place;
use super::things::VERBS;
use super::values::{Kind, Value};

/// Verbs with many objects: a job that needs a licence may also need a mailbox.
const OPEN: &[&str] = &[
    "contain", "contains", "had", "has", "have", "include", "includes", "need", "needs", "require", "requires",
    "support", "supports",
];

/// Words that may stand between a preposition and a name: "moved to a new server".
const BEFORE_NAMES: &[&str] = &["a", "an", "its", "new", "our", "the"];

/// Whether only a word such as "actually", or a verb such as "renamed", says that something changed, and the newer
/// statement says something else about the same thing.
pub(super) fn is_another(newer: &Claim, older: &Claim) -> bool {
    let changes_another = newer.changed.is_some_and(|part| !gives(older, part, newer));
    newer.cue == Cue::Strong && (changes_another || newer.is_stressed && !answer_one_question(newer, older))
}

/// Whether an older statement gives a part of the thing, which the newer one may have changed: the name, or a value or
/// a place. "Runs nightly" gives neither.
fn gives(older: &Claim, part: Part, newer: &Claim) -> bool {
    match part {
        Part::Name => older.stems.iter().any(|stem| NAMING.contains(&stem.as_str())),
        Part::Owner => older.stems.iter().any(|stem| ROLES.contains(&stem.as_str())),
        Part::Setting => says_when(newer) && says_when(older) || gives_setting(older, newer),
    }
}

/// Whether an older statement gives a place, a tool, a version, an amount or a date of the thing, and the newer one gives
/// another one: "runs on Jenkins" is answered by "moved to Kubernetes", "needs two workers" and "is owned by Anna" are not.
fn gives_setting(older: &Claim, newer: &Claim) -> bool {
    let kinds = |claim: &Claim, other: &Claim| -> Vec<Kind> {
        let is_own = |value: &&Value| value.kind != Kind::Word && !other.stems.contains(&value.text);
        claim.values.iter().filter(is_own).map(|value| value.kind).collect()
    };
    let (new, old) = (kinds(newer, older), kinds(older, newer));
    let is_number = |kind: &Kind| matches!(kind, Kind::Number | Kind::Quantity(_));
    let is_measure = |kind: &Kind| is_number(kind) || *kind == Kind::Day;
    if old.iter().any(is_measure) {
        // "Raised to 60" gives seconds as well, but "upgraded to Python 3.13" does not.
        let are_numbers =
            new.iter().all(is_number) && new.iter().chain(&old).filter(|kind| is_number(kind)).count() > new.len();
        return new.iter().any(|kind| is_measure(kind) && old.contains(kind)) || !new.is_empty() && are_numbers;
    }
    if !new.is_empty() && new.iter().all(is_measure) || give_other_kinds(newer, older) {
        return false;
    }
    let (Some(answer), Some(given)) =
        (own_place(older, newer), own_place(newer, older).filter(|place| is_answer(newer, place)))
    else {
        return false;
    };
    let is_version = matches!(given.stem.as_str(), "version" | "releas");
    let is_path = old.contains(&Kind::Code) && !newer.stems.iter().any(|stem| stem == "move" || stem == "migrat");
    if is_version || is_path && !new.contains(&Kind::Code) || has_article(newer, given) && !has_article(older, answer) {
        return false;
    }
    let is_inside = matches!(answer.preposition.as_str(), "at" | "from" | "in" | "inside" | "on" | "under" | "within");
    let is_held = newer.stems.iter().any(|stem| HOLDERS.contains(&stem.as_str()) && !older.stems.contains(stem));
    let is_option = old.iter().any(|kind| matches!(kind, Kind::Option(_)));
    let uses = older.stems.iter().any(|stem| stem == "use");
    if is_held { is_inside && !is_option } else { uses || is_inside || is_value(older, answer) }
}

/// The first word that only one statement has, apart from general ones.
fn own_place<'c>(claim: &'c Claim, other: &Claim) -> Option<&'c Place> {
    let is_own = |place: &&Place| !other.stems.contains(&place.stem) && !GENERIC.contains(&place.stem.as_str());
    claim.places.iter().find(is_own)
}

/// Whether a word of a newer statement gives what something changed to.
fn is_answer(newer: &Claim, place: &Place) -> bool {
    let at = newer.stems.iter().position(|stem| *stem == place.stem);
    let mut before = newer.stems[..at.unwrap_or_default()].iter().rev().map(String::as_str);
    let has_preposition = before.find(|stem| !BEFORE_NAMES.contains(stem)).is_some_and(|stem| SCOPE.contains(&stem));
    has_preposition || is_value(newer, place)
}

/// Whether a word has an indefinite article, so that it is no name: "a new schema".
fn has_article(claim: &Claim, place: &Place) -> bool {
    let at = claim.stems.iter().position(|stem| *stem == place.stem).unwrap_or_default();
    let before = claim.stems[..at].iter().rev().find(|stem| *stem != "new");
    before.is_some_and(|stem| stem == "a" || stem == "an")
}

fn is_value(claim: &Claim, place: &Place) -> bool {
    claim.values.iter().any(|value| value.text == place.stem && value.kind != Kind::Word)
}

/// Whether two statements differ in their answers to one question.
pub(super) fn answer_one_question(newer: &Claim, older: &Claim) -> bool {
    if give_other_kinds(newer, older) {
        return false;
    }
    let (new, old) = (&newer.places, &older.places);
    let missing = |from: &[Place], other: &[Place]| -> Vec<usize> {
        (0..from.len()).filter(|at| other.iter().all(|place| place.stem != from[*at].stem)).collect()
    };
    // One word is exchanged: "skips comments" for "handles comments".
    if let ([here], [there]) = (missing(new, old).as_slice(), missing(old, new).as_slice()) {
        let is_same_head = |new: Option<&Place>, old: Option<&Place>| {
            new.zip(old).is_some_and(|(new, old)| new.stem == old.stem && new.preposition == old.preposition)
        };
        let is_open = here.checked_sub(1).is_some_and(|before| OPEN.contains(&new[before].text.as_str()));
        return new[*here].preposition == old[*there].preposition
            && (!is_open || is_same_head(new.get(here + 1), old.get(there + 1)));
    }
    // All words behind the common beginning are exchanged: "runs nightly", "runs every hour".
    let start = new.iter().zip(old).take_while(|(new, old)| new.stem == old.stem).count();
    let (Some(here), Some(there)) = (new.get(start), old.get(start)) else { return false };
    let Some(last) = start.checked_sub(1) else { return false };
    // "Runs" is a verb, while "run" may be a noun.
    let before = [new[last].text.as_str(), old[last].text.as_str()];
    let is_verb_before = before.iter().any(|text| is_verb(text)) && !is_verb(&here.text) && !is_verb(&there.text);
    let are_numbers = [here, there].iter().all(|place| place.text.contains(|letter: char| letter.is_ascii_digit()));
    here.preposition == there.preposition
        && (!here.preposition.is_empty() || is_verb_before || are_numbers)
        && !before.iter().any(|text| OPEN.contains(text))
}

/// Whether a statement says how often or on which day something happens.
fn says_when(claim: &Claim) -> bool {
    claim.values.iter().any(|value| value.kind == Kind::Day)
        || claim.places.iter().any(|place| FREQUENCIES.contains(&place.text.as_str()))
}

fn is_verb(text: &str) -> bool {
    VERBS.binary_search(&text).is_ok() || SUBJECT_ENDS.contains(&text)
}

/// Whether each statement gives a value of a known kind, and no kind is given by both: a database, and an amount.
fn give_other_kinds(newer: &Claim, older: &Claim) -> bool {
    let kinds = |claim: &Claim, other: &Claim| -> Vec<Kind> {
        let is_own = |value: &&Value| is_known(value.kind) && !other.values.contains(value);
        claim.values.iter().filter(is_own).map(|value| value.kind).collect()
    };
    let (new, old) = (kinds(newer, older), kinds(older, newer));
    !new.is_empty() && !old.is_empty() && !new.iter().any(|kind| old.contains(kind))
}

/// Whether values of a kind answer one question.
pub(super) fn is_known(kind: Kind) -> bool {
    matches!(kind, Kind::Option(_) | Kind::Quantity(_) | Kind::Day)
}

#[cfg(test)]
mod tests {
    use super::super::{Relation, compare};

    /// The newer statement says something else about the same thing.
    const OTHER_SLOT: &[(&str, &str)] = &[
        ("The invoice job runs nightly.", "The invoice job actually needs two workers."),
        ("The invoice job runs nightly.", "Actually, the invoice job writes PDF files."),
        ("The invoice job runs nightly.", "The invoice job is actually slow."),
        ("The invoice job runs nightly.", "The invoice job actually belongs to Tom."),
        ("The invoice job runs nightly.", "The invoice job actually runs in Docker."),
        ("The invoice job runs nightly.", "The invoice job actually fails without Redis."),
        ("The invoice job runs nightly.", "The invoice job needs two workers instead of one."),
        ("The invoice job runs nightly.", "Turns out the invoice job needs two workers."),
        ("We run the invoice job nightly.", "Actually we run the invoice job on two workers."),
        ("The invoice job needs Redis.", "The invoice job actually needs two workers."),
        ("The invoice job uses Redis.", "The invoice job actually uses Postgres."),
        ("The invoice job runs in Docker.", "The invoice job is actually in the legacy repo."),
        ("The invoice job sends mail in production.", "The invoice job actually needs Redis in production."),
        ("The search index lives on disk.", "Actually the search index has two shards."),
        ("The login page uses OAuth.", "The login page actually loads slowly."),
        ("The docs use Sphinx.", "The docs actually need Docker."),
        ("The docs site uses Sphinx.", "The docs site actually needs Docker."),
        ("The payment webhook retries three times.", "The payment webhook actually checks signatures."),
        ("Release builds run nightly.", "Release builds actually need a licence."),
        ("The nightly run takes two hours.", "The nightly run actually emails the team."),
        ("The API gateway has two replicas.", "The API gateway actually has a circuit breaker."),
        ("The API gateway is deployed with Helm.", "The API gateway is actually deployed on Mondays."),
        ("The import queue supports batches.", "The import queue actually supports priorities."),
        ("The invoice job runs nightly.", "The invoice job was renamed to billing job."),
        ("The invoice job runs nightly.", "We renamed the invoice job to billing job."),
        ("The invoice job runs nightly.", "We renamed the invoice job from alpha to beta."),
        ("The invoice job runs nightly.", "The invoice job has been renamed to biller."),
        ("The invoice job needs two workers.", "The invoice job was renamed to biller."),
        ("The invoice job runs nightly.", "The invoice job was moved to the ops repo."),
        ("The invoice job runs nightly.", "The invoice job has moved to Kubernetes."),
        ("The invoice job runs nightly.", "We migrated the invoice job to Go."),
        ("The invoice job runs nightly.", "The invoice job was upgraded to Python 3.13."),
        ("The invoice job runs nightly.", "The invoice job was bumped to version 2."),
        ("The login page loads slowly.", "The login page moved to React."),
        ("The search index rebuilds itself.", "The search index was moved to the data volume."),
        ("The parser skips comments.", "The parser was renamed to reader."),
        ("The invoice job runs nightly.", "The invoice job has changed owners."),
        ("The invoice job runs nightly.", "The invoice job was changed to JSON logs."),
        ("The invoice job runs nightly.", "The invoice job is back to normal."),
        ("The invoice job runs nightly.", "The invoice job went with a new logo."),
        ("The invoice job runs nightly.", "The invoice job switched to a new schema."),
        ("The invoice job runs nightly.", "We changed the invoice job colours."),
        ("The invoice job runs nightly.", "We switched the invoice job logo."),
        ("The invoice job runs nightly.", "The invoice job was reverted to version 2."),
        ("The invoice job runs nightly.", "The invoice job was changed by Tom."),
        ("The invoice job runs nightly.", "The invoice job took over the CSV exports."),
        ("The invoice job needs two workers.", "The invoice job switched to UTC."),
        ("The invoice job needs two workers.", "The invoice job was moved to the ops repo."),
        ("The invoice job uses Redis.", "The invoice job was upgraded to Python 3.13."),
        ("The invoice job uses Redis.", "The invoice job was moved to the ops repo."),
        ("The payment service is tested with pytest.", "The payment service switched to UTC."),
        ("The payment service is deployed with Helm.", "The payment service was moved to the ops repo."),
        ("The payment service logs to stdout.", "The payment service was moved to the ops repo."),
        ("The payment service has a timeout of 30 seconds.", "The payment service switched to UTC."),
        ("The payment service runs in Docker.", "The payment service has changed owners."),
        ("The payment service runs in Docker.", "The payment service was reverted to version 2."),
        ("The payment service needs two workers.", "The payment service was upgraded to Python 3.13."),
        ("The payment service uses Redis.", "The payment service switched to a new schema."),
        ("The payment service lives in `services/pay`.", "The payment service switched to UTC."),
        ("The payment service logs to stdout.", "The payment service has been replaced on staging."),
    ];
    /// The newer statement gives another answer to the same question.
    const SAME_SLOT: &[(&str, &str)] = &[
        ("The invoice job runs nightly.", "Actually the invoice job runs hourly."),
        ("The invoice job runs nightly.", "The invoice job should actually run every hour."),
        ("The invoice job runs nightly.", "The invoice job runs hourly instead."),
        ("The invoice job needs one worker.", "The invoice job actually needs two workers."),
        ("The invoice job runs in Docker.", "No, the invoice job actually runs in Kubernetes."),
        ("The search index lives on disk.", "Actually, the search index lives in memory."),
        ("The demo data lives in fixtures.", "Actually the demo data is in the seeds folder."),
        ("The parser handles comments.", "Actually the parser skips comments."),
        ("The exporter needs CSV files.", "The exporter actually needs Parquet files."),
        ("The login page uses OAuth.", "The login page actually uses magic links."),
        ("Access tokens expire after an hour.", "Access tokens actually expire after two days."),
        ("We cache responses in the gateway.", "Actually the gateway caches requests."),
        ("Feature branches are cut from integration.", "Actually we cut feature branches from next."),
        ("The invoice job is called invoicer.", "The invoice job was renamed to biller."),
        ("The invoice job is named invoicer.", "We renamed the invoice job to biller."),
        ("The demo tenant is called acme.", "The demo tenant has been renamed to globex."),
        ("The invoice job runs on Jenkins.", "The invoice job was moved to Kubernetes."),
        ("The search index lives on disk.", "The search index moved to memory."),
        ("The design docs are in the wiki.", "The design docs have moved to the handbook."),
        ("The landing page uses gatsby.", "The landing page was migrated to astro."),
        ("The invoice job runs Python 3.12.", "The invoice job was upgraded to Python 3.13."),
        ("The code freeze is on Monday.", "The code freeze was postponed to Friday."),
        ("The invoice job runs nightly.", "The invoice job was moved to hourly."),
        ("The invoice job runs daily.", "The invoice job was moved to Mondays."),
        ("The upload limit is 10 MB.", "The upload limit was raised to 20 MB."),
        ("The landing page theme is dark.", "The landing page theme was changed to light."),
        ("The landing page uses gatsby.", "The landing page switched to astro."),
        ("The search index lives on disk.", "We switched the search index to memory."),
        ("The design docs are in the wiki.", "The design docs were moved to the ops repo."),
        ("The deploy day is Friday.", "The deploy day has changed to Thursday."),
        ("Anna owns the billing service.", "Tom took over the billing service."),
        ("The invoice job runs nightly.", "I changed my mind, the invoice job runs hourly."),
        ("The invoice job runs nightly.", "The invoice job went back to hourly."),
    ];

    #[test]
    fn another_fact_about_the_same_thing_leaves_the_statement() {
        for (older, newer) in OTHER_SLOT {
            for cosine in [None, Some(0.7)] {
                let found = compare(newer, older, cosine);
                assert_eq!(found, Relation::Unrelated, "{older} | {newer}");
            }
        }
    }

    #[test]
    fn another_answer_to_the_same_question_replaces_the_statement() {
        for (older, newer) in SAME_SLOT {
            let found = compare(newer, older, None);
            assert!(matches!(found, Relation::Replaces(_)), "{older} | {newer} -> {found:?}");
        }
    }
}

//! Finds the circumstances with which a statement begins: "on Windows, …", "locally, …", "docs: …". What follows holds
//! only there.

use super::super::stop_words::is_stop_word;
use super::cues::{IMPERATIVE, SCOPE, SUBJECT_ENDS};
use super::options::{ATTRIBUTES, FAMILIES, Family, GENERIC, family_of};
use super::things::VERBS;
use super::words::{Word, stem_of};

/// Words behind which circumstances follow, besides those of [`SCOPE`].
const OTHER_SCOPE: &[&str] = &["as", "whenever", "wherever"];
/// Beginnings that give no circumstances: "from now on, …", "in general, …".
const OPENINGS: &[&[&str]] = &[
    &["after", "all"],
    &["as", "of"],
    &["at", "last"],
    &["at", "least"],
    &["by", "the", "way"],
    &["for", "good"],
    &["for", "sure"],
    &["for", "the", "record"],
    &["from", "now"],
    &["from", "today"],
    &["in", "fact"],
    &["in", "future"],
    &["in", "general"],
    &["in", "principle"],
    &["in", "short"],
    &["in", "the", "future"],
    &["of", "course"],
    &["on", "reflection"],
    &["on", "second"],
    &["on", "the", "other"],
    &["to", "be"],
    &["to", "clarify"],
    &["to", "recap"],
    &["to", "sum"],
];
/// Words of a beginning that says something of the statement itself: "update: …", "as a result, …", "for consistency, …".
const REMARKS: &[&str] = &[
    "agreed",
    "announced",
    "announcement",
    "attention",
    "balance",
    "clarity",
    "compatibility",
    "consistency",
    "convention",
    "correction",
    "decided",
    "decision",
    "discussed",
    "discussion",
    "edit",
    "end",
    "fact",
    "feedback",
    "final",
    "fix",
    "fyi",
    "heads",
    "heads-up",
    "hint",
    "important",
    "meeting",
    "mentioned",
    "news",
    "opinion",
    "performance",
    "point",
    "policy",
    "preference",
    "promised",
    "ps",
    "psa",
    "readability",
    "reason",
    "reasons",
    "reminder",
    "result",
    "retro",
    "safety",
    "said",
    "security",
    "simplicity",
    "speed",
    "stack",
    "standup",
    "style",
    "summary",
    "tip",
    "tldr",
    "todo",
    "tooling",
    "top",
    "update",
    "usual",
    "warning",
    "words",
    "worth",
];
/// Adverbs of circumstances end as these do, but others end so, too.
const NO_CIRCUMSTANCES: &[&str] = &[
    "actually",
    "additionally",
    "apparently",
    "basically",
    "clearly",
    "currently",
    "effectively",
    "eventually",
    "finally",
    "frankly",
    "generally",
    "honestly",
    "immediately",
    "importantly",
    "interestingly",
    "lastly",
    "luckily",
    "mainly",
    "obviously",
    "officially",
    "only",
    "personally",
    "possibly",
    "presumably",
    "previously",
    "probably",
    "reply",
    "really",
    "recently",
    "sadly",
    "secondly",
    "seriously",
    "similarly",
    "simply",
    "supposedly",
    "surely",
    "surprisingly",
    "thankfully",
    "ultimately",
    "unfortunately",
];
/// A longer label is a sentence that introduces the statement.
const LONGEST_LABEL: usize = 3;

/// Number of words of the circumstances with which a statement begins; 0 if it begins with none.
pub(super) fn leading(words: &[Word]) -> usize {
    let Some(last) = words.iter().position(|word| word.ends) else { return 0 };
    let part = &words[..=last];
    let begins = |phrase: &&[&str]| {
        part.len() >= phrase.len() && part.iter().zip(*phrase).all(|(word, wanted)| word.text == *wanted)
    };
    if part[last].stops || OPENINGS.iter().any(begins) {
        return 0;
    }
    let first = part[0].text.as_str();
    let has_preposition = SCOPE.contains(&first) || OTHER_SCOPE.contains(&first);
    let is_adverb = last == 0
        && (matches!(first, "offline" | "online" | "elsewhere")
            || first.ends_with("ly") && !NO_CIRCUMSTANCES.contains(&first));
    let is_label = part[last].is_label && part.len() <= LONGEST_LABEL && !part.iter().any(is_of_sentence);
    let is_remark = |word: &Word| REMARKS.contains(&word.text.as_str());
    // "Timezone: UTC" and "package manager: npm" name what has the value.
    let families: Vec<&Family> =
        words[last + 1..].iter().filter_map(|word| family_of(&word.text)).map(|number| &FAMILIES[number]).collect();
    let names_choice = |word: &Word| {
        let stem = stem_of(&word.text);
        ATTRIBUTES.contains(&stem.as_str()) || families.iter().any(|family| family.words.contains(&stem.as_str()))
    };
    let says_something = !part.iter().all(|word| says_nothing(word) || is_label && names_choice(word));
    let is_circumstance = says_something && (has_preposition || is_adverb || is_label) && !part.iter().any(is_remark);
    if is_circumstance { part.len() } else { 0 }
}

fn is_of_sentence(word: &Word) -> bool {
    let text = word.text.as_str();
    SUBJECT_ENDS.contains(&text) || IMPERATIVE.contains(&text) || VERBS.binary_search(&text).is_ok()
}

/// Stems of the words that name circumstances.
pub(super) fn named(words: &[Word]) -> Vec<String> {
    words.iter().filter(|word| !says_nothing(word)).map(|word| stem_of(&word.text)).collect()
}

/// Whether a statement says that it holds in a part only: "…, CI only", "…, at least in tests". "pnpm only" gives the only
/// value.
pub(super) fn is_partial(words: &[Word]) -> bool {
    let is_last = |at: usize| words[at].ends || at + 1 == words.len();
    let ends_with_only = (1..words.len()).any(|at| {
        words[at].text == "only" && is_last(at) && !words[at - 1].ends && family_of(&words[at - 1].text).is_none()
    });
    let names_part = |three: &[Word]| {
        three[0].text == "at"
            && three[1].text == "least"
            && matches!(three[2].text.as_str(), "for" | "in" | "on" | "when")
    };
    ends_with_only || words.windows(3).any(names_part)
}

/// Whether a word names no circumstances.
fn says_nothing(word: &Word) -> bool {
    let stem = stem_of(&word.text);
    let text = word.text.as_str();
    is_stop_word(text) || SCOPE.contains(&text) || OTHER_SCOPE.contains(&text) || GENERIC.contains(&stem.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::words::words_of;
    use super::super::{Relation, compare};
    use super::*;

    #[test]
    fn statement_about_other_circumstances_replaces_none() {
        for (older, newer) in [
            ("The timeout is 30 seconds.", "In tests, the timeout is 5 seconds."),
            ("The API runs on port 8080.", "Locally, the API runs on port 3000."),
            ("The API runs on port 8080.", "In Docker, the API runs on port 80."),
            ("Use pnpm.", "On CI, use npm instead of pnpm."),
            ("Use pnpm.", "To publish, we use npm instead of pnpm."),
            ("Use pnpm.", "Docs folder: use npm instead of pnpm."),
            ("Use pnpm.", "docs - use npm instead of pnpm."),
            ("Use Postgres.", "Without Docker, use SQLite instead of Postgres."),
            ("Use Postgres.", "As a prototype, use SQLite instead of Postgres."),
            ("Run the tests with `make test`.", "On Windows, run the tests with `nox` instead of `make test`."),
            ("Use tabs.", "In YAML, never use tabs."),
            ("Squash commits.", "For release branches, do not squash commits."),
            ("Deploy with Helm.", "In an emergency, don't deploy with Helm."),
            ("Always sign commits.", "For bots, signing commits is optional."),
            ("Never push to main.", "For typos, pushing to main is fine now."),
            ("Anna owns the billing service.", "During June, Ben owns the billing service."),
            ("The theme is dark.", "On mobile, the theme is light."),
            ("Use pnpm.", "Use npm instead of pnpm, CI only."),
            ("Use pnpm.", "Use npm instead of pnpm (CI only)."),
            ("Use pnpm.", "Use npm instead of pnpm, but only on CI."),
            ("Use pnpm.", "Use npm instead of pnpm, at least on CI."),
            ("Use pnpm.", "Use npm instead of pnpm on CI."),
            ("Use pnpm.", "Use npm instead of pnpm whenever pnpm is broken."),
            ("Use pnpm.", "Use npm instead of pnpm without a lock file."),
            ("Use pnpm.", "Use npm instead of pnpm. This is for CI."),
            ("Use pnpm.", "We stopped using pnpm on Jenkins."),
            ("Use Docker.", "Avoid Docker on Windows."),
            ("Use Docker.", "We no longer use Docker on Windows."),
            ("Use tabs.", "Avoid tabs in YAML."),
        ] {
            for cosine in [None, Some(0.9)] {
                let found = compare(newer, older, cosine);
                assert!(!found.is_of_one_subject(), "{older} | {newer} -> {found:?}");
            }
        }
    }

    #[test]
    fn statement_about_the_whole_leaves_an_exception() {
        for (older, newer) in [
            ("In tests, the retry limit is 1.", "The retry limit is 8 instead of 5."),
            ("In tests, the retry limit is 1.", "The retry limit is 8."),
            ("Locally, the API runs on port 3000.", "The API runs on port 9090."),
            ("On CI, use npm.", "Use yarn instead of npm."),
            ("Use npm, CI only.", "We no longer use npm."),
            ("On mobile, the theme is light.", "The theme is blue now."),
            ("The retry limit in tests is 1.", "The retry limit is 8 instead of 5."),
        ] {
            for cosine in [None, Some(0.9)] {
                let found = compare(newer, older, cosine);
                assert!(!found.is_of_one_subject(), "{older} | {newer} -> {found:?}");
            }
        }
    }

    #[test]
    fn statement_about_the_same_circumstances_or_all_replaces() {
        for (older, newer) in [
            ("In tests, the timeout is 30 seconds.", "In tests, the timeout is 5 seconds."),
            ("On CI we use pnpm.", "On CI, use npm instead of pnpm."),
            ("The timeout is 30 seconds.", "From now on, the timeout is 5 seconds."),
            ("The timezone is CET.", "Timezone: UTC instead of CET."),
            ("We use pnpm.", "Package manager: npm instead of pnpm."),
            ("We use pnpm.", "Update: we use npm instead of pnpm."),
            ("We use pnpm.", "Actually, we use npm instead of pnpm."),
            ("Use yarn.", "From now on bun only, no yarn."),
        ] {
            let found = compare(newer, older, None);
            assert!(matches!(found, Relation::Replaces(_)), "{older} | {newer} -> {found:?}");
        }
    }

    #[test]
    fn beginnings_that_give_no_circumstances_are_told_apart() {
        for (text, number) in [
            ("On Windows, use npm.", 2),
            ("Locally, use npm.", 1),
            ("docs: use npm.", 1),
            ("Windows only - use npm.", 2),
            ("From now on, use npm.", 0),
            ("Actually, use npm.", 0),
            ("Claude, use npm.", 0),
            ("Correction: use npm.", 0),
            ("As discussed, use npm.", 0),
            ("We talked about it: use npm.", 0),
            ("For consistency, use npm.", 0),
            ("After the retro, use npm.", 0),
            ("In this repo, use npm.", 0),
            ("Heads up: use npm.", 0),
            ("Use npm, in tests, too.", 0),
            ("On Windows use npm.", 0),
        ] {
            assert_eq!(leading(&words_of(text).unwrap()), number, "{text}");
        }
    }
}

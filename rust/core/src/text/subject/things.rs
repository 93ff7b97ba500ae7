//! Numbered things: `server 1` and `server 2`, `rule 1:` and `rule 2:` are different things, not values of one thing.
//!
//! A number before the verb names the thing that a statement is about. A number after the verb is a value.

use rustc_hash::FxHashSet;

/// Words that end the part of a statement which names its subject.
pub(super) const VERBS: &[&str] = &[
    "are", "belongs", "can", "contains", "depends", "does", "fails", "gets", "goes", "has", "have", "holds", "is",
    "keeps", "listens", "lives", "may", "must", "needs", "reads", "returns", "runs", "says", "sends", "should",
    "starts", "stores", "takes", "uses", "was", "were", "will", "writes",
];
/// Words whose number is a value, also at the beginning: `port 5433 is used by the API`, `Node 22 is required`.
const VALUED: &[&str] = &[
    "bun",
    "deno",
    "django",
    "elixir",
    "go",
    "java",
    "jdk",
    "kotlin",
    "mysql",
    "net",
    "node",
    "php",
    "port",
    "postgres",
    "postgresql",
    "python",
    "rails",
    "react",
    "redis",
    "ruby",
    "rust",
    "swift",
    "typescript",
    "version",
    "vue",
];

/// Whether two statements are about things that differ by their numbers, given the numbers of their subjects.
pub(super) fn are_different(newer: &FxHashSet<String>, older: &FxHashSet<String>) -> bool {
    !newer.is_empty() && !older.is_empty() && newer.is_disjoint(older)
}

/// The words with digits that name the subject of a statement.
pub(super) fn numbers_of_subject(text: &str) -> FxHashSet<String> {
    let mut numbers = FxHashSet::default();
    let mut before = String::new();
    for word in text.split_whitespace() {
        let ends_subject = word.ends_with(':');
        let plain = word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
        if VERBS.binary_search(&plain.as_str()).is_ok() {
            return numbers;
        }
        let is_number = plain.chars().next().is_some_and(|letter| letter.is_ascii_digit());
        if is_number && VALUED.binary_search(&before.as_str()).is_err() && !before.is_empty() {
            numbers.insert(format!("{before} {plain}"));
        }
        if ends_subject {
            return numbers;
        }
        before = plain;
    }
    // Without a verb nothing separates the subject from a value.
    FxHashSet::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn are_different_things(newer: &str, older: &str) -> bool {
        are_different(&numbers_of_subject(newer), &numbers_of_subject(older))
    }

    #[test]
    fn words_are_sorted_for_the_binary_search() {
        assert!(VERBS.is_sorted() && VALUED.is_sorted());
    }

    #[test]
    fn numbers_before_the_verb_name_different_things() {
        for (newer, older) in [
            ("Server 2 runs on port 81", "Server 1 runs on port 80"),
            ("Rule 2: use spaces", "Rule 1: use tabs"),
            ("The colour of pipe 4 in the cellar is green", "The colour of pipe 3 in the cellar is red"),
        ] {
            assert!(are_different_things(newer, older), "{newer} | {older}");
        }
    }

    #[test]
    fn numbers_after_the_verb_or_of_a_version_are_values() {
        for (newer, older) in [
            ("The API runs on port 81", "The API runs on port 80"),
            ("Port 5434 is used by the API", "Port 5433 is used by the API"),
            ("Node 22 is required", "Node 20 is required"),
            ("Use 4 spaces", "Use 2 spaces"),
            ("Server 1 runs on port 81", "Server 1 runs on port 80"),
        ] {
            assert!(!are_different_things(newer, older), "{newer} | {older}");
        }
    }
}

//! Detects contradictions: two statements that differ only in a negation, an opposite word or a number.
//!
//! The result is used to link the two statements, never to choose between them. Refuses statements with any other
//! difference, numbers that are names (step 1, issue 12, the year 2024), and statements with too few common words.
//! Invariant: symmetric, and false if the two are the same statement.

use super::super::statement::{Token, is_label};
use super::super::stop_words::is_stop_word;

const OPPOSITES: &[(&str, &str)] = &[
    ("accept", "reject"),
    ("accepted", "rejected"),
    ("after", "before"),
    ("allow", "deny"),
    ("allow", "disallow"),
    ("allow", "forbid"),
    ("allowed", "denied"),
    ("allowed", "disallowed"),
    ("allowed", "forbidden"),
    ("allows", "forbids"),
    ("always", "never"),
    ("asynchronous", "synchronous"),
    ("decrease", "increase"),
    ("disable", "enable"),
    ("disabled", "enabled"),
    ("disables", "enables"),
    ("disabling", "enabling"),
    ("exclude", "include"),
    ("excluded", "included"),
    ("excludes", "includes"),
    ("false", "true"),
    ("fails", "passes"),
    ("fails", "succeeds"),
    ("forbidden", "required"),
    ("insecure", "secure"),
    ("invalid", "valid"),
    ("max", "min"),
    ("maximum", "minimum"),
    ("mutable", "immutable"),
    ("no", "yes"),
    ("off", "on"),
    ("optional", "required"),
    ("optional", "mandatory"),
    ("with", "without"),
];

/// Words that negate a statement if the other statement has no words at the same position.
const NEGATIONS: &[&[&str]] = &[&["not"], &["never"], &["no"], &["do", "not"], &["does", "not"], &["did", "not"]];

/// Whether one text negates the other, or has a different number, and the rest of the texts is equal, given the
/// significant tokens of both.
pub(super) fn contradicts(a: &[Token], b: &[Token]) -> bool {
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let suffix = a[prefix..].iter().rev().zip(b[prefix..].iter().rev()).take_while(|(x, y)| x == y).count();
    let (left, right) = (&a[prefix..a.len() - suffix], &b[prefix..b.len() - suffix]);
    if left.len() > 3 || right.len() > 3 {
        return false;
    }
    let shared: Vec<&Token> = a[..prefix].iter().chain(&a[a.len() - suffix..]).collect();
    let meaningful = shared.iter().any(|token| match token {
        Token::Word(word) => !is_stop_word(word),
        Token::Exact(_) => true,
        Token::Mark(_) => false,
    });
    if !meaningful {
        return false;
    }
    if let ([Token::Exact(x)], [Token::Exact(y)]) = (left, right) {
        let before = prefix.checked_sub(1).and_then(|i| a[i].word());
        return numbers_differ(x, y) && !before.is_some_and(is_label) && shared.len() >= 2;
    }
    let (Some(left), Some(right)) = (words(left), words(right)) else {
        return false;
    };
    negates(&left, &right)
        || negates(&right, &left)
        || (shared.len() >= 2 || prefix == 0) && are_opposite(&left, &right)
}

fn words(tokens: &[Token]) -> Option<Vec<&str>> {
    tokens.iter().map(Token::word).collect()
}

/// Whether `negative` negates `positive`. A negation may change the form of the verb: supports, does not support.
fn negates(positive: &[&str], negative: &[&str]) -> bool {
    match (positive, negative) {
        ([] | ["always" | "do" | "must" | "should"], negation) if NEGATIONS.contains(&negation) => true,
        ([verb], ["does", "not", base]) => {
            verb.strip_prefix(base).is_some_and(|ending| ending == "s" || ending == "es")
        }
        ([verb], ["did", "not", base]) => verb.strip_prefix(base).is_some_and(|ending| ending == "d" || ending == "ed"),
        _ => false,
    }
}

fn are_opposite(left: &[&str], right: &[&str]) -> bool {
    let ([x], [y]) = (left, right) else {
        return false;
    };
    OPPOSITES.iter().any(|pair| pair == &(*x, *y) || pair == &(*y, *x))
        || has_negative_prefix(x, y)
        || has_negative_prefix(y, x)
}

/// Whether `negative` is `positive` with a negative prefix, such as `unlocked` and `locked`. `unless` and `less` are
/// not.
fn has_negative_prefix(negative: &str, positive: &str) -> bool {
    let rest = negative.strip_prefix("non-").or_else(|| negative.strip_prefix("un"));
    rest == Some(positive) && positive.len() >= 4 && positive != "less"
}

/// Whether both are different numbers with the same unit, and not two years.
fn numbers_differ(x: &str, y: &str) -> bool {
    let code = |s: &str| s.starts_with('`');
    if code(x) != code(y) {
        return false;
    }
    let (Some((a, unit_a)), Some((b, unit_b))) = (split_unit(x.trim_matches('`')), split_unit(y.trim_matches('`')))
    else {
        return false;
    };
    let years = unit_a.is_empty() && [&a, &b].iter().all(|n| is_year(n));
    let equal = match (a.parse::<f64>(), b.parse::<f64>()) {
        // Compare versions with two dots as text. A number with one dot may also be a version, but 1.0 and 1 count as
        // equal.
        (Ok(a), Ok(b)) => (a - b).abs() < f64::EPSILON * a.abs().max(1.0),
        _ => a == b,
    };
    unit_a == unit_b && !years && !equal
}

fn is_year(number: &str) -> bool {
    number.len() == 4 && (number.starts_with("19") || number.starts_with("20"))
}

/// Splits a number from its unit and removes digit grouping.
fn split_unit(text: &str) -> Option<(String, &str)> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let sign = text.len() - unsigned.len();
    let end = sign + unsigned.find(|c: char| !(c.is_ascii_digit() || "._,".contains(c))).unwrap_or(unsigned.len());
    let (digits, unit) = text.split_at(end);
    let is_unit = unit == "%" || unit.bytes().all(|b| b.is_ascii_alphabetic());
    (is_unit && unit.len() <= 5 && digits.ends_with(|c: char| c.is_ascii_digit()))
        .then(|| (digits.replace([',', '_'], ""), unit))
}

#[cfg(test)]
mod tests {
    use super::super::super::same_statement::same_statement;
    use super::super::super::statement::significant_tokens;
    use proptest::prelude::*;

    fn contradicts(a: &str, b: &str) -> bool {
        super::contradicts(&significant_tokens(a), &significant_tokens(b))
    }

    #[test]
    fn negated_opposite_or_different_number_contradicts() {
        for (a, b) in [
            ("Never squash commits", "Always squash commits"),
            ("Squash commits", "Don't squash commits"),
            ("Squash commits", "Never squash commits"),
            ("Always squash commits", "Do not squash commits."),
            ("The API supports paging", "The API does not support paging"),
            ("The parser passed it", "The parser did not pass it"),
            ("The cache is enabled", "The cache is disabled"),
            ("The cache is on in tests", "The cache is not on in tests"),
            ("Deploy with tests", "Deploy without tests"),
            ("There is a limit", "There is no limit"),
            ("You must rebase", "You must not rebase"),
            ("You can merge it", "You can't merge it"),
            ("The door is unlocked", "The door is locked"),
            ("The limit is 100 MB", "The limit is 10 MB"),
            ("The limit is 100MB", "Limit is 10MB."),
            ("We use Python 3.11", "We use Python 3.12"),
            ("Set `timeout` to `30`", "Set `timeout` to `60`"),
            ("The port is 5128", "The port is 5,129"),
        ] {
            assert!(contradicts(a, b), "{a} | {b}");
            assert!(contradicts(b, a), "{b} | {a}");
        }
    }

    #[test]
    fn other_differences_do_not_contradict() {
        for (a, b) in [
            ("Never squash commits", "Never squash commits."),
            ("Never squash commits", "Always squash branches"),
            ("Never squash", "Always merge"),
            ("Fix issue 12 now", "Fix issue 13 now"),
            ("Step 1 runs tests", "Step 2 runs tests"),
            ("Fix !12 soon", "Fix !13 soon"),
            ("Revenue grew in 2023", "Revenue grew in 2024"),
            ("The limit is 100 MB", "The limit is 100 GB"),
            ("The limit is 100MB", "The limit is 10GB"),
            ("It waits 1 second", "It waits 1.0 second"),
            ("Room 1", "Room 2"),
            ("5", "6"),
            ("yes", "no"),
            ("not", ""),
            ("Use it unless told", "Use it less told"),
            ("Ask Anna", "Ask Otto"),
            ("It is fast", "It is not only fast"),
            ("", ""),
        ] {
            assert!(!contradicts(a, b), "{a} | {b}");
            assert!(!contradicts(b, a), "{b} | {a}");
        }
    }

    fn statement() -> impl Strategy<Value = String> {
        const WORDS: &[&str] = &[
            "never", "always", "do", "not", "use", "10", "12", "the", "limit", "is", "tabs", "`5`", "no", "1_0,", ".",
        ];
        let word = prop_oneof![proptest::sample::select(WORDS).prop_map(str::to_owned), "\\PC{0,3}"];
        proptest::collection::vec(word, 0..5).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn contradicts_is_symmetric_and_false_for_the_same_statement(a in statement(), b in statement()) {
            prop_assert_eq!(contradicts(&a, &b), contradicts(&b, &a));
            prop_assert!(!contradicts(&a, &a));
            prop_assert!(!(contradicts(&a, &b) && same_statement(&a, &b)));
        }
    }
}

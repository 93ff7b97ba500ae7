//! Decides whether two texts are certainly the same statement, so that the newer may replace the older.
//!
//! The decision uses rules instead of similarity, so a difference of one word is a difference. Similarity is left to
//! the vectors. Invariant: reflexive and symmetric, and true only for texts with the same significant tokens in order.

use super::statement::{Token, significant_tokens};

/// Whether two texts have the same words, except for articles, "please", case and commas.
pub fn same_statement(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    have_same_tokens(&significant_tokens(a), &significant_tokens(b))
}

/// As [`same_statement`], given the significant tokens of two texts that are not the same.
pub(super) fn have_same_tokens(a: &[Token], b: &[Token]) -> bool {
    !a.is_empty() && a == b
}

#[cfg(test)]
mod tests {
    use super::super::normalise::normalise;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn same_words_in_same_order_are_the_same_statement() {
        for (a, b) in [
            ("Always use the pnpm lockfile.", "always use a pnpm lockfile"),
            ("Please run `make test` before a commit", "Run `make test` before the commit."),
            ("NEVER squash commits", "Never squash commits."),
            ("Don't squash, rebase", "Do not squash rebase"),
            ("- Deploy from main", "Deploy from main"),
            ("Build with uv — quickly", "Build with uv quickly"),
            ("An index is rebuilt", "The index is rebuilt"),
            ("It’s in “src/app”.", "it's in \"src/app\""),
            ("", ""),
        ] {
            assert!(same_statement(a, b), "{a} | {b}");
            assert!(same_statement(b, a), "{b} | {a}");
        }
    }

    #[test]
    fn difference_in_meaning_is_another_statement() {
        for (a, b) in [
            ("Never squash commits", "Always squash commits"),
            ("Squash commits", "Do not squash commits"),
            ("It is cached", "It isn't cached"),
            ("Deploy with tests", "Deploy without tests"),
            ("Enable the cache", "Disable the cache"),
            ("The key is locked", "The key is unlocked"),
            ("Limit is 100 MB", "Limit is 10 MB"),
            ("Limit is 100 MB", "Limit is 100 GB"),
            ("Limit is 100 Mb", "Limit is 100 MB"),
            ("Use Python 3.11", "Use Python 3.12"),
            ("Pass --dry-run", "Pass --dry"),
            ("Pass --flag", "Pass flag"),
            ("Edit src/a.py", "Edit src/b.py"),
            ("Call fooBar", "Call foobar"),
            ("Use `Foo`", "Use `foo`"),
            ("A depends on B", "B depends on A"),
            ("alice reviews bob", "bob reviews alice"),
            ("Ask Anna", "Ask Otto"),
            ("Ask US", "Ask us"),
            ("Fix !12", "Fix #12"),
            ("Fix !12", "Fix 12"),
            ("x < y", "x > y"),
            ("x - y", "x + y"),
            ("cd ..", "cd ."),
            ("Is it on?", "Is it on."),
            ("Stop. Never deploy", "Stop never deploy"),
            ("Choose option a now", "Choose option now"),
            ("Plan A works", "Plan works"),
            ("set a to 1", "set to 1"),
            ("copy a", "copy"),
            ("10² rows", "102 rows"),
            ("Use tabs", "Use tab"),
            ("résumé it", "resume it"),
            ("[x] done", "[ ] done"),
            ("the", "a"),
            ("", "the"),
            (".", ""),
        ] {
            assert!(!same_statement(a, b), "{a} | {b}");
            assert!(!same_statement(b, a), "{b} | {a}");
        }
    }

    fn statement() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            "\\PC{0,4}",
            Just("a".to_owned()),
            Just("the".to_owned()),
            Just("Never".to_owned()),
            Just("not".to_owned()),
            Just("10,".to_owned()),
            Just("`x`.".to_owned()),
            "[a-c]{1,2}",
        ];
        proptest::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn white_space_does_not_change_a_statement(text in statement()) {
            prop_assert!(same_statement(&text, &text.clone()));
            let spaced = format!("  {text} ");
            prop_assert!(same_statement(&text, &spaced) || significant_tokens(&text).is_empty());
        }

        #[test]
        fn same_statement_is_symmetric(a in statement(), b in statement()) {
            prop_assert_eq!(same_statement(&a, &b), same_statement(&b, &a));
        }

        #[test]
        fn additional_word_makes_another_statement(a in statement(), word in "[b-z]{3,8}") {
            prop_assume!(!["the", "please"].contains(&word.as_str()));
            let longer = format!("{a} {word}");
            prop_assert!(!same_statement(&a, &longer));
        }

        #[test]
        fn text_and_its_normal_form_are_the_same_statement(text in statement()) {
            let other = normalise(&text);
            if same_statement(&text, &other) {
                prop_assert!(same_statement(&other, &text));
            }
        }
    }
}
